package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The tests whose merges are recorded, by module.
var tested = map[string][]string{
	"sigs.k8s.io/kustomize/kyaml": {"./yaml/merge2"},
	"sigs.k8s.io/kustomize/api":   {"./filters/patchstrategicmerge", "./resmap", "./resource", "./internal/builtins", "./krusty"},
}

// What is put behind the library's own merge, which is renamed: it writes down each call.
const recording = `

func MergeStrings(patch, target string, infer bool, options yaml.MergeOptions) (string, error) {
	result, err := mergeStrings(patch, target, infer, options)
	record(patch, target, infer, options, result, err)
	return result, err
}

func Merge(patch, target *yaml.RNode, options yaml.MergeOptions) (*yaml.RNode, error) {
	patchText, _ := patch.String()
	targetText, _ := target.String()
	result, err := merge(patch, target, options)
	resultText, _ := result.String()
	record(patchText, targetText, false, options, resultText, err)
	return result, err
}

func record(patch, target string, infer bool, options yaml.MergeOptions, result string, err error) {
	file, failed := os.OpenFile(os.Getenv("MERGES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if failed != nil {
		panic(failed)
	}
	defer file.Close()
	message := ""
	if err != nil {
		message = err.Error()
	}
	line, _ := json.Marshal(map[string]any{
		"patch": patch, "target": target, "infer": infer, "result": result, "error": message,
		"schema": openapi.GetSchemaVersion(),
		"prepend": options.ListIncreaseDirection == yaml.MergeOptionsListPrepend,
	})
	if _, failed := file.Write(append(line, '\n')); failed != nil {
		panic(failed)
	}
}
`

// tables runs the tests of the modules with a library that writes down what it merges. They run in copies,
// because the module cache is nobody's to change.
func tables() []Case {
	work, err := os.MkdirTemp("", "merges-")
	check(err)
	defer os.RemoveAll(work)
	for module := range tested {
		check(os.CopyFS(filepath.Join(work, module), os.DirFS(directory(module))))
	}
	library := filepath.Join(work, "sigs.k8s.io/kustomize/kyaml/yaml/merge2/merge2.go")
	original, err := os.ReadFile(library)
	check(err)
	changed := strings.NewReplacer(
		"func Merge(", "func merge(",
		"func MergeStrings(", "func mergeStrings(",
		"import (", "import (\n\t\"encoding/json\"\n\t\"os\"\n",
	).Replace(string(original)) + recording
	// Files of the module cache are read-only, and so are their copies.
	check(os.Remove(library))
	check(os.WriteFile(library, []byte(changed), 0o600))
	workspace := "go 1.24.0\n\nuse (\n"
	for module := range tested {
		workspace += "\t./" + module + "\n"
	}
	check(os.WriteFile(filepath.Join(work, "go.work"), []byte(workspace+")\n"), 0o600))
	merges := filepath.Join(work, "merges.jsonl")
	for module, packages := range tested {
		command := exec.Command("go", append([]string{"test", "-count=1", "-p=1", "-vet=off"}, packages...)...)
		command.Dir = filepath.Join(work, module)
		command.Env = append(os.Environ(), "MERGES="+merges, "GOFLAGS=")
		// A test may fail, for want of a network for instance: what it merged counts all the same.
		if output, err := command.CombinedOutput(); err != nil {
			log.Printf("%s: %v\n%.2000s", module, err, output)
		}
	}
	file, err := os.Open(merges)
	check(err)
	defer file.Close()
	var cases []Case
	seen := map[Case]bool{}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var one struct {
			Case
			Schema string `json:"schema"`
		}
		check(json.Unmarshal(scanner.Bytes(), &one))
		// What a test merged by a schema of its own cannot be told from the texts alone.
		if strings.Contains(one.Schema, "custom") || seen[one.Case] {
			continue
		}
		seen[one.Case] = true
		cases = append(cases, one.Case)
	}
	check(scanner.Err())
	return cases
}

func directory(module string) string {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	check(err)
	return strings.TrimSpace(string(output))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
