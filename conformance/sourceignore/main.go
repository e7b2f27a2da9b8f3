// Records what fluxcd/pkg/sourceignore makes of generated ignore files and paths, as the golden table
// that crates/source is tested against: one JSON object per line.
//
//	go run . 500 > ../../crates/source/tests/golden/ignore.jsonl
//	go run . 100000 > FILE && SLUICE_IGNORE_CASES=FILE cargo test -p sluice-source --test source ignore
package main

import (
	"bufio"
	"encoding/json"
	"math/rand"
	"os"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// A Source is one ignore file and the directory it lies in.
type Source struct {
	Domain []string `json:"domain"`
	Text   string   `json:"text"`
}

// A Path is asked about; Excluded is the answer.
type Path struct {
	Path      string `json:"path"`
	Directory bool   `json:"directory"`
	Excluded  bool   `json:"excluded"`
}

// A Case is some ignore files and the paths asked about.
type Case struct {
	Sources  []Source `json:"sources"`
	Defaults bool     `json:"defaults"`
	Paths    []Path   `json:"paths"`
}

var random = rand.New(rand.NewSource(18))

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for range count {
		if err := encoder.Encode(answered(generate())); err != nil {
			panic(err)
		}
	}
}

func answered(c Case) Case {
	var patterns []gitignore.Pattern
	for _, source := range c.Sources {
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(source.Text), source.Domain)...)
	}
	matcher := sourceignore.NewMatcher(patterns)
	if c.Defaults {
		matcher = sourceignore.NewDefaultMatcher(patterns, nil)
		if len(patterns) > 0 {
			matcher = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(nil), patterns...))
		}
	}
	for index, path := range c.Paths {
		c.Paths[index].Excluded = matcher.Match(strings.Split(path.Path, "/"), path.Directory)
	}
	return c
}

func pick(from ...string) string { return from[random.Intn(len(from))] }

func generate() Case {
	c := Case{Sources: []Source{}, Defaults: random.Intn(3) == 0, Paths: []Path{}}
	for range random.Intn(3) {
		source := Source{Domain: []string{}}
		for range random.Intn(3) {
			source.Domain = append(source.Domain, name())
		}
		for range 1 + random.Intn(4) {
			source.Text += line() + pick("\n", "\n", "\n", "\r\n", "")
		}
		c.Sources = append(c.Sources, source)
	}
	for range 1 + random.Intn(6) {
		var parts []string
		if len(c.Sources) > 0 && random.Intn(2) == 0 {
			parts = append(parts, c.Sources[random.Intn(len(c.Sources))].Domain...)
		}
		for range 1 + random.Intn(4) {
			parts = append(parts, name())
		}
		c.Paths = append(c.Paths, Path{Path: strings.Join(parts, "/"), Directory: random.Intn(2) == 0})
	}
	return c
}

func name() string {
	return pick("a", "b", "ab", "abc", "a.b", "a.txt", "b.txt", "docs", ".git", ".gitignore", ".github", "x.png", "é", "aéb", "[", "a*", "\\", "a b", "b ", "#a", "!a", "-", ".sops.yaml", "z.tar.gz")
}

func line() string {
	switch random.Intn(12) {
	case 0:
		return pick("", " ", "# comment", "#", "  # no comment", "\t", "!", "/", "//", "!/", "**", "***", "\\", "\\#a", "\\!a")
	}
	text := pick("", "", "", "!", "!!", "\\!")
	text += pick("", "", "/", "**/", "//")
	for index := range 1 + random.Intn(3) {
		if index > 0 {
			text += pick("/", "/", "/", "/**/", "//", "/*/")
		}
		text += glob()
	}
	return text + pick("", "", "", "/", "/**", "/*", " ", "  ", "\\ ", "/ ", "//")
}

func glob() string {
	if random.Intn(3) > 0 {
		return pick(name(), name(), "*", "?", "**", "*.txt", "a*", "*b", "?b", "*.*", "[ab]", "[a-c]*", "[^a]*")
	}
	var text strings.Builder
	for range 1 + random.Intn(5) {
		text.WriteString(pick("a", "b", "c", "é", "*", "?", "[", "]", "[a", "-", "^", "[^", "\\", ".", " ", "[a-b]", "[]", "[^b]", "\\*", "\\[", "txt"))
	}
	return text.String()
}
