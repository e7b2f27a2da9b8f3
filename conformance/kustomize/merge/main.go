// Records what kustomize's libraries make of patches: the goldens of crates/kustomize, and as many more
// as wanted. Each answer is a line of JSON.
//
//	go run . tables                  the merges that the tests of kyaml and of the patch filters do
//	go run . merges SEED COUNT       made-up strategic merges
//	go run . patches SEED COUNT      made-up JSON patches
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"os"
	"strconv"

	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
)

// Case is a patch, what it is applied to, and what comes of it.
type Case struct {
	Patch   string `json:"patch"`
	Target  string `json:"target"`
	Infer   bool   `json:"infer,omitempty"`
	Prepend bool   `json:"prepend,omitempty"`
	Result  string `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
	// The library itself failed; that is no answer.
	Panic string `json:"panic,omitempty"`
}

func main() {
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	emit := func(c Case) {
		if err := encoder.Encode(c); err != nil {
			log.Fatal(err)
		}
	}
	arguments := append(os.Args[1:], "", "", "")
	seed, _ := strconv.ParseInt(arguments[1], 10, 64)
	count, _ := strconv.Atoi(arguments[2])
	g := &generator{Rand: rand.New(rand.NewSource(seed))}
	switch arguments[0] {
	case "tables":
		for _, c := range tables() {
			emit(c)
		}
	case "merges":
		for range count {
			c := g.merge()
			c.run(func() (string, error) {
				direction := kyaml.MergeOptionsListAppend
				if c.Prepend {
					direction = kyaml.MergeOptionsListPrepend
				}
				return merge2.MergeStrings(c.Patch, c.Target, c.Infer, kyaml.MergeOptions{ListIncreaseDirection: direction})
			})
			emit(c)
		}
	case "patches":
		for range count {
			c := g.jsonPatch()
			c.run(func() (string, error) {
				target, err := kyaml.Parse(c.Target)
				if err != nil {
					return "", err
				}
				filter := patchjson6902.Filter{Patch: c.Patch}
				if _, err := filter.Filter([]*kyaml.RNode{target}); err != nil {
					return "", err
				}
				return target.String()
			})
			emit(c)
		}
	default:
		log.Fatal("usage: tables | merges SEED COUNT | patches SEED COUNT")
	}
}

func (c *Case) run(do func() (string, error)) {
	defer func() {
		if caught := recover(); caught != nil {
			c.Panic = fmt.Sprint(caught)
		}
	}()
	result, err := do()
	c.Result = result
	if err != nil {
		c.Error = err.Error()
	}
}
