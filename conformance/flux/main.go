// Records what Flux's own libraries make of texts, objects and trees: the goldens of crates/kustomize/tests/flux.
//
//	go run . table                  the cases of envsubst's own tests, read from the module's sources
//	go run . texts SEED COUNT       COUNT texts made up from SEED, evaluated
//	go run . objects SEED COUNT     COUNT objects made up from SEED, with their variables replaced
//	go run . testdata               the directories of the test data of fluxcd/pkg/kustomize, generated and built
//	go run . trees SEED COUNT       COUNT trees made up from SEED, generated
//	go run . builds SEED COUNT      the same, and built
//	go run . letters                every letter beyond ASCII, as a name and as a value whose case is changed
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"unicode/utf8"
)

// Oracle names what answered; kustomize-controller v1.9.5 (Flux 2.9.5) pins these versions.
const Oracle = "fluxcd/pkg/envsubst v1.7.1, fluxcd/pkg/kustomize v1.35.6, kustomize/api v0.21.1, kyaml v0.21.1"

func main() {
	commands := map[string]func(out *writer, seed int64, count int){
		"table":    func(out *writer, _ int64, _ int) { table(out) },
		"letters":  func(out *writer, _ int64, _ int) { letters(out) },
		"texts":    texts,
		"objects":  objects,
		"trees":    trees,
		"builds":   builds,
		"testdata": func(out *writer, _ int64, _ int) { testdata(out) },
	}
	var seed int64
	var count int
	if len(os.Args) == 4 {
		var err error
		seed, err = strconv.ParseInt(os.Args[2], 10, 64)
		fail(err)
		count, err = strconv.Atoi(os.Args[3])
		fail(err)
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: go run . table | letters | testdata | {texts | objects | trees | builds} SEED COUNT")
		os.Exit(2)
	}
	out := &writer{bufio.NewWriterSize(os.Stdout, 1<<20)}
	out.line(map[string]string{"oracle": Oracle})
	commands[os.Args[1]](out, seed, count)
	fail(out.Flush())
}

type writer struct{ *bufio.Writer }

func (w *writer) line(value any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	fail(encoder.Encode(value))
}

// portable is a text as JSON can hold it: bytes that are no UTF-8 are written in base64.
func portable(text string) string {
	if utf8.ValidString(text) && (len(text) < 4 || text[:4] != "b64:") {
		return text
	}
	return "b64:" + base64.StdEncoding.EncodeToString([]byte(text))
}

func errorf(format string, values ...any) error { return fmt.Errorf(format, values...) }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
