// Command cel answers the questions of the expression tests as cel-go, kube-apiserver's CEL
// environment and apiextensions-apiserver would: one JSON question per input line, one JSON answer
// per output line.
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"

	"k8s.io/apimachinery/pkg/util/json"
)

// question is one line of input.
type question struct {
	// Mode is expr, flux, validate or create; signatures prints the table of declared functions.
	Mode    string   `json:"mode"`
	Schema  any      `json:"schema,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	Self    any      `json:"self,omitempty"`
	OldSelf any      `json:"oldSelf,omitempty"`
	Vars    any      `json:"vars,omitempty"`
	Structs []string `json:"structs,omitempty"`
	Root    bool     `json:"root,omitempty"`
	Limit   uint64   `json:"limit,omitempty"`
}

// answer is one line of output.
type answer struct {
	Compile  string   `json:"compile,omitempty"`
	Type     string   `json:"type,omitempty"`
	Value    string   `json:"value,omitempty"`
	Error    string   `json:"error,omitempty"`
	Cost     *uint64  `json:"cost,omitempty"`
	Maximum  *uint64  `json:"maximum,omitempty"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

var selfType = regexp.MustCompile(`selfType\d+`)

// steady replaces the type name that carries the nanosecond of its making.
func steady(text string) string { return selfType.ReplaceAllString(text, "selfType1") }

func main() {
	if len(os.Args) > 3 && os.Args[1] == "record" {
		if err := record(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, err, in.Text())
			os.Exit(1)
		}
		a := reply(q)
		text, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		out.Write(text)
		out.WriteByte('\n')
	}
}

func reply(q question) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{Error: fmt.Sprintf("panic: %v", r)}
		}
		a.Compile, a.Error, a.Type = steady(a.Compile), steady(a.Error), steady(a.Type)
		for i := range a.Errors {
			a.Errors[i] = steady(a.Errors[i])
		}
	}()
	switch q.Mode {
	case "expr":
		return expr(q)
	case "flux":
		return flux(q)
	case "validate":
		return validate(q)
	case "create":
		return create(q)
	case "signatures":
		signatures()
		return answer{}
	}
	return answer{Error: "unknown mode " + q.Mode}
}
