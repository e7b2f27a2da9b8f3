package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// A generator of texts that go-yaml has an opinion about. The same seed gives the same texts.
type generator struct {
	*rand.Rand
	seeds []string
	// The anchors of the document so far; whether it has any at all.
	anchors  int
	anchored bool
}

var atoms = strings.Fields(`
	~ null Null true True yes Yes no on off OFF y N 0 1 -1 +1 00 07 08 0777 0o7 0x1F 0b11 -0b1 1_000
	_1 1_ 1.0 1. .5 -.5 1e3 1E-3 1e400 1.5e+3 .inf -.inf .nan 2001-01-01 2001-1-1 2001-12-14T21:59:43Z
	1:30 1:30:45.5 190:20 <<  = - -a a- a:b :a ?a a#b http://x:80/y?q=1#f 18446744073709551615
	9223372036854775808 123456789012345678901234567890 key value some-name a.b/c 10Mi 500m v1 x`)

var quotedAtoms = []string{
	`""`, `''`, `"a"`, `'a'`, `"1"`, `'yes'`, `"a\nb"`, `"a\tb"`, `"\u00e9"`, `'it''s'`, `"a: b"`,
	`"a #b"`, `" a "`, `"\U0001F600"`, `"a\\b"`, `"\""`, `"a\n"`, `"\n"`, `"a \nb"`, `"\x00"`,
	"!!str 1", "!!int \"1\"", "!x y", "&a b", "!!float 2", "!!binary aGk=", "! x", "!!null ''",
}

var alphabet = []string{
	"a", "b", "c", "word", "1", "0", "-", ":", ": ", " #", "#", "'", "\"", "\\", ",", "[", "]", "{", "}",
	" ", " ", " ", "  ", "\n", "\n", "\n\n", "\t", "\r", "?", "!", "&", "*", "|", ">", "%", "@", "`", ".",
	"é", "世", "😀", "\u0085", "\u00a0", "\u2028", "\ufeff", "\u200b", "_", "=", "~", "/", "yes", "null",
}

func (g *generator) pick(from []string) string { return from[g.Intn(len(from))] }

func (g *generator) scalar() string {
	if g.Intn(3) == 0 {
		return g.pick(quotedAtoms)
	}
	return g.pick(atoms)
}

// text is any string, as JSON writes it.
func (g *generator) text() string {
	var out strings.Builder
	length := g.Intn(8)
	if g.Intn(6) == 0 {
		length = 20 + g.Intn(60)
	}
	for i := 0; i < length; i++ {
		if length > 8 && g.Intn(3) > 0 {
			out.WriteString(g.pick([]string{"some ", "words ", "here ", "x"}))
		} else {
			out.WriteString(g.pick(alphabet))
		}
	}
	quoted, err := json.Marshal(out.String())
	fail(err)
	return string(quoted)
}

// value is a JSON value of bounded depth.
func (g *generator) value(depth int) string {
	switch kind := g.Intn(10); {
	case kind < 2 && depth > 0:
		items := make([]string, g.Intn(4))
		for i := range items {
			items[i] = g.value(depth - 1)
		}
		return "[" + strings.Join(items, ",") + "]"
	case kind < 5 && depth > 0:
		fields := make([]string, g.Intn(4))
		for i := range fields {
			fields[i] = g.text() + ":" + g.value(depth-1)
		}
		return "{" + strings.Join(fields, ",") + "}"
	case kind == 5:
		return g.pick([]string{"null", "true", "false", "0", "-1", "1.5", "1e21", "123456789"})
	case kind == 6:
		return strconv.FormatFloat(g.NormFloat64()*1e6, 'g', -1, 64)
	default:
		return g.text()
	}
}

func (g *generator) comment(out *strings.Builder, indent string) {
	for g.Intn(5) == 0 {
		switch g.Intn(4) {
		case 0:
			out.WriteString("\n")
		case 1:
			out.WriteString(strings.Repeat(" ", g.Intn(7)) + "# odd\n")
		default:
			fmt.Fprintf(out, "%s# c%d\n", indent, g.Intn(100))
		}
	}
}

func (g *generator) lineEnd(out *strings.Builder) {
	if g.Intn(6) == 0 {
		fmt.Fprintf(out, " # l%d", g.Intn(100))
	}
	out.WriteString("\n")
}

func (g *generator) flow(depth int) string {
	switch kind := g.Intn(5); {
	case kind == 0 && depth > 0:
		items := make([]string, g.Intn(3))
		for i := range items {
			items[i] = g.flow(depth - 1)
		}
		return "[" + strings.Join(items, g.pick([]string{", ", ",", ",\n    ", ", # f\n    "})) + "]"
	case kind == 1 && depth > 0:
		items := make([]string, g.Intn(3))
		for i := range items {
			items[i] = fmt.Sprintf("k%d: %s", i, g.flow(depth-1))
		}
		return "{" + strings.Join(items, g.pick([]string{", ", ",\n    ", " # f\n    , "})) + "}"
	default:
		return g.scalar()
	}
}

func (g *generator) blockScalar(out *strings.Builder, indent string) {
	out.WriteString(g.pick([]string{"|", ">"}) + g.pick([]string{"", "-", "+", "", "2"}))
	g.lineEnd(out)
	for i := g.Intn(4); i >= 0; i-- {
		switch g.Intn(5) {
		case 0:
			out.WriteString("\n")
		case 1:
			out.WriteString(indent + "    more\n")
		case 2:
			out.WriteString(indent + "  # text\n")
		default:
			out.WriteString(indent + "  line " + g.pick(atoms) + "\n")
		}
	}
}

// anchor puts an anchor in front of what follows.
func (g *generator) anchor(out *strings.Builder) {
	if g.anchored && g.Intn(3) == 0 {
		g.anchors++
		fmt.Fprintf(out, " &a%d", g.anchors)
	}
}

func (g *generator) alias() string {
	return fmt.Sprintf("*a%d", 1+g.Intn(g.anchors))
}

// block is a block collection, or a scalar on the rest of the line.
func (g *generator) block(out *strings.Builder, indent string, depth int) {
	if g.anchors > 0 && g.Intn(4) == 0 {
		out.WriteString(" " + g.alias())
		g.lineEnd(out)
		return
	}
	g.anchor(out)
	switch kind := g.Intn(8); {
	case kind < 3 && depth > 0:
		g.lineEnd(out)
		g.mapping(out, indent+g.pick([]string{"  ", "  ", "    ", " "}), depth-1)
	case kind < 5 && depth > 0:
		g.lineEnd(out)
		g.sequence(out, indent+g.pick([]string{"  ", "  ", "    "}), depth-1)
	case kind == 5:
		out.WriteString(" ")
		g.blockScalar(out, indent)
	case kind == 6:
		out.WriteString(" " + g.flow(2))
		g.lineEnd(out)
	default:
		out.WriteString(" " + g.scalar())
		g.lineEnd(out)
	}
}

func (g *generator) mapping(out *strings.Builder, indent string, depth int) {
	for i := 1 + g.Intn(3); i > 0; i-- {
		g.comment(out, indent)
		if g.anchors > 0 && g.Intn(4) == 0 {
			merge := g.alias()
			if g.Intn(2) == 0 {
				merge = fmt.Sprintf("[%s, %s]", merge, g.alias())
			}
			fmt.Fprintf(out, "%s<<: %s\n", indent, merge)
		}
		fmt.Fprintf(out, "%sk%d:", indent, i+g.Intn(3))
		if g.Intn(4) == 0 && depth > 0 {
			g.lineEnd(out)
			g.sequence(out, indent, depth-1)
		} else {
			g.block(out, indent, depth)
		}
	}
	g.comment(out, indent)
}

func (g *generator) sequence(out *strings.Builder, indent string, depth int) {
	for i := 1 + g.Intn(3); i > 0; i-- {
		g.comment(out, indent)
		out.WriteString(indent + "-")
		if g.Intn(3) == 0 {
			fmt.Fprintf(out, " k%d: %s", i, g.scalar())
			g.lineEnd(out)
			if g.Intn(2) == 0 {
				g.mapping(out, indent+"  ", depth-1)
			}
		} else {
			g.block(out, indent, depth)
		}
	}
}

func (g *generator) document() string {
	var out strings.Builder
	g.anchors, g.anchored = 0, g.Intn(3) == 0
	g.comment(&out, "")
	if g.Intn(8) == 0 {
		out.WriteString("---\n")
	}
	if g.Intn(5) == 0 {
		g.sequence(&out, "", 3)
	} else {
		g.mapping(&out, "", 3)
	}
	if g.Intn(10) == 0 {
		out.WriteString("---\n")
		g.anchors = 0
		g.mapping(&out, "", 2)
	}
	return out.String()
}

// mutated is one of the hand-written cases, or a generated document, with some damage.
func (g *generator) mutated() string {
	text := g.pick(g.seeds)
	if g.Intn(3) == 0 {
		text = g.document()
	}
	for i := g.Intn(3); i >= 0 && len(text) > 0; i-- {
		at := g.Intn(len(text))
		switch g.Intn(6) {
		case 0:
			text = text[:at] + text[at+1:]
		case 1, 2:
			text = text[:at] + g.pick(alphabet) + text[at:]
		case 3:
			text = text[:at]
		case 4:
			lines := strings.SplitAfter(text, "\n")
			line := g.Intn(len(lines))
			lines[line] = g.pick([]string{"", " ", "  ", "# m\n", "- "}) + lines[g.Intn(len(lines))]
			text = strings.Join(lines, "")
		default:
			other := g.pick(g.seeds)
			text = text[:at] + other[min(len(other), at):]
		}
	}
	return text
}

func (g *generator) next() string {
	switch g.Intn(10) {
	case 0:
		return "a: " + g.scalar() + "\n"
	case 1:
		return g.scalar() + ": " + g.scalar() + "\n" + g.scalar() + ": [" + g.scalar() + "]\n"
	case 2, 3:
		return g.value(3)
	case 4, 5, 6:
		return g.document()
	default:
		return g.mutated()
	}
}

func stable(answer result, text string) bool {
	runs := 2
	if strings.Contains(answer.Error, "unsupported") {
		runs = 20
	}
	for ; runs > 0; runs-- {
		if !reflect.DeepEqual(answer, read([]byte(text))) {
			return false
		}
	}
	return true
}

// generate writes count answers. Where Go's maps answer differently from run to run, so do texts
// with keys that are equal in JSON only, and those are left out; so are long ones.
func generate(seed int64, count int, dir string) {
	inputs, err := filepath.Glob(filepath.Join(dir, "*", "input.yaml"))
	fail(err)
	g := &generator{Rand: rand.New(rand.NewSource(seed))}
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		fail(err)
		if len(text) < 1000 {
			g.seeds = append(g.seeds, string(text))
		}
	}
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	fmt.Fprintf(out, "{\"oracle\":%q,\"seed\":%d}\n", Oracle, seed)
	seen := map[string]bool{}
	for count > 0 {
		text := g.next()
		// A second byte order mark makes go-yaml lose characters at the start of lines, depending on
		// where its buffer ends.
		if seen[text] || len(text) > 2000 || strings.Contains(text, "\ufeff\ufeff") {
			continue
		}
		seen[text] = true
		answer := read([]byte(text))
		if !stable(answer, text) {
			continue
		}
		fail(encoder.Encode(answer))
		count--
	}
	fail(out.Flush())
}
