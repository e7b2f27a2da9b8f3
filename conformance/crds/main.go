// Collects the CRDs of Flux and Flux Operator into one JSON text without their descriptions, together
// with the words that their Go packages declare as constants:
//
//	go run . NAME=VERSION... -- CRD-DIRECTORY... -- PACKAGE-DIRECTORY...  > upstream.json
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/image-automation-controller/api/v1"
	_ "github.com/fluxcd/image-reflector-controller/api/v1"
	_ "github.com/fluxcd/kustomize-controller/api/v1"
	_ "github.com/fluxcd/notification-controller/api/v1"
	_ "github.com/fluxcd/pkg/apis/event/v1beta1"
	_ "github.com/fluxcd/source-controller/api/v1"
	_ "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	"sigs.k8s.io/yaml"
)

func main() {
	var arguments [3][]string
	part := 0
	for _, argument := range os.Args[1:] {
		if argument == "--" && part < 2 {
			part++
			continue
		}
		arguments[part] = append(arguments[part], argument)
	}
	crds := []map[string]any{}
	for _, directory := range arguments[1] {
		files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
		check(err)
		slices.Sort(files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			check(err)
			for _, document := range strings.Split("\n"+string(text), "\n---\n") {
				var crd map[string]any
				check(yaml.Unmarshal([]byte(document), &crd))
				if crd["kind"] == "CustomResourceDefinition" {
					crds = append(crds, crd)
				}
			}
		}
	}
	for _, crd := range crds {
		for _, version := range crd["spec"].(map[string]any)["versions"].([]any) {
			strip(version.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"])
			columns, _ := version.(map[string]any)["additionalPrinterColumns"].([]any)
			for _, column := range columns {
				delete(column.(map[string]any), "description")
			}
		}
	}
	slices.SortFunc(crds, func(left, right map[string]any) int { return strings.Compare(name(left), name(right)) })
	out := json.NewEncoder(os.Stdout)
	check(out.Encode(map[string]any{"modules": arguments[0], "crds": crds, "words": words(arguments[2])}))
}

// The kinds of words, by what their constants' names look like.
var kinds = map[string]*regexp.Regexp{
	"annotations": regexp.MustCompile(`^[A-Z].*Annotation$`),
	"conditions":  regexp.MustCompile(`^[A-Z].*Condition$`),
	"finalizers":  regexp.MustCompile(`^[A-Z]?.*Finalizer$`),
	"metadata":    regexp.MustCompile(`^Meta.*Key$`),
	"reasons":     regexp.MustCompile(`^([A-Z].*Reason|Reason[A-Z].*|VerificationError)$`),
}

// words gathers the values of string constants.
func words(directories []string) map[string][]string {
	found := map[string][]string{}
	for _, directory := range directories {
		files, err := filepath.Glob(filepath.Join(directory, "*.go"))
		check(err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			check(err)
			ast.Inspect(tree, func(node ast.Node) bool {
				spec, ok := node.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for index, value := range spec.Values {
					literal, ok := value.(*ast.BasicLit)
					if !ok || literal.Kind != token.STRING {
						continue
					}
					word, err := strconv.Unquote(literal.Value)
					check(err)
					for kind, pattern := range kinds {
						if pattern.MatchString(spec.Names[index].Name) {
							found[kind] = append(found[kind], word)
						}
					}
				}
				return true
			})
		}
	}
	for kind := range found {
		slices.Sort(found[kind])
		found[kind] = slices.Compact(found[kind])
	}
	return found
}

func name(crd map[string]any) string {
	spec := crd["spec"].(map[string]any)
	return fmt.Sprint(spec["group"], "/", spec["names"].(map[string]any)["plural"])
}

// strip removes descriptions from a schema, but not a property of that name.
func strip(schema any) {
	switch node := schema.(type) {
	case map[string]any:
		if _, text := node["description"].(string); text {
			delete(node, "description")
		}
		for key, value := range node {
			if properties, ok := value.(map[string]any); ok && key == "properties" {
				for _, property := range properties {
					strip(property)
				}
				continue
			}
			strip(value)
		}
	case []any:
		for _, item := range node {
			strip(item)
		}
	}
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
