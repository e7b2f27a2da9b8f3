package main

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// mergeCases are the tables of kyaml's strategic merge, each as a build of one resource with one patch.
// What the tables merge lacks names, and often a kind; both sides get the same ones.
func mergeCases() ([]Case, error) {
	dumps, err := tested{
		module: "sigs.k8s.io/kustomize/kyaml", folder: "yaml/merge2", file: "merge2.go",
		function: "func MergeStrings(", hook: mergeHook,
	}.dumps()
	if err != nil {
		return nil, err
	}
	defer stayOffline()()
	var cases []Case
	for number, dump := range dumps {
		one := Case{Suite: "merge2", Name: fmt.Sprintf("%s/%d", dump.Test, number+1)}
		one.Root = "/"
		one.Options = Options{Reorder: "none", LoadRestrictor: "rootOnly"}
		one.put("kustomization.yaml", []byte("resources:\n- target.yaml\npatches:\n- path: patch.yaml\n"))
		target, fine := named(dump.Target, dump.Target)
		patch, alsoFine := named(dump.Patch, dump.Target)
		if fine && alsoFine {
			one.put("target.yaml", []byte(target))
			one.put("patch.yaml", []byte(patch))
			one.Answer = build(one.Request)
		} else {
			one.Out = "does not merge maps"
		}
		cases = append(cases, one)
	}
	return cases, nil
}

// named gives a fragment the identity of an object: what the target says of itself, and a name.
func named(text, target string) (string, bool) {
	object, err := yaml.Parse(text)
	like, notLike := yaml.Parse(target)
	if err != nil || notLike != nil || !isMap(object) || !isMap(like) {
		return "", false
	}
	kind, version := value(like, "kind", "Fragment"), "example.com/v1"
	if kind == "Deployment" {
		version = "apps/v1"
	}
	err = object.PipeE(yaml.SetField("apiVersion", yaml.NewStringRNode(value(like, "apiVersion", version))))
	if err == nil {
		err = object.PipeE(yaml.SetField("kind", yaml.NewStringRNode(kind)))
	}
	if err == nil {
		err = object.PipeE(yaml.LookupCreate(yaml.MappingNode, "metadata"), yaml.SetField("name", yaml.NewStringRNode("it")))
	}
	if err != nil {
		return "", false
	}
	named, err := object.String()
	return named, err == nil
}

func isMap(node *yaml.RNode) bool {
	return node.YNode() != nil && node.YNode().Kind == yaml.MappingNode
}

func value(object *yaml.RNode, field, otherwise string) string {
	if found := object.Field(field); found != nil && found.Value.YNode().Kind == yaml.ScalarNode {
		return found.Value.YNode().Value
	}
	return otherwise
}
