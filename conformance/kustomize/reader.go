package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// A reader follows the statements of a test as far as they put texts together: literals, tables, loops
// over them, and functions of the same file. Both ways of an `if` it cannot decide are followed. What it
// cannot know is unknown.
type reader struct {
	functions map[string]*ast.FuncDecl
	global    scope
	// Told of every call of a method, with its arguments.
	harness func(method string, arguments []any)
	depth   int
}

type unknownValue struct{}

var unknown any = unknownValue{}

// A pair is a key of a table with what is there; a table is a list of them, in the order of the text.
type pair struct {
	key   any
	value any
}

// A scope knows values by name; names not in it are in the one around.
type scope struct {
	names  map[string]any
	around *scope
}

func (s scope) inner() scope { return scope{map[string]any{}, &s} }

func (s scope) get(name string) any {
	if value, known := s.names[name]; known {
		return value
	}
	if s.around != nil {
		return s.around.get(name)
	}
	return unknown
}

func (s *scope) set(name string, value any, define bool) {
	for at := s; at != nil && !define; at = at.around {
		if _, known := at.names[name]; known {
			at.names[name] = value
			return
		}
	}
	s.names[name] = value
}

func (r *reader) declare(declaration *ast.GenDecl, s scope) {
	for _, spec := range declaration.Specs {
		values, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for index, name := range values.Names {
			var value any = ""
			if index < len(values.Values) {
				value = r.value(values.Values[index], s)
			}
			s.set(name.Name, value, true)
		}
	}
}

// run follows statements; it says what was returned, if something was.
func (r *reader) run(statements []ast.Stmt, s scope) (any, bool) {
	for _, statement := range statements {
		if value, returned := r.step(statement, s); returned {
			return value, true
		}
	}
	return unknown, false
}

func (r *reader) step(statement ast.Stmt, s scope) (any, bool) {
	switch statement := statement.(type) {
	case *ast.DeclStmt:
		if general, ok := statement.Decl.(*ast.GenDecl); ok {
			r.declare(general, s)
		}
	case *ast.AssignStmt:
		for index, name := range statement.Lhs {
			value := unknown
			if len(statement.Lhs) == len(statement.Rhs) {
				value = r.value(statement.Rhs[index], s)
			} else if index == 0 {
				r.value(statement.Rhs[0], s)
			}
			if name, ok := name.(*ast.Ident); ok {
				if statement.Tok == token.ADD_ASSIGN {
					value = sum(s.get(name.Name), value)
				}
				s.set(name.Name, value, statement.Tok == token.DEFINE)
			}
		}
	case *ast.ExprStmt:
		r.value(statement.X, s)
	case *ast.ReturnStmt:
		if len(statement.Results) == 1 {
			return r.value(statement.Results[0], s), true
		}
		return unknown, true
	case *ast.BlockStmt:
		return r.run(statement.List, s.inner())
	case *ast.IfStmt:
		return r.choose(statement, s.inner())
	case *ast.RangeStmt:
		return r.loop(statement, s)
	}
	return unknown, false
}

func (r *reader) choose(statement *ast.IfStmt, s scope) (any, bool) {
	if statement.Init != nil {
		r.step(statement.Init, s)
	}
	condition := r.value(statement.Cond, s)
	if condition == "" {
		condition = false
	}
	if condition != false {
		if value, returned := r.run(statement.Body.List, s.inner()); returned && condition == true {
			return value, true
		}
	}
	if condition != true && statement.Else != nil {
		return r.step(statement.Else, s)
	}
	return unknown, false
}

func (r *reader) loop(statement *ast.RangeStmt, s scope) (any, bool) {
	table, ok := r.value(statement.X, s).([]pair)
	if !ok {
		return unknown, false
	}
	for _, entry := range table {
		body := s.inner()
		for name, value := range map[ast.Expr]any{statement.Key: entry.key, statement.Value: entry.value} {
			if name, ok := name.(*ast.Ident); ok && name != nil {
				body.set(name.Name, value, true)
			}
		}
		if value, returned := r.run(statement.Body.List, body); returned {
			return value, true
		}
	}
	return unknown, false
}

func (r *reader) value(expression ast.Expr, s scope) any {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		if expression.Kind == token.STRING {
			if text, err := strconv.Unquote(expression.Value); err == nil {
				return text
			}
		}
		if number, err := strconv.Atoi(expression.Value); err == nil {
			return number
		}
	case *ast.Ident:
		switch expression.Name {
		case "true", "false":
			return expression.Name == "true"
		}
		return s.get(expression.Name)
	case *ast.ParenExpr:
		return r.value(expression.X, s)
	case *ast.UnaryExpr:
		value := r.value(expression.X, s)
		if truth, ok := value.(bool); ok && expression.Op == token.NOT {
			return !truth
		}
		if expression.Op == token.AND {
			return value
		}
	case *ast.BinaryExpr:
		left, right := r.value(expression.X, s), r.value(expression.Y, s)
		switch {
		case expression.Op == token.ADD:
			return sum(left, right)
		case left == unknown || right == unknown || isTable(left) || isTable(right):
		case expression.Op == token.EQL:
			return left == right
		case expression.Op == token.NEQ:
			return left != right
		}
	case *ast.CompositeLit:
		return r.table(expression, s)
	case *ast.SelectorExpr:
		return field(r.value(expression.X, s), expression.Sel.Name)
	case *ast.IndexExpr:
		return field(r.value(expression.X, s), r.value(expression.Index, s))
	case *ast.CallExpr:
		return r.call(expression, s)
	}
	return unknown
}

func isTable(value any) bool {
	_, table := value.([]pair)
	return table
}

func sum(left, right any) any {
	a, isText := left.(string)
	b, isAlso := right.(string)
	if isText && isAlso {
		return a + b
	}
	return unknown
}

// table reads a list, a map or a structure; a structure's keys are the names of its fields.
func (r *reader) table(literal *ast.CompositeLit, s scope) []pair {
	table := []pair{}
	for index, element := range literal.Elts {
		entry := pair{key: index}
		if named, ok := element.(*ast.KeyValueExpr); ok {
			entry.key = r.value(named.Key, s)
			if name, ok := named.Key.(*ast.Ident); ok && entry.key == unknown {
				entry.key = name.Name
			}
			element = named.Value
		}
		entry.value = r.value(element, s)
		table = append(table, entry)
	}
	return table
}

// field is an entry of a table; one that a structure does not mention is empty.
func field(value, key any) any {
	table, ok := value.([]pair)
	if !ok || key == unknown || isTable(key) {
		return unknown
	}
	for _, entry := range table {
		if entry.key != unknown && !isTable(entry.key) && entry.key == key {
			return entry.value
		}
	}
	if _, named := key.(string); named {
		return ""
	}
	return unknown
}

func (r *reader) call(call *ast.CallExpr, s scope) any {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Run" && len(call.Args) == 2 {
		if body, ok := call.Args[1].(*ast.FuncLit); ok {
			r.run(body.Body.List, s.inner())
			return unknown
		}
	}
	var arguments []any
	for index, argument := range call.Args {
		value := r.value(argument, s)
		if table, ok := value.([]pair); ok && call.Ellipsis.IsValid() && index == len(call.Args)-1 {
			for _, entry := range table {
				arguments = append(arguments, entry.value)
			}
			continue
		}
		arguments = append(arguments, value)
	}
	switch function := call.Fun.(type) {
	case *ast.Ident:
		if declared := r.functions[function.Name]; declared != nil && r.depth < 8 {
			return r.apply(declared, arguments)
		}
	case *ast.SelectorExpr:
		if of, ok := function.X.(*ast.Ident); ok && (of.Name == "fmt" || of.Name == "strings") {
			return library(of.Name+"."+function.Sel.Name, arguments)
		}
		// A chain of methods begins with the inner one.
		if inner, ok := function.X.(*ast.CallExpr); ok {
			r.value(inner, s)
		}
		if r.harness != nil {
			r.harness(function.Sel.Name, arguments)
		}
	}
	return unknown
}

func (r *reader) apply(function *ast.FuncDecl, arguments []any) any {
	r.depth++
	defer func() { r.depth-- }()
	s := r.global.inner()
	index := 0
	for _, parameters := range function.Type.Params.List {
		for _, name := range parameters.Names {
			value := unknown
			if _, rest := parameters.Type.(*ast.Ellipsis); rest {
				table := []pair{}
				for at := index; at < len(arguments); at++ {
					table = append(table, pair{at - index, arguments[at]})
				}
				value = table
			} else if index < len(arguments) {
				value = arguments[index]
			}
			s.names[name.Name] = value
			index++
		}
	}
	value, _ := r.run(function.Body.List, s)
	return value
}

func library(name string, arguments []any) any {
	var texts []string
	for _, argument := range arguments {
		if argument == unknown || isTable(argument) {
			return joined(name, arguments)
		}
		if text, ok := argument.(string); ok {
			texts = append(texts, text)
		}
	}
	switch {
	case name == "fmt.Sprintf" && len(texts) > 0:
		return fmt.Sprintf(texts[0], arguments[1:]...)
	case name == "strings.TrimSpace" && len(texts) == 1:
		return strings.TrimSpace(texts[0])
	case (name == "strings.Replace" || name == "strings.ReplaceAll") && len(texts) == 3:
		count := -1
		if number, ok := arguments[len(arguments)-1].(int); ok {
			count = number
		}
		return strings.Replace(texts[0], texts[1], texts[2], count)
	}
	return unknown
}

func joined(name string, arguments []any) any {
	if name != "strings.Join" || len(arguments) != 2 {
		return unknown
	}
	table, ok := arguments[0].([]pair)
	between, alsoOK := arguments[1].(string)
	if !ok || !alsoOK {
		return unknown
	}
	var parts []string
	for _, entry := range table {
		part, ok := entry.value.(string)
		if !ok {
			return unknown
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, between)
}
