package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// pluginCases are the tests of the builtin plugins, which no Go module has. They are read as text, not run:
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
		texts := texts{}
		for _, declaration := range parsed.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				texts.learn(general)
			}
		}
		plugin := filepath.Base(filepath.Dir(file))
		for _, declaration := range parsed.Decls {
			if test, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(test.Name.Name, "Test") {
				cases = append(cases, pluginTest(plugin, test, texts)...)
			}
		}
	}
	return cases, nil
}

// texts are the string constants and variables known by name.
type texts map[string]string

func (t texts) learn(node ast.Node) {
	ast.Inspect(node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ValueSpec:
			for index, name := range node.Names {
				if index < len(node.Values) {
					t.set(name, node.Values[index])
				}
			}
		case *ast.AssignStmt:
			for index, name := range node.Lhs {
				if name, ok := name.(*ast.Ident); ok && len(node.Lhs) == len(node.Rhs) {
					t.set(name, node.Rhs[index])
				}
			}
		}
		return true
	})
}

func (t texts) set(name *ast.Ident, value ast.Expr) {
	if text, known := t.of(value); known {
		t[name.Name] = text
	}
}

func (t texts) of(expression ast.Expr) (string, bool) {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(expression.Value)
		return text, err == nil && expression.Kind == token.STRING
	case *ast.Ident:
		text, known := t[expression.Name]
		return text, known
	case *ast.BinaryExpr:
		left, known := t.of(expression.X)
		right, alsoKnown := t.of(expression.Y)
		return left + right, known && alsoKnown && expression.Op == token.ADD
	case *ast.ParenExpr:
		return t.of(expression.X)
	}
	return "", false
}

func pluginTest(plugin string, test *ast.FuncDecl, global texts) []Case {
	known := texts{}
	for name, text := range global {
		known[name] = text
	}
	known.learn(test.Body)
	var cases []Case
	written := Tree{}
	root := "/"
	ast.Inspect(test.Body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		arguments := make([]string, len(call.Args))
		all := true
		for index, argument := range call.Args {
			text, known := known.of(argument)
			arguments[index] = text
			all = all && (known || index > 1)
		}
		field := "transformers"
		switch method.Sel.Name {
		case "ResetLoaderRoot":
			root = arguments[0]
			return true
		case "WriteF":
			written.put(arguments[0], []byte(arguments[1]))
			return true
		case "LoadAndRunGenerator":
			field = "generators"
		case "LoadAndRunTransformer", "RunTransformer", "RunTransformerAndCheckResult",
			"RunTransformerAndCheckError", "ErrorFromLoadAndRunTransformer":
		default:
			return true
		}
		one := Case{Suite: "plugins", Name: fmt.Sprintf("%s/%s/%d", plugin, test.Name.Name, len(cases)+1)}
		one.Root = root
		one.Options = Options{Reorder: "none", LoadRestrictor: "rootOnly"}
		for name, text := range written.Files {
			one.put(name, []byte(text))
		}
		kustomization := field + ":\n- plugin-under-test.yaml\n"
		if field == "transformers" {
			kustomization += "resources:\n- resources-under-test.yaml\n"
			one.put(path.Join(root, "resources-under-test.yaml"), []byte(arguments[1]))
		}
		one.put(path.Join(root, "kustomization.yaml"), []byte(kustomization))
		one.put(path.Join(root, "plugin-under-test.yaml"), []byte(arguments[0]))
		if all {
			one.Answer = build(one.Request)
		} else {
			one.Out = "computes its input"
		}
		if plugin == "helmchartinflationgenerator" {
			one.Out = "inflates helm charts"
		}
		cases = append(cases, one)
		return true
	})
	return cases
}
