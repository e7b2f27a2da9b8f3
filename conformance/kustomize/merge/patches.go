package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

func sortTexts(texts []string) { sort.Strings(texts) }

// jsonPatch makes up a JSON patch. Most of its pointers lead somewhere.
func (g *generator) jsonPatch() Case {
	g.disorder = pick(g, 0, 5, 20)
	g.patch = false
	g.textKeys = true
	target := g.document(g.object(pick(g, kinds...)))
	var tree map[string]any
	if node, err := kyaml.Parse(target); err == nil {
		if text, err := node.MarshalJSON(); err == nil {
			_ = json.Unmarshal(text, &tree)
		}
	}
	var operations []any
	for range 1 + g.Intn(3) {
		operations = append(operations, g.operation(tree))
	}
	var patch any = operations
	if g.odd(3) {
		patch = pick[any](g, nil, "text", map[string]any{"op": "add"}, []any{nil}, []any{1})
	}
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err)
	}
	if g.chance(50) {
		// The same as YAML.
		if node, err := kyaml.Parse(string(text)); err == nil {
			unflow(node.YNode())
			if asYAML, err := node.String(); err == nil {
				return Case{Patch: asYAML, Target: target}
			}
		}
	}
	return Case{Patch: string(text), Target: target}
}

func unflow(node *kyaml.Node) {
	node.Style = 0
	for _, child := range node.Content {
		unflow(child)
	}
}

func (g *generator) operation(tree map[string]any) map[string]any {
	kind := pick(g, "add", "add", "replace", "replace", "remove", "test", "copy", "move")
	path, value := g.pointer(tree)
	operation := map[string]any{"op": kind, "path": path}
	switch kind {
	case "add":
		operation["path"] = path + g.member(value)
		operation["value"] = g.value(2)
	case "replace":
		operation["value"] = g.value(2)
	case "test":
		operation["value"] = value
		if g.chance(15) {
			operation["value"] = g.value(1)
		}
	case "copy", "move":
		operation["from"] = path
		to, place := g.pointer(tree)
		operation["path"] = to + g.member(place)
	}
	if g.odd(10) {
		delete(operation, pick(g, "op", "path", "value", "from"))
	}
	if g.odd(5) {
		operation[pick(g, "op", "path", "value", "from")] = pick[any](g, nil, 1, "", "/", "x", "unknown", []any{})
	}
	return operation
}

// member is a step from a place to something in it, mostly one that can be taken.
func (g *generator) member(place any) string {
	if g.odd(20) {
		return pick(g, "/new", "/-", "/0", "/-1", "/1", "/a~1b", "/9", "")
	}
	switch place := place.(type) {
	case map[string]any:
		return pick(g, "", "/new", "/a~1b")
	case []any:
		return pick(g, "", "/-", "/0", "/-1", fmt.Sprintf("/%d", len(place)))
	}
	return ""
}

// pointer leads to some place of the tree.
func (g *generator) pointer(tree any) (string, any) {
	var path strings.Builder
	at := tree
	for depth := 0; ; depth++ {
		switch here := at.(type) {
		case map[string]any:
			if len(here) == 0 || depth > 0 && g.chance(15) {
				return path.String(), at
			}
			names := make([]string, 0, len(here))
			for name := range here {
				names = append(names, name)
			}
			sort.Strings(names)
			name := pick(g, names...)
			if g.odd(10) {
				name = pick(g, "missing", "", "~2")
			}
			at = here[name]
			path.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		case []any:
			if len(here) == 0 || g.chance(15) {
				return path.String(), at
			}
			index := g.Intn(len(here))
			at = here[index]
			text := fmt.Sprint(index)
			if g.odd(10) {
				text = pick(g, "-1", "-", "99", "x", "+1", "01", "-9")
			}
			path.WriteString("/" + text)
		default:
			return path.String(), at
		}
	}
}

func (g *generator) value(depth int) any {
	if depth > 0 && g.chance(30) {
		value := map[string]any{}
		for range g.Intn(3) {
			value[pick(g, "name", "a", "b10", "b2", "yes", "1", "a.b/c")] = g.value(depth - 1)
		}
		return value
	}
	if depth > 0 && g.chance(20) {
		value := []any{}
		for range g.Intn(3) {
			value = append(value, g.value(depth-1))
		}
		return value
	}
	return pick[any](g, nil, true, 0, 1, 8080, 1000000, 12345678901234, 1.5, 1e21, -3, "a", "yes", "1", "true", "null", "", "two\nlines",
		"two\nlines\n", " lead", "trail ", "a: b", "1:30", "0x10", "2020-01-01", "é", "<&>", "-", "*x", "tab\there", "# x", "~")
}
