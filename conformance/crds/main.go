// Collects the CRDs of Flux and Flux Operator into one JSON text without their descriptions:
//
//	go run . NAME=VERSION... -- DIRECTORY...  > upstream.json
//
// Every CRD in the directories is read, whichever file it is in.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/image-automation-controller/api/v1"
	_ "github.com/fluxcd/image-reflector-controller/api/v1"
	_ "github.com/fluxcd/kustomize-controller/api/v1"
	_ "github.com/fluxcd/notification-controller/api/v1"
	_ "github.com/fluxcd/source-controller/api/v1"
	_ "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	"sigs.k8s.io/yaml"
)

func main() {
	split := slices.Index(os.Args, "--")
	if split < 0 {
		fail("usage: go run . NAME=VERSION... -- DIRECTORY...")
	}
	crds := []map[string]any{}
	for _, directory := range os.Args[split+1:] {
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
	check(out.Encode(map[string]any{"modules": os.Args[1:split], "crds": crds}))
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
