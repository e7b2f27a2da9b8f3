// Records what Go, apimachinery and kyaml make of generated inputs: quoting, float printing, %v, JSON, regular
// expressions and label selectors. crates/base is tested against the answers, one JSON array per line.
//
//	go run . golden 35 500 ../../crates/base/tests/golden/go
//	go run . golden 7 20000 DIR && SLUICE_GO_CASES=DIR cargo test -p sluice-base --test go_layer
//	go run . tables ../../crates/base/src/go
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// A function writes one row for a random case: the inputs, then what Go answers.
type function func(*rand.Rand) []any

var functions = map[string]function{
	"quote":    quote,
	"float":    float,
	"value":    value,
	"regexp":   regularExpression,
	"labels":   labelSelector,
	"selector": selectorObject,
	"kyaml":    kyamlSelector,
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "tables" {
		tables(os.Args[2])
		return
	}
	seed, err := strconv.ParseInt(os.Args[2], 10, 64)
	check(err)
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	for name, answer := range functions {
		record(filepath.Join(os.Args[4], name+".jsonl"), seed, count, answer)
	}
}

func record(path string, seed int64, count int, answer function) {
	file, err := os.Create(path)
	check(err)
	defer file.Close()
	out := bufio.NewWriter(file)
	defer out.Flush()
	fmt.Fprintf(out, "# recorded by conformance/golayer with %s, k8s.io/apimachinery v0.35.4, kyaml v0.21.1\n", runtime.Version())
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	random := rand.New(rand.NewSource(seed))
	for range count {
		check(encoder.Encode(answer(random)))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.Intn(len(from))] }
