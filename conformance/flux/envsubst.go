package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fluxcd/pkg/envsubst"
)

// One text, evaluated.
type evaluation struct {
	Text      string            `json:"text"`
	Variables map[string]string `json:"variables,omitempty"`
	Strict    bool              `json:"strict,omitempty"`
	Output    string            `json:"output"`
	Error     string            `json:"error,omitempty"`
	// Upstream does not answer but panics.
	Panic bool `json:"panic,omitempty"`
}

func evaluate(text string, variables map[string]string, strict bool) (answer evaluation) {
	answer = evaluation{Text: portable(text), Strict: strict, Variables: map[string]string{}}
	for name, value := range variables {
		answer.Variables[name] = portable(value)
	}
	defer func() {
		if recover() != nil {
			answer.Panic = true
		}
	}()
	output, err := envsubst.Eval(text, func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok || !strict
	})
	if err != nil {
		answer.Error = err.Error()
		return
	}
	answer.Output = portable(output)
	return
}

// table evaluates every text in the tables of envsubst's own tests, strictly and not. The tables are
// read from the module's sources, so that nothing of them is kept here.
func table(out *writer) {
	directory, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fluxcd/pkg/envsubst").Output()
	fail(err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(directory)), "*_test.go"))
	fail(err)
	inner, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(directory)), "parse", "*_test.go"))
	fail(err)
	for _, file := range append(files, inner...) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		fail(err)
		ast.Inspect(tree, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok {
				return true
			}
			variables, text, expected, ok := readCase(literal)
			if !ok {
				return true
			}
			for _, strict := range []bool{false, true} {
				answer := evaluate(text, variables, strict)
				if expected != nil && !strict && answer.Output != portable(*expected) && *expected != "" {
					fail(errorf("%s: %q gives %q and not %q", filepath.Base(file), text, answer.Output, *expected))
				}
				out.line(answer)
			}
			return false
		})
	}
}

// readCase takes a case out of a literal such as {params: map[string]string{...}, input: "...", output: "..."}.
func readCase(literal *ast.CompositeLit) (variables map[string]string, text string, expected *string, ok bool) {
	variables = map[string]string{}
	for _, element := range literal.Elts {
		field, isField := element.(*ast.KeyValueExpr)
		if !isField {
			continue
		}
		name, isName := field.Key.(*ast.Ident)
		if !isName {
			continue
		}
		switch name.Name {
		case "input", "Text":
			text, ok = stringOf(field.Value)
		case "output":
			if value, isText := stringOf(field.Value); isText {
				expected = &value
			}
		case "params":
			if values, isMap := field.Value.(*ast.CompositeLit); isMap {
				for _, element := range values.Elts {
					pair := element.(*ast.KeyValueExpr)
					key, _ := stringOf(pair.Key)
					value, _ := stringOf(pair.Value)
					variables[key] = value
				}
			}
		}
	}
	return
}

func stringOf(expression ast.Expr) (string, bool) {
	literal, ok := expression.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// letters evaluates a text with every letter as a name and as a value whose case is changed.
func letters(out *writer) {
	for letter := rune(0x80); letter < 0x32400; letter++ {
		if !utf8.ValidRune(letter) {
			continue
		}
		text := "${" + string(letter) + ":-named}"
		out.line(evaluate(text, nil, false))
		if unicode.ToUpper(letter) != letter || unicode.ToLower(letter) != letter || unicode.IsLetter(letter) {
			out.line(evaluate("${v^^} ${v,,} ${v^} ${v,}", map[string]string{"v": string(letter)}, true))
		}
	}
}

var values = []string{
	"", "a", "web", "Web Frontend", "/srv/data/file.tar.gz", "abcabcABC", "true", "3", "-1", "0", "2", "*", "*/", "?",
	"[a-c]", "a*c", "ÄÖü", "ß", "ǆ", "İ", "日本語 text", "😀 smile", "a:b", "a/b/c", "$", "${a}", "}", "\\", "[", "]",
	"x.y.z", "v1.2.3-rc.1+build", "\xff\xfe", "a\xc3", "10", "99999999999999999999", "+1", " 1", "1 ",
}

var names = []string{"a", "b", "c", "foo", "_x", "A1", "gone", "gone2", "é", "日", "1", "a_b"}

var alphabet = []string{
	"a", "b", "c", "1", "2", "-", "-1", " ", ":", "::", "/", "//", "#", "##", "%", "%%", "^", ",", "=", ":=", ":-", ":?", ":+", "{", "}",
	"$", "$$", "$${", "${", "\\", "\\/", "\\\\", "*", "?", "[", "]", "[a-c]", "[^b]", "é", "日", "😀", "\n", ".", "text", "\x00", "\xff", "_",
	"${a}", "${b}", "${gone}", "${foo}",
}

func texts(out *writer, seed int64, count int) {
	random := rand.New(rand.NewSource(seed))
	for i := 0; i < count; i++ {
		text := template(random, 3)
		if random.Intn(8) == 0 {
			text = mutate(random, text)
		}
		variables := map[string]string{}
		for _, name := range names {
			if !strings.HasPrefix(name, "gone") && random.Intn(5) > 0 {
				variables[name] = values[random.Intn(len(values))]
			}
		}
		out.line(evaluate(text, variables, random.Intn(2) == 0))
	}
}

func pick(random *rand.Rand, from []string) string { return from[random.Intn(len(from))] }

func template(random *rand.Rand, depth int) string {
	var text strings.Builder
	for parts := 1 + random.Intn(3); parts > 0; parts-- {
		switch random.Intn(6) {
		case 0:
			for signs := random.Intn(4); signs >= 0; signs-- {
				text.WriteString(pick(random, alphabet[:len(alphabet)-4]))
			}
		case 1:
			text.WriteString(pick(random, []string{"$$", "$", "$${x}", "$$$", " and ", "}", "key: "}))
		default:
			text.WriteString(substitution(random, depth))
		}
	}
	return text.String()
}

func substitution(random *rand.Rand, depth int) string {
	name := pick(random, names)
	switch random.Intn(9) {
	case 0:
		return "${" + name + "}"
	case 1:
		return "${#" + name + "}"
	case 2:
		return "${" + name + pick(random, []string{"^", "^^", ",", ",,", ",^", "^,", "^^^"}) + "}"
	case 3:
		return "${" + name + ":" + argument(random, depth, numbers) + "}"
	case 4:
		return "${" + name + ":" + argument(random, depth, numbers) + ":" + argument(random, depth, numbers) + "}"
	case 5:
		return "${" + name + pick(random, []string{"#", "##", "%", "%%"}) + argument(random, depth, patterns) + "}"
	case 6:
		operator := pick(random, []string{"/", "//", "/#", "/%"})
		return "${" + name + operator + argument(random, depth, patterns) + "/" + argument(random, depth, alphabet) + "}"
	default:
		operator := pick(random, []string{"=", ":=", ":-", ":?", ":+", "-", "+", "?"})
		return "${" + name + operator + argument(random, depth, alphabet) + argument(random, depth, alphabet) + "}"
	}
}

var numbers = []string{"0", "1", "2", "5", "100", "-1", "-2", "-100", " -1", " 1", "+1", "x", "", "1e1", "99999999999999999999", "01"}

var patterns = []string{
	"a", "*", "*/", "/*", "*.", ".*", "?", "??", "*a", "a*", "*a*", "[a-c]", "[^a]*", "*[!a]", "[", "[]", "[a", "\\*", "\\", "a\\", "web", "é",
	"*b*", "b*b", ".*z", "file", "tar", "[a-", "[-a]", "*[a-c]", "**", "a?c", "日*", "", "\\/", "[a\\]]",
}

func argument(random *rand.Rand, depth int, from []string) string {
	if depth > 0 && random.Intn(5) == 0 {
		return substitution(random, depth-1)
	}
	text := pick(random, from)
	for random.Intn(4) == 0 {
		text += pick(random, from)
	}
	return text
}

// mutate takes something out of a text, or puts something in, at any byte.
func mutate(random *rand.Rand, text string) string {
	at := random.Intn(len(text) + 1)
	switch random.Intn(3) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + pick(random, alphabet) + text[at:]
	default:
		return text[:at] + text[min(at+1+random.Intn(3), len(text)):]
	}
}
