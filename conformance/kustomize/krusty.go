package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// krustyCases are the builds of the tests in api/krusty.
func krustyCases() ([]Case, error) {
	dumps, err := tested{
		module: "sigs.k8s.io/kustomize/api", folder: "krusty", file: "kustomizer.go",
		function: "func (b *Kustomizer) Run(", hook: krustyHook,
	}.dumps()
	if err != nil {
		return nil, err
	}
	defer stayOffline()()
	var cases []Case
	count := map[string]int{}
	for _, dump := range dumps {
		count[dump.Test]++
		one := Case{Suite: "krusty", Name: fmt.Sprintf("%s/%d", dump.Test, count[dump.Test])}
		one.Options = dump.Options
		prefix := onDisk(dump)
		one.Root = moved(dump.Root, prefix)
		for name, content := range dump.Files {
			if prefix != "" {
				content = bytes.ReplaceAll(content, []byte(prefix), []byte("/tree"))
			}
			one.put(moved(name, prefix), content)
		}
		one.Answer = build(one.Request)
		one.Out = outOfScope(dump, one)
		cases = append(cases, one)
	}
	return cases, nil
}

// onDisk is the temporary directory a test worked in; it has another name each time.
func onDisk(dump Dump) string {
	rest, err := filepath.Rel(os.TempDir(), dump.Root)
	if err != nil || rest == "." || strings.HasPrefix(rest, "..") {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return filepath.Join(os.TempDir(), first)
}

func moved(name, prefix string) string {
	if rest, found := strings.CutPrefix(name, prefix); prefix != "" && found {
		return "/tree" + rest
	}
	return name
}

func outOfScope(dump Dump, one Case) string {
	fresh := one.Answer.YAML
	if dump.Options.Reorder != "none" {
		fresh = one.Answer.Legacy
	}
	switch {
	case one.Answer.Remote:
		return "asks the network"
	case dump.OK == one.Answer.OK && dump.YAML == fresh:
		return ""
	case strings.Contains(one.Answer.Error, "external plugins disabled"):
		return "runs programs, containers or Go plugins"
	case strings.Contains(one.Answer.Error, "must specify --enable-helm"):
		return "inflates helm charts"
	}
	return ""
}
