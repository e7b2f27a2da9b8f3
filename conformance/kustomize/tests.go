package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed hook/krusty.go.txt
var krustyHook string

//go:embed hook/merge2.go.txt
var mergeHook string

// A tested package of the original. Its tests run in a copy of its module, where the function is called
// another name and the hook has its place.
type tested struct {
	module, folder, file, function, hook string
}

// dumps runs the tests, and reads what the hook wrote.
func (p tested) dumps() ([]Dump, error) {
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", p.module).Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m %s: %w", p.module, err)
	}
	scratch, err := os.MkdirTemp("", "sluice-kustomize-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	module := filepath.Join(scratch, "module")
	if err := os.CopyFS(module, os.DirFS(strings.TrimSpace(string(found)))); err != nil {
		return nil, err
	}
	if err := p.place(filepath.Join(module, p.folder)); err != nil {
		return nil, err
	}
	dumpFile := filepath.Join(scratch, "dump.jsonl")
	test := exec.Command("go", "test", "-count=1", "-vet=off", "./"+p.folder)
	test.Dir = module
	test.Env = append(os.Environ(), "SLUICE_DUMP="+dumpFile, "GOWORK=off")
	// Tests that need helm, docker or the network fail here; their builds are written all the same.
	said, failure := test.CombinedOutput()
	dumps, err := readDumps(dumpFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; go test: %v\n%s", p.module, err, failure, said)
	}
	return dumps, nil
}

// place renames the function and puts the hook beside it.
func (p tested) place(folder string) error {
	file := filepath.Join(folder, p.file)
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if strings.Count(string(source), p.function) != 1 {
		return fmt.Errorf("%s: %q is not there once", p.file, p.function)
	}
	name := strings.LastIndex(p.function, " ") + 1
	renamed := p.function[:name] + "original" + p.function[name:]
	changed := strings.Replace(string(source), p.function, renamed, 1)
	// Files of the module cache are read-only, and so are their copies.
	if err := os.Remove(file); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "sluice_hook.go"), []byte(p.hook), 0o644)
}
