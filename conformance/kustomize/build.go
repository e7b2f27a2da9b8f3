package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	// The label managed-by carries the version of this module.
	_ "sigs.k8s.io/kustomize/kustomize/v5/commands/build"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

var errNetwork = errors.New("sluice: the network is not asked")

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNetwork }

// stayOffline makes remote bases fail at once, and recognisably; and it takes away the original's warnings.
// What it returns undoes it.
func stayOffline() func() {
	path, stderr := os.Getenv("PATH"), os.Stderr
	http.DefaultTransport = noNetwork{}
	os.Setenv("PATH", "")
	os.Stderr = nil
	return func() {
		os.Setenv("PATH", path)
		os.Stderr = stderr
	}
}

// warm says that the parsed OpenAPI document was left by a build that did not choose its own: a fresh
// process would parse the very same one.
var warm = true

// build does what `kustomize build` would do in a process of its own.
func build(request Request) (answer Answer) {
	chooses := mentions(request.Tree, "openapi")
	if !warm {
		openapi.ResetOpenAPI()
	}
	warm = !chooses
	defer func() {
		if cause := recover(); cause != nil {
			answer = Answer{Error: fmt.Sprint(cause), Panic: true}
			warm = false
		}
	}()
	files, err := request.fileSystem()
	if err != nil {
		return Answer{Error: err.Error()}
	}
	options := krusty.MakeDefaultOptions()
	options.AddManagedbyLabel = request.Options.ManagedByLabel
	if request.Options.LoadRestrictor == "none" {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	options.PluginConfig.HelmConfig.Command = "helm"
	answer.OK = true
	for order, output := range map[krusty.ReorderOption]*string{
		krusty.ReorderOptionNone: &answer.YAML, krusty.ReorderOptionLegacy: &answer.Legacy,
	} {
		if chooses {
			openapi.ResetOpenAPI()
		}
		options.Reorder = order
		resources, err := krusty.MakeKustomizer(options).Run(files, request.Root)
		if err != nil {
			return failed(err)
		}
		text, err := resources.AsYaml()
		if err != nil {
			return failed(err)
		}
		*output = string(text)
	}
	return answer
}

func failed(err error) Answer {
	text := err.Error()
	remote := strings.Contains(text, errNetwork.Error()) || strings.Contains(text, "no 'git' program on path")
	return Answer{Error: text, Remote: remote}
}

func (t Tree) fileSystem() (filesys.FileSystem, error) {
	files := filesys.MakeFsInMemory()
	for name, text := range t.Files {
		if err := files.WriteFile(name, []byte(text)); err != nil {
			return nil, err
		}
	}
	for name, encoded := range t.Binary {
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil {
			err = files.WriteFile(name, content)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
