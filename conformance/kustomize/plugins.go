package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
)

// pluginCases are the tests of the builtin plugins, which no Go module has. They are read, not compiled:
// the files a test writes, and each configuration it hands to a plugin with the resources to work on. Each
// becomes a build with that configuration under `transformers` or `generators`.
func pluginCases(folder string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no tests of plugins in %s", folder)
	}
	defer stayOffline()()
	var cases []Case
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return nil, err
		}
		global := scope{names: map[string]any{}}
		reader := reader{functions: map[string]*ast.FuncDecl{}, global: global}
		for _, declaration := range parsed.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				reader.functions[declaration.Name.Name] = declaration
			case *ast.GenDecl:
				reader.declare(declaration, global)
			}
		}
		for _, declaration := range parsed.Decls {
			test, ok := declaration.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(test.Name.Name, "Test") {
				continue
			}
			plugin := pluginTest{plugin: filepath.Base(filepath.Dir(file)), name: test.Name.Name, root: "/"}
			reader.harness = plugin.call
			reader.run(test.Body.List, global.inner())
			cases = append(cases, plugin.cases...)
		}
	}
	return cases, nil
}

// A pluginTest gathers what a test says to the harness.
type pluginTest struct {
	plugin, name, root string
	written            Tree
	cases              []Case
}

// call takes a method of the harness; what it returns nobody here reads.
func (p *pluginTest) call(method string, arguments []any) {
	text := func(index int) string {
		if index < len(arguments) {
			if text, known := arguments[index].(string); known {
				return text
			}
		}
		return ""
	}
	known := func(count int) bool {
		for index := range count {
			if index >= len(arguments) || arguments[index] == unknown {
				return false
			}
		}
		return true
	}
	field, count := "transformers", 2
	switch method {
	case "ResetLoaderRoot":
		p.root = text(0)
		return
	case "WriteF":
		p.written.put(text(0), []byte(text(1)))
		return
	case "LoadAndRunGenerator":
		field, count = "generators", 1
	case "LoadAndRunTransformer", "RunTransformer", "RunTransformerAndCheckResult",
		"RunTransformerAndCheckError", "ErrorFromLoadAndRunTransformer":
	default:
		return
	}
	one := Case{Suite: "plugins", Name: fmt.Sprintf("%s/%s/%d", p.plugin, p.name, len(p.cases)+1)}
	one.Root = p.root
	one.Options = Options{Reorder: "none", LoadRestrictor: "rootOnly"}
	for name, text := range p.written.Files {
		one.put(name, []byte(text))
	}
	kustomization := field + ":\n- plugin-under-test.yaml\n"
	if field == "transformers" {
		kustomization += "resources:\n- resources-under-test.yaml\n"
		one.put(path.Join(p.root, "resources-under-test.yaml"), []byte(text(1)))
	}
	one.put(path.Join(p.root, "kustomization.yaml"), []byte(kustomization))
	one.put(path.Join(p.root, "plugin-under-test.yaml"), []byte(text(0)))
	switch {
	case p.plugin == "helmchartinflationgenerator":
		one.Out = "inflates helm charts"
	case !known(count):
		one.Out = "computes its input"
	default:
		one.Answer = build(one.Request)
	}
	p.cases = append(p.cases, one)
}
