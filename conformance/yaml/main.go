// Records what go-yaml and sigs.k8s.io/yaml make of texts: the goldens of crates/yaml.
//
//	go run . cases DIR      every DIR/*/input.yaml, results beside it
//	go run . table          lines {"text": ...} on stdin, results on stdout
//	go run . generate SEED COUNT DIR    COUNT texts made up from SEED and the cases of DIR, with results
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml3 "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigs "sigs.k8s.io/yaml"
)

// Oracle names what answered; kustomize v5.8.1 and Kubernetes 1.35 pin these versions or ones
// that differ in no line of code.
const Oracle = "sigs.k8s.io/yaml v1.6.0, go.yaml.in/yaml/v2 v2.4.3, go.yaml.in/yaml/v3 v3.0.4, kyaml v0.21.1"

type result struct {
	Text   string `json:"text,omitempty"`
	Bytes  string `json:"bytes,omitempty"`
	JSON   string `json:"json,omitempty"`
	Error  string `json:"error,omitempty"`
	Strict string `json:"strict,omitempty"`
	YAML   string `json:"yaml,omitempty"`
	V3     v3     `json:"v3"`
	// What kustomize's library says of the text: a value that is special in YAML 1.1, and how
	// sequences are indented.
	Special bool   `json:"special,omitempty"`
	Indent  string `json:"indent,omitempty"`
}

type v3 struct {
	Error     string     `json:"error,omitempty"`
	Documents []document `json:"documents,omitempty"`
}

type document struct {
	Node    *node  `json:"node"`
	Compact string `json:"compact"`
	Wide    string `json:"wide,omitempty"`
	JSON    string `json:"json,omitempty"`
	Error   string `json:"error,omitempty"`
	// The text without aliases and merge keys, where that differs from Compact.
	Expanded string `json:"expanded,omitempty"`
}

type node struct {
	Kind    string  `json:"kind"`
	Tag     string  `json:"tag,omitempty"`
	Style   int     `json:"style,omitempty"`
	Anchor  string  `json:"anchor,omitempty"`
	Value   string  `json:"value,omitempty"`
	Place   string  `json:"place"`
	Head    string  `json:"head,omitempty"`
	Line    string  `json:"line,omitempty"`
	Foot    string  `json:"foot,omitempty"`
	Content []*node `json:"content,omitempty"`
}

var kinds = map[yaml3.Kind]string{
	yaml3.DocumentNode: "document", yaml3.SequenceNode: "sequence", yaml3.MappingNode: "mapping",
	yaml3.ScalarNode: "scalar", yaml3.AliasNode: "alias",
}

func dump(from *yaml3.Node) *node {
	to := &node{
		Kind: kinds[from.Kind], Tag: from.Tag, Style: int(from.Style), Anchor: from.Anchor,
		Value: from.Value, Place: fmt.Sprintf("%d:%d", from.Line, from.Column),
		Head: from.HeadComment, Line: from.LineComment, Foot: from.FootComment,
	}
	for _, child := range from.Content {
		to.Content = append(to.Content, dump(child))
	}
	return to
}

func protect(run func() error) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	return run()
}

func emit(from *yaml3.Node, wide bool) (string, error) {
	var out bytes.Buffer
	err := protect(func() error {
		encoder := yaml3.NewEncoder(&out)
		encoder.SetIndent(2)
		if wide {
			encoder.DefaultSeqIndent()
		} else {
			encoder.CompactSeqIndent()
		}
		if err := encoder.Encode(from); err != nil {
			return err
		}
		return encoder.Close()
	})
	return out.String(), err
}

// toJSON is what kustomize does to a resource before it is printed.
func toJSON(from *yaml3.Node) (out []byte, err error) {
	err = protect(func() error {
		switch from.Content[0].Kind {
		case yaml3.MappingNode:
			value := map[string]interface{}{}
			if err := from.Decode(&value); err != nil {
				return err
			}
			out, err = json.Marshal(value)
		case yaml3.SequenceNode:
			var value []interface{}
			if err := from.Decode(&value); err != nil {
				return err
			}
			out, err = json.Marshal(value)
		default:
			var value interface{}
			if err := from.Decode(&value); err != nil {
				return err
			}
			out, err = json.Marshal(value)
		}
		return err
	})
	return out, err
}

// cyclic tells whether following aliases never ends; kustomize would overflow its stack.
func cyclic(from *yaml3.Node, open map[*yaml3.Node]bool) bool {
	if from == nil {
		return false
	}
	if open[from] {
		return true
	}
	open[from] = true
	defer delete(open, from)
	for _, child := range from.Content {
		if cyclic(child, open) {
			return true
		}
	}
	return cyclic(from.Alias, open)
}

// foreign gives the name of an alias to an anchor of an earlier document. go-yaml's decoder lets
// that pass; kustomize, which cuts a text into documents first, never sees it.
func foreign(from *yaml3.Node, known map[*yaml3.Node]bool) string {
	known[from] = true
	if from.Kind == yaml3.AliasNode && !known[from.Alias] {
		return from.Value
	}
	for _, child := range from.Content {
		if name := foreign(child, known); name != "" {
			return name
		}
	}
	return ""
}

func expand(from *yaml3.Node) (out string) {
	if cyclic(from, map[*yaml3.Node]bool{}) {
		return "cyclic"
	}
	err := protect(func() error {
		tree := kyaml.NewRNode(from)
		if err := tree.DeAnchor(); err != nil {
			return err
		}
		var err error
		out, err = emit(from, false)
		return err
	})
	if err != nil {
		return "error: " + strings.SplitN(err.Error(), "\n", 2)[0]
	}
	return out
}

func read(text []byte) (out result) {
	if utf8.Valid(text) {
		out.Text = string(text)
	} else {
		out.Bytes = base64.StdEncoding.EncodeToString(text)
	}
	out.Special = kyaml.IsValueNonString(string(text))
	if indent := kyaml.DeriveSeqIndentStyle(string(text)); indent != "compact" {
		out.Indent = indent
	}
	var converted []byte
	err := protect(func() (err error) {
		converted, err = sigs.YAMLToJSON(text)
		return err
	})
	if err != nil {
		out.Error = err.Error()
	} else {
		out.JSON = string(converted)
		err := protect(func() error {
			emitted, err := sigs.JSONToYAML(converted)
			out.YAML = string(emitted)
			return err
		})
		if err != nil {
			out.YAML = "error: " + err.Error()
		}
	}
	err = protect(func() error {
		_, err := sigs.YAMLToJSONStrict(text)
		return err
	})
	if err != nil && err.Error() != out.Error {
		out.Strict = err.Error()
	}
	decoder := yaml3.NewDecoder(bytes.NewReader(text))
	for {
		var root yaml3.Node
		err := protect(func() error { return decoder.Decode(&root) })
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.V3 = v3{Error: err.Error()}
			return out
		}
		if name := foreign(&root, map[*yaml3.Node]bool{}); name != "" {
			out.V3 = v3{Error: fmt.Sprintf("yaml: unknown anchor '%s' referenced", name)}
			return out
		}
		document := document{Node: dump(&root)}
		document.Compact, err = emit(&root, false)
		if err != nil {
			document.Compact = "error: " + err.Error()
		}
		if wide, err := emit(&root, true); err == nil && wide != document.Compact {
			document.Wide = wide
		}
		converted, err := toJSON(&root)
		if err != nil {
			document.Error = err.Error()
		} else {
			document.JSON = string(converted)
		}
		if expanded := expand(&root); expanded != document.Compact {
			document.Expanded = expanded
		}
		out.V3.Documents = append(out.V3.Documents, document)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write puts content into a file, or removes the file where there is none.
func write(dir, name, content string) {
	path := filepath.Join(dir, name)
	if content == "" {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			fail(err)
		}
		return
	}
	fail(os.WriteFile(path, []byte(content), 0o644))
}

func cases(root string) {
	inputs, err := filepath.Glob(filepath.Join(root, "*", "input.yaml"))
	fail(err)
	for _, input := range inputs {
		dir := filepath.Dir(input)
		text, err := os.ReadFile(input)
		fail(err)
		answer := read(text)
		newline := func(text string) string {
			if text == "" {
				return ""
			}
			return text + "\n"
		}
		write(dir, "expected.json", newline(answer.JSON))
		write(dir, "expected.error", newline(answer.Error))
		write(dir, "expected.strict.error", newline(answer.Strict))
		write(dir, "expected.yaml", answer.YAML)
		encoded := &bytes.Buffer{}
		encoder := json.NewEncoder(encoded)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		fail(encoder.Encode(struct {
			v3
			Special bool   `json:"special,omitempty"`
			Indent  string `json:"indent,omitempty"`
		}{answer.V3, answer.Special, answer.Indent}))
		write(dir, "expected.v3.json", encoded.String())
	}
	write(root, "ORACLE", Oracle+"\n")
	fmt.Println(len(inputs), "cases")
}

func table() {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	fmt.Fprintf(out, "{\"oracle\":%q}\n", Oracle)
	decoder := json.NewDecoder(os.Stdin)
	for {
		var line struct{ Text, Bytes string }
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else {
			fail(err)
		}
		text := []byte(line.Text)
		if line.Bytes != "" {
			decoded, err := base64.StdEncoding.DecodeString(line.Bytes)
			fail(err)
			text = decoded
		}
		fail(encoder.Encode(read(text)))
	}
	fail(out.Flush())
}

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "cases":
		cases(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "table":
		table()
	case len(os.Args) == 5 && os.Args[1] == "generate":
		seed, err := strconv.ParseInt(os.Args[2], 10, 64)
		fail(err)
		count, err := strconv.Atoi(os.Args[3])
		fail(err)
		generate(seed, count, os.Args[4])
	default:
		fmt.Fprintln(os.Stderr, "usage:", strings.Join([]string{"cases DIR", "table", "generate SEED COUNT DIR"}, " | "))
		os.Exit(2)
	}
}
