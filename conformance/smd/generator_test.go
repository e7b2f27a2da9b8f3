package smd

import (
	"encoding/json"
	"math/rand"
	"path"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// generator makes objects of a kind from its schema. Pools of names and values are small, so that
// writers meet.
type generator struct {
	*rand.Rand
	kind *kind
}

var words = []string{"a", "b", "c", "zz", "A<b>", "9", "10"}

func (g *generator) resolve(s *spec.Schema) *spec.Schema {
	for range 4 {
		ref := s.Ref.String()
		if ref == "" && len(s.AllOf) == 1 {
			ref = s.AllOf[0].Ref.String()
		}
		if ref == "" {
			return s
		}
		next := g.kind.models[path.Base(ref)]
		if next == nil {
			return s
		}
		s = next
	}
	return s
}

func (g *generator) scalar(s *spec.Schema) any {
	kind := ""
	if len(s.Type) > 0 {
		kind = s.Type[0]
	}
	if g.Intn(150) == 0 {
		return []any{nil, int64(7), "seven", true, []any{"x"}, object{"x": int64(1)}, 1.5}[g.Intn(7)]
	}
	switch kind {
	case "integer":
		return int64([]int{0, 1, 9, 10, 80, 8080, 1000000}[g.Intn(7)])
	case "number":
		return []any{int64(1), 1.0, 1.5, 2e6}[g.Intn(4)]
	case "boolean":
		return g.Intn(2) == 0
	case "string":
		return words[g.Intn(len(words))]
	}
	return []any{int64(1), "1", "50%", int64(8080)}[g.Intn(4)]
}

func (g *generator) value(s *spec.Schema, depth int) any {
	s = g.resolve(s)
	if g.Intn(60) == 0 {
		return nil
	}
	kind := ""
	if len(s.Type) > 0 {
		kind = s.Type[0]
	}
	if kind == "" && len(s.Properties) == 0 && s.Items == nil {
		if intOrString, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); intOrString || len(s.OneOf) > 0 || len(s.AnyOf) > 0 {
			return g.scalar(s)
		}
		switch g.Intn(4) {
		case 0:
			return g.free(2)
		case 1:
			return []any{g.free(1), g.free(1)}
		}
		return g.scalar(s)
	}
	switch kind {
	case "object", "":
		out := object{}
		if depth <= 0 || g.Intn(20) == 0 {
			return out
		}
		names := make([]string, 0, len(s.Properties))
		for name := range s.Properties {
			names = append(names, name)
		}
		sort.Strings(names)
		chance := 2 + len(names)/5
		for _, name := range names {
			if g.Intn(chance) < 1 {
				member := s.Properties[name]
				out[name] = g.value(&member, depth-1)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for range g.Intn(4) {
				out[words[g.Intn(len(words))]] = g.value(s.AdditionalProperties.Schema, depth-1)
			}
		} else if preserve, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields"); preserve || len(names) == 0 {
			for range g.Intn(3) {
				out["free"+words[g.Intn(3)]] = g.free(2)
			}
		}
		if g.Intn(300) == 0 {
			out["undeclared"] = int64(1)
		}
		return out
	case "array":
		out := []any{}
		if depth <= 0 || g.Intn(20) == 0 {
			return out
		}
		for range 1 + g.Intn(4) {
			out = append(out, g.item(s, depth))
		}
		return g.unique(s, out)
	}
	return g.scalar(s)
}

func (g *generator) item(s *spec.Schema, depth int) any {
	item := g.value(s.Items.Schema, depth-1)
	keys := listKeys(s)
	if fields, ok := item.(object); ok {
		members := g.resolve(s.Items.Schema).Properties
		for _, name := range keys {
			member := members[name]
			if g.Intn(25) > 0 && !(member.Default != nil && g.Intn(3) == 0) {
				fields[name] = g.scalar(g.resolve(&member))
			}
		}
	}
	return item
}

func listKeys(s *spec.Schema) []string {
	switch keys := s.Extensions["x-kubernetes-list-map-keys"].(type) {
	case []string:
		return keys
	case []any:
		var out []string
		for _, key := range keys {
			out = append(out, key.(string))
		}
		return out
	}
	return nil
}

// unique drops most items whose names were there before.
func (g *generator) unique(s *spec.Schema, items []any) []any {
	keys := listKeys(s)
	listType, _ := s.Extensions.GetString("x-kubernetes-list-type")
	if listType != "set" && listType != "map" {
		return items
	}
	seen := map[string]bool{}
	out := []any{}
	for _, item := range items {
		name := item
		if fields, ok := item.(object); ok {
			var parts []any
			for _, key := range keys {
				parts = append(parts, fields[key])
			}
			name = parts
		}
		text, _ := json.Marshal(name)
		if !seen[string(text)] || g.Intn(30) == 0 {
			out = append(out, item)
		}
		seen[string(text)] = true
	}
	return out
}

// free is a value without a schema.
func (g *generator) free(depth int) any {
	switch g.Intn(6) {
	case 0:
		return nil
	case 1:
		return []any{"x", int64(g.Intn(3))}
	case 2, 3:
		if depth > 0 {
			out := object{}
			for range g.Intn(3) {
				out[words[g.Intn(3)]] = g.free(depth - 1)
			}
			return out
		}
	}
	return words[g.Intn(len(words))]
}

func (g *generator) metadata() object {
	out := object{"name": "thing", "namespace": "default"}
	for _, name := range []string{"labels", "annotations"} {
		if g.Intn(2) == 0 {
			pairs := object{}
			for range g.Intn(4) {
				pairs[words[g.Intn(len(words))]] = words[g.Intn(3)]
			}
			out[name] = pairs
		}
	}
	if g.Intn(5) == 0 {
		out["finalizers"] = []any{"example.com/" + words[g.Intn(3)]}
	}
	if g.Intn(5) == 0 {
		out["ownerReferences"] = []any{object{"apiVersion": "v1", "kind": "ConfigMap", "name": words[g.Intn(3)], "uid": words[g.Intn(3)]}}
	}
	return out
}

func (g *generator) object() object {
	made, _ := g.value(g.kind.shape, 7).(object)
	if made == nil {
		made = object{}
	}
	if g.kind.Deduced {
		made["spec"] = g.free(3)
	}
	for _, name := range []string{"spec", "status", "data"} {
		member, ok := g.kind.shape.Properties[name]
		if _, there := made[name]; ok && !there && g.Intn(8) > 0 {
			made[name] = g.value(&member, 6)
		}
	}
	delete(made, "apiVersion")
	delete(made, "metadata")
	made["kind"] = g.kind.Kind
	made["metadata"] = g.metadata()
	return made
}

// changed changes a few places of an object: drops, reorders, replaces, adds.
func (g *generator) changed(in object) object {
	other := g.object()
	g.mix(in, other, 0)
	in["kind"] = g.kind.Kind
	if _, ok := in["metadata"].(object); !ok {
		in["metadata"] = g.metadata()
	}
	return in
}

func (g *generator) mix(in, other object, depth int) {
	names := make([]string, 0, len(in)+len(other))
	for name := range in {
		names = append(names, name)
	}
	for name := range other {
		if _, ok := in[name]; !ok {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		if depth == 0 && (name == "kind" || name == "apiVersion") || depth == 1 && (name == "name" || name == "namespace" || name == "uid" || name == "managedFields") {
			continue
		}
		mine, there := in[name]
		theirs, offered := other[name]
		switch {
		case there && g.Intn(10) == 0 && depth > 0:
			delete(in, name)
		case !there && g.Intn(3) == 0:
			in[name] = theirs
		case there && offered:
			in[name] = g.mixed(mine, theirs, depth)
		case there:
			in[name] = g.mixed(mine, nil, depth)
		}
	}
}

func (g *generator) mixed(mine, theirs any, depth int) any {
	switch mine := mine.(type) {
	case object:
		other, _ := theirs.(object)
		g.mix(mine, other, depth+1)
		return mine
	case []any:
		if g.Intn(6) == 0 {
			g.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
		}
		if len(mine) > 0 && g.Intn(5) == 0 {
			at := g.Intn(len(mine))
			mine = append(mine[:at:at], mine[at+1:]...)
		}
		if others, ok := theirs.([]any); ok && g.Intn(3) == 0 {
			for _, item := range others {
				at := g.Intn(len(mine) + 1)
				mine = append(mine[:at:at], append([]any{item}, mine[at:]...)...)
			}
		}
		for i := range mine {
			if fields, ok := mine[i].(object); ok && g.Intn(4) == 0 {
				g.mix(fields, nil, depth+1)
			}
		}
		return mine
	}
	if theirs != nil && g.Intn(3) == 0 {
		return theirs
	}
	return mine
}

// borrow gives a configuration values that the live object has, so that fields get several owners.
func (g *generator) borrow(config, live object) object {
	for _, name := range []string{"spec", "data"} {
		if from, ok := live[name].(object); ok {
			to, ok := config[name].(object)
			if !ok {
				to = object{}
			}
			for _, field := range sortedNames(from) {
				if g.Intn(2) == 0 {
					to[field] = clone(object{"v": from[field]})["v"]
				}
			}
			config[name] = to
		}
	}
	return config
}

func sortedNames(in object) []string {
	out := make([]string, 0, len(in))
	for name := range in {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// annotate adds the annotation client-side apply leaves behind.
func (g *generator) annotate(in object) {
	config := clone(in)
	config["apiVersion"] = g.kind.Versions[0]
	if g.Intn(3) == 0 {
		config = g.changed(config)
		config["apiVersion"] = g.kind.Versions[0]
	}
	text, _ := json.Marshal(config)
	_ = unstructured.SetNestedField(in, string(text), "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
}

// tamper changes the entries of an update, or leaves them out.
func (g *generator) tamper(in object) {
	metadata, _ := in["metadata"].(object)
	entries, _ := metadata["managedFields"].([]any)
	switch g.Intn(12) {
	case 0, 1, 2:
		delete(metadata, "managedFields")
	case 3:
		metadata["managedFields"] = []any{}
	case 4:
		metadata["managedFields"] = []any{object{}}
	case 5:
		if len(entries) > 0 {
			at := g.Intn(len(entries))
			metadata["managedFields"] = append(entries[:at:at], entries[at+1:]...)
		}
	case 6:
		if len(entries) > 0 {
			entry := entries[g.Intn(len(entries))].(object)
			switch g.Intn(5) {
			case 0:
				delete(entry, "operation")
			case 1:
				entry["fieldsType"] = "FieldsV2"
			case 2:
				entry["fieldsV1"] = object{"f:spec": object{"f:" + words[g.Intn(3)]: object{}, "v:1": object{}, "i:3": object{}, "i:12": object{}, "x:later": object{}}}
			case 3:
				entry["apiVersion"] = path.Join(path.Dir(g.kind.Versions[0]), "v0")
			case 4:
				delete(entry, "time")
			}
		}
	case 7:
		if g.Intn(4) == 0 {
			_ = unstructured.SetNestedField(in, "{\"apiVersion\":\"x\"}", "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
}
