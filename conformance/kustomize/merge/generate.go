package main

import (
	"math/rand"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// generator makes up objects and patches. Both are drawn from few names and values, so that they meet, and
// both carry what goes wrong in practice: nulls, directives, items without their keys, values of another
// kind, texts that look like something else, comments and styles.
type generator struct {
	*rand.Rand
	// Whether a patch is being made, and how much disorder is in it, in percent.
	patch    bool
	disorder int
	// Whether all keys are texts, without which an object has no JSON.
	textKeys bool
}

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

// odd is a chance that only disorderly documents have.
func (g *generator) odd(percent int) bool { return g.chance(g.disorder) && g.chance(percent) }

func pick[T any](g *generator, from ...T) T { return from[g.Intn(len(from))] }

// merge makes up a strategic merge.
func (g *generator) merge() Case {
	g.disorder = pick(g, 0, 10, 30, 60)
	kind := pick(g, kinds...)
	g.patch = false
	target := g.document(g.object(kind))
	g.patch = true
	if g.odd(5) {
		kind = pick(g, kinds...)
	}
	patch := g.document(g.object(kind))
	return Case{Patch: patch, Target: target, Infer: g.chance(15), Prepend: g.chance(75)}
}

// A shape makes up a value.
type shape func(*generator) *yaml.Node

type kind struct {
	apiVersion, name string
	fields           map[string]shape
}

var kinds = []kind{
	{"apps/v1", "Deployment", fields{"metadata": meta, "spec": object(fields{"template": template, "replicas": number, "selector": selector, "strategy": loose, "paused": truth})}},
	{"apps/v1", "Deployment", fields{"metadata": meta, "spec": object(fields{"template": template, "replicas": number})}},
	{"v1", "Pod", fields{"metadata": meta, "spec": pod}},
	{"v1", "Service", fields{"metadata": meta, "spec": object(fields{"ports": servicePorts, "selector": labels, "type": text, "externalIPs": texts, "loadBalancerSourceRanges": texts})}},
	{"v1", "ServiceAccount", fields{"metadata": meta, "secrets": list(fields{"name": name, "namespace": text}), "imagePullSecrets": list(fields{"name": name})}},
	{"v1", "ConfigMap", fields{"metadata": meta, "data": labels, "binaryData": labels}},
	{"networking.k8s.io/v1", "Ingress", fields{"metadata": meta, "spec": object(fields{"rules": list(fields{"host": name, "http": loose}), "tls": list(fields{"hosts": texts, "secretName": name})})}},
	{"example.com/v1", "Widget", fields{"metadata": meta, "spec": object(fields{"containers": containers, "parts": list(fields{"name": name, "value": scalar}), "loose": loose, "embedded": embedded})}},
}

type fields = map[string]shape

var (
	name   = func(g *generator) *yaml.Node { return g.scalar(pick(g, "a", "b", "c", "web", "db")) }
	text   = func(g *generator) *yaml.Node { return g.text() }
	number = func(g *generator) *yaml.Node { return g.scalar(pick(g, "1", "2", "80", "8080", "0x1F", "1e3")) }
	truth  = func(g *generator) *yaml.Node { return g.scalar(pick(g, "true", "false")) }
	scalar = func(g *generator) *yaml.Node { return pick(g, text, number, truth)(g) }
	labels = func(g *generator) *yaml.Node {
		return g.mapping(fields{"app": text, "tier": text, "a.b/c": text, "on": text, "1": text})
	}
	texts        = func(g *generator) *yaml.Node { return g.sequence(text) }
	loose        = func(g *generator) *yaml.Node { return g.loose(3) }
	selector     = object(fields{"matchLabels": labels, "matchExpressions": list(fields{"key": name, "operator": text, "values": texts})})
	port         = func(g *generator) *yaml.Node { return g.scalar(pick(g, "80", "443", "8080")) }
	protocol     = func(g *generator) *yaml.Node { return g.scalar(pick(g, "TCP", "UDP")) }
	ports        = list(fields{"containerPort": port, "protocol": protocol, "name": name, "hostPort": port})
	servicePorts = list(fields{"port": port, "protocol": protocol, "name": name, "targetPort": port})
	env          = list(fields{"name": name, "value": text, "valueFrom": loose})
	containers   = list(fields{
		"name": name, "image": text, "ports": ports, "env": env, "args": texts, "command": texts,
		"volumeMounts": list(fields{"mountPath": name, "name": name, "readOnly": truth}),
		"resources":    object(fields{"limits": labels, "requests": labels}),
		"envFrom":      list(fields{"prefix": name, "configMapRef": loose}),
	})
	pod = object(fields{
		"containers": containers, "initContainers": containers,
		"volumes":                   list(fields{"name": name, "emptyDir": loose, "configMap": loose, "secret": loose}),
		"imagePullSecrets":          list(fields{"name": name}),
		"hostAliases":               list(fields{"ip": name, "hostnames": texts}),
		"tolerations":               list(fields{"key": name, "effect": text}),
		"topologySpreadConstraints": list(fields{"topologyKey": name, "whenUnsatisfiable": protocol, "maxSkew": number}),
		"nodeSelector":              labels, "restartPolicy": text,
	})
	meta = object(fields{
		"name": name, "labels": labels, "annotations": labels, "finalizers": texts, "namespace": name,
		"ownerReferences": list(fields{"uid": name, "name": name, "kind": text}),
	})
	template = object(fields{"metadata": meta, "spec": pod})
)

func object(of fields) shape { return func(g *generator) *yaml.Node { return g.mapping(of) } }

func list(of fields) shape {
	return func(g *generator) *yaml.Node {
		return g.sequence(func(g *generator) *yaml.Node { return g.mapping(of) })
	}
}

// embedded is an object inside another one, which brings its schema with it.
func embedded(g *generator) *yaml.Node {
	return g.object(kind{"v1", "Pod", fields{"metadata": meta, "spec": pod}})
}

func (g *generator) object(of kind) *yaml.Node {
	node := g.fields(of.fields)
	if !g.odd(3) {
		front := []*yaml.Node{g.plain("apiVersion"), g.plain(of.apiVersion), g.plain("kind"), g.plain(of.name)}
		node.Content = append(front, node.Content...)
	}
	return node
}

func (g *generator) plain(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value}
}

// mapping is a mapping with some of the fields, or what stands in its place.
func (g *generator) mapping(of fields) *yaml.Node {
	if instead := g.instead(); instead != nil {
		return instead
	}
	return g.fields(of)
}

func (g *generator) fields(of fields) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	// The order of a Go map is no seed's.
	sortTexts(names)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	keep := 70
	if g.patch {
		keep = 45
	}
	for _, field := range names {
		percent := keep
		switch field {
		case "name", "containerPort", "port", "mountPath", "ip", "topologyKey", "uid", "spec", "template", "containers":
			percent = 100 - g.disorder/4
		}
		if !g.chance(percent) {
			continue
		}
		if g.textKeys && field == "1" {
			continue
		}
		key := g.plain(field)
		if g.odd(15) {
			key.Style = pick(g, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle)
		}
		g.comment(key)
		node.Content = append(node.Content, key, of[field](g))
	}
	if g.patch && (g.chance(3) || g.odd(10)) {
		at := 2 * g.Intn(len(node.Content)/2+1)
		directive := []*yaml.Node{g.plain("$patch"), g.plain(g.directive())}
		node.Content = append(node.Content[:at:at], append(directive, node.Content[at:]...)...)
	}
	if g.odd(2) && len(node.Content) > 0 {
		node.Content = append(node.Content, g.plain(pick(g, "", "a", "name")), g.text())
	}
	if g.odd(15) {
		node.Style = yaml.FlowStyle
	}
	g.comment(node)
	return node
}

func (g *generator) directive() string {
	if g.odd(5) {
		return pick(g, "", "retain", "null")
	}
	return pick(g, "delete", "replace", "merge", "delete")
}

func (g *generator) sequence(of shape) *yaml.Node {
	if instead := g.instead(); instead != nil {
		return instead
	}
	node := &yaml.Node{Kind: yaml.SequenceNode}
	for range g.Intn(5) {
		item := of(g)
		if g.odd(4) {
			item = g.loose(2)
		}
		node.Content = append(node.Content, item)
	}
	if g.patch && (g.chance(3) || g.odd(10)) {
		directive := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{g.plain("$patch"), g.plain(g.directive())}}
		at := g.Intn(len(node.Content) + 1)
		node.Content = append(node.Content[:at:at], append([]*yaml.Node{directive}, node.Content[at:]...)...)
	}
	if g.odd(15) {
		node.Style = yaml.FlowStyle
	}
	g.comment(node)
	return node
}

// instead is now and then something that nobody expects.
func (g *generator) instead() *yaml.Node {
	percent := 1
	if g.patch {
		percent = 3
	}
	switch {
	case g.chance(percent) || g.odd(4):
		return g.null()
	case g.odd(2):
		return g.text()
	case g.odd(1):
		return g.loose(2)
	}
	return nil
}

func (g *generator) null() *yaml.Node {
	node := g.plain(pick(g, "null", "~", "", "Null"))
	node.Tag = "!!null"
	g.comment(node)
	return node
}

func (g *generator) text() *yaml.Node {
	if g.chance(2) || g.odd(5) {
		return g.null()
	}
	return g.scalar(pick(g, "a", "b", "web", "nginx:1.25", "yes", "on", "no", "y", "1", "true", "null", "~", "", "0x10", "1e3", "1:30",
		"2020-01-01", "with space", "a: b", "#x", "two\nlines", "two\nlines\n", " lead", "*x", "é", "a/b", "0777", ".5", "-1", "<<", "=", "<&>"))
}

func (g *generator) scalar(value string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if g.chance(25) {
		node.Style = pick(g, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle)
	}
	if g.odd(3) {
		node.Style |= yaml.TaggedStyle
		node.Tag = pick(g, "!!str", "!!str", "!mine")
	}
	g.comment(node)
	return node
}

func (g *generator) loose(depth int) *yaml.Node {
	if depth == 0 || g.chance(40) {
		return g.text()
	}
	some := func(g *generator) *yaml.Node { return g.loose(depth - 1) }
	if g.chance(30) {
		return g.sequence(some)
	}
	return g.mapping(fields{"name": name, "a": some, "b": some, "items": some, "kind": text})
}

// comments that say something about the value they are on.
var schemas = []string{
	`{"type":"array","items":{"$ref":"#/definitions/io.k8s.api.core.v1.Container"},"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"}`,
	`{"type":"array","x-kubernetes-patch-strategy":"merge"}`,
	`{"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"}`,
	`{"$openapi":"replicas"}`, `{"type":"string"}`, `{}`, `{"a":`,
}

func (g *generator) comment(node *yaml.Node) {
	if !g.odd(6) {
		return
	}
	text := "# " + pick(g, "one", "two", "three")
	if g.chance(15) {
		text = "# " + pick(g, schemas...)
	}
	switch g.Intn(3) {
	case 0:
		node.HeadComment = text
	case 1:
		node.LineComment = text
	case 2:
		node.FootComment = text
	}
}

// document is the text of a tree.
func (g *generator) document(root *yaml.Node) string {
	text, err := kyaml.String(root)
	if err != nil {
		return "a: b\n"
	}
	if g.odd(5) {
		text = "# above\n\n" + text
	}
	return strings.TrimPrefix(text, "---\n")
}
