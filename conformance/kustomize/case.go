package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// A Tree is the files of one build.
type Tree struct {
	// Files by absolute path; those that are not UTF-8 are in Binary, in base64.
	Files  map[string]string `json:"files,omitempty"`
	Binary map[string]string `json:"binary,omitempty"`
}

func (t *Tree) put(name string, content []byte) {
	if !path.IsAbs(name) {
		name = "/" + name
	}
	name = path.Clean(name)
	if utf8.Valid(content) {
		if t.Files == nil {
			t.Files = map[string]string{}
		}
		t.Files[name] = string(content)
		return
	}
	if t.Binary == nil {
		t.Binary = map[string]string{}
	}
	t.Binary[name] = base64.StdEncoding.EncodeToString(content)
}

// Options of a build, as the command line has them.
type Options struct {
	// legacy, none, or unspecified, which is legacy.
	Reorder string `json:"reorder"`
	// rootOnly or none.
	LoadRestrictor string `json:"load_restrictor"`
	ManagedByLabel bool   `json:"managed_by_label,omitempty"`
}

// A Request is one build to be done.
type Request struct {
	Tree
	// The directory to build.
	Root    string  `json:"root"`
	Options Options `json:"options"`
}

// An Answer is what came of a build.
type Answer struct {
	OK bool `json:"ok"`
	// The output with the options' order none, and in the legacy order.
	YAML   string `json:"yaml,omitempty"`
	Legacy string `json:"legacy,omitempty"`
	Error  string `json:"error,omitempty"`
	// The original panicked.
	Panic bool `json:"panic,omitempty"`
	// The build wanted something from the network.
	Remote bool `json:"remote,omitempty"`
}

// A Case is a build taken out of a test, with the answer of a fresh process.
type Case struct {
	Suite string `json:"suite"`
	Name  string `json:"name"`
	Request
	Answer Answer `json:"answer"`
	// Why it cannot be compared, if so.
	Out string `json:"out,omitempty"`
}

// A Dump is what the hooks in the tests write; hook/ has their side of it.
type Dump struct {
	Test    string            `json:"test"`
	Files   map[string][]byte `json:"files"`
	Root    string            `json:"root"`
	Options Options           `json:"options"`
	Plugins bool              `json:"plugins"`
	Helm    bool              `json:"helm"`
	OK      bool              `json:"ok"`
	YAML    string            `json:"yaml"`
	Error   string            `json:"error"`
	// Of a merge instead of a build.
	Patch  string `json:"patch"`
	Target string `json:"target"`
}

func readLines[T any](r io.Reader, each func(T) error) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	for {
		var line T
		if err := decoder.Decode(&line); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

func writeLines(w io.Writer) (func(any) error, func() error) {
	buffer := bufio.NewWriterSize(w, 1<<20)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	return encoder.Encode, buffer.Flush
}

func readDumps(file string) ([]Dump, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var dumps []Dump
	err = readLines(opened, func(dump Dump) error {
		dumps = append(dumps, dump)
		return nil
	})
	return dumps, err
}

func mentions(tree Tree, words ...string) bool {
	for _, text := range tree.Files {
		text = strings.ToLower(text)
		for _, word := range words {
			if strings.Contains(text, word) {
				return true
			}
		}
	}
	return false
}
