package smd

import (
	"encoding/json"
	"go/build"
	"os"
	"path"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// builtIn are kinds whose definitions come from the documents Kubernetes ships.
var builtIn = []struct{ name, document, root, kind, version string }{
	{"deployment", "apis__apps__v1", "io.k8s.api.apps.v1.Deployment", "Deployment", "apps/v1"},
	{"pod", "api__v1", "io.k8s.api.core.v1.Pod", "Pod", "v1"},
	{"service", "api__v1", "io.k8s.api.core.v1.Service", "Service", "v1"},
	{"configmap", "api__v1", "io.k8s.api.core.v1.ConfigMap", "ConfigMap", "v1"},
	{"ingress", "apis__networking.k8s.io__v1", "io.k8s.api.networking.v1.Ingress", "Ingress", "networking.k8s.io/v1"},
	{"crd", "apis__apiextensions.k8s.io__v1", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition", "CustomResourceDefinition", "apiextensions.k8s.io/v1"},
}

// documents is the folder of Kubernetes' published documents in the module cache.
func documents() string {
	return filepath.Join(build.Default.GOPATH, "pkg/mod/k8s.io/kubernetes@v1.35.4/api/openapi-spec/v3")
}

func definitionsOf(document string) map[string]any {
	text, err := os.ReadFile(filepath.Join(documents(), document+"_openapi.json"))
	if err != nil {
		panic(err)
	}
	var parsed struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		panic(err)
	}
	return parsed.Components.Schemas
}

// reachable copies what a definition refers to, without its prose.
func reachable(all map[string]any, root string) map[string]any {
	out := map[string]any{}
	var strip func(any) any
	var visit func(string)
	strip = func(in any) any {
		switch in := in.(type) {
		case object:
			copied := object{}
			for name, member := range in {
				if _, text := member.(string); text && name == "description" {
					continue
				}
				if ref, ok := member.(string); ok && name == "$ref" {
					visit(path.Base(ref))
				}
				copied[name] = strip(member)
			}
			return copied
		case []any:
			copied := []any{}
			for _, item := range in {
				copied = append(copied, strip(item))
			}
			return copied
		}
		return in
	}
	visit = func(name string) {
		if _, there := out[name]; !there {
			out[name] = nil
			out[name] = strip(all[name])
		}
	}
	visit(root)
	return out
}

func parse(definitions map[string]any) map[string]*spec.Schema {
	text, err := json.Marshal(definitions)
	if err != nil {
		panic(err)
	}
	out := map[string]*spec.Schema{}
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func loadKinds() []*kind {
	var out []*kind
	for _, b := range builtIn {
		k := &kind{Name: b.name, Kind: b.kind, Versions: []string{b.version}, Roots: map[string]string{b.version: b.root}}
		k.Definitions = reachable(definitionsOf(b.document), b.root)
		k.models = parse(k.Definitions)
		k.shape = k.models[b.root]
		converter, err := managedfields.NewTypeConverter(k.models, false)
		if err != nil {
			panic(err)
		}
		k.converter = converter
		out = append(out, k)
	}
	static := parse(definitionsOf("apis__autoscaling__v1"))
	files, _ := filepath.Glob("schemas/*.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		k := &kind{Name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(text, k); err != nil {
			panic(err)
		}
		k.Name = strings.TrimSuffix(filepath.Base(file), ".json")
		if k.Deduced {
			k.converter = managedfields.NewDeducedTypeConverter()
			k.shape = &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
		} else {
			k.models = customModels(k, static)
			converter, err := managedfields.NewTypeConverter(k.models, false)
			if err != nil {
				panic(err)
			}
			k.converter = converter
			for name, model := range k.models {
				if strings.HasSuffix(name, "."+k.Kind) && strings.Contains(name, strings.Split(k.Versions[0], "/")[1]) {
					k.shape = model
				}
			}
		}
		out = append(out, k)
	}
	return out
}
