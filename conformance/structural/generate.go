package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
)

// generator makes up schemas, objects that mostly fit them, and changed objects.
type generator struct {
	*rand.Rand
}

func newGenerator(seed int64) *generator {
	return &generator{rand.New(rand.NewSource(seed))}
}

type m = map[string]interface{}

var fieldNames = []string{"alpha", "beta", "gamma", "delta", "name", "ports", "kind", "metadata", "items"}
var formats = []string{"date-time", "date", "duration", "ipv4", "ipv6", "cidr", "uuid", "byte", "uri", "hostname", "email", "int32", "int64", "float", "double", "k8s-short-name", "k8s-long-name", "mac", "password", "nonsense"}
var words = []string{"", "a", "ab", "abc", "Hello", "10.0.0.1", "10.0.0.0/8", "::1", "5m", "3 days", "2024-01-02", "2024-01-02T03:04:05Z", "aGVsbG8=", "http://x.y/z", "a@b.c", "550e8400-e29b-41d4-a716-446655440000", "my-name", "my.name", "00:11:22:33:44:55", "ünï", "1", "x y"}
var patterns = []string{"^[a-z]+$", "^\\d+$", "^a", "^[A-Z]", "^$|^.{2,5}$", "^[\\w.-]+$"}

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

func (g *generator) pick(list []string) string { return list[g.Intn(len(list))] }

func (g *generator) number() interface{} {
	switch g.Intn(4) {
	case 0:
		return float64(g.Intn(2000)-1000) / 8
	case 1:
		return g.Intn(20) * 1000000
	default:
		return g.Intn(20) - 5
	}
}

// constrain adds value validations for a type.
func (g *generator) constrain(s m, kind string) {
	switch kind {
	case "string":
		if g.chance(25) {
			s["format"] = g.pick(formats)
		}
		if g.chance(15) {
			s["minLength"] = g.Intn(4)
		}
		if g.chance(15) {
			s["maxLength"] = g.Intn(8)
		}
		if g.chance(15) {
			s["pattern"] = g.pick(patterns)
		}
		if g.chance(15) {
			s["enum"] = []interface{}{g.pick(words), g.pick(words), g.pick(words)}
		}
	case "integer", "number":
		if g.chance(20) {
			s["format"] = g.pick([]string{"int32", "int64", "double", "float", "date"})
		}
		if g.chance(25) {
			s["minimum"] = g.number()
			s["exclusiveMinimum"] = g.chance(30)
		}
		if g.chance(25) {
			s["maximum"] = g.number()
			s["exclusiveMaximum"] = g.chance(30)
		}
		if g.chance(15) {
			s["multipleOf"] = []interface{}{2, 3, 0.5, 0.1, 1.5, 0}[g.Intn(6)]
		}
		if g.chance(15) {
			s["enum"] = []interface{}{g.number(), g.number(), g.number()}
		}
	case "array":
		if g.chance(20) {
			s["minItems"] = g.Intn(3)
		}
		if g.chance(20) {
			s["maxItems"] = g.Intn(4)
		}
	case "object":
		if g.chance(15) {
			s["minProperties"] = g.Intn(3)
		}
		if g.chance(15) {
			s["maxProperties"] = g.Intn(4)
		}
	}
}

func (g *generator) schema(depth int, root bool) m {
	kinds := []string{"string", "integer", "number", "boolean", "array", "object", "object"}
	if depth <= 0 {
		kinds = kinds[:4]
	}
	kind := g.pick(kinds)
	if root {
		kind = "object"
	}
	s := m{"type": kind}
	if !root && g.chance(6) {
		delete(s, "type")
		s["x-kubernetes-int-or-string"] = true
		if g.chance(40) {
			s["anyOf"] = []interface{}{m{"type": "integer"}, m{"type": "string"}}
		}
		if g.chance(30) {
			s["pattern"] = "^[0-9]+%?$"
		}
		return s
	}
	if !root && g.chance(5) {
		return m{"x-kubernetes-preserve-unknown-fields": true}
	}
	g.constrain(s, kind)
	if !root && g.chance(12) {
		s["nullable"] = true
	}
	switch kind {
	case "array":
		items := g.schema(depth-1, false)
		s["items"] = items
		if g.chance(30) {
			s["x-kubernetes-list-type"] = g.pick([]string{"set", "atomic"})
		} else if items["type"] == "object" && g.chance(50) {
			properties, _ := items["properties"].(m)
			if properties == nil {
				properties = m{}
			}
			properties["name"] = m{"type": "string"}
			items["properties"] = properties
			delete(items, "additionalProperties")
			s["x-kubernetes-list-type"] = "map"
			s["x-kubernetes-list-map-keys"] = []interface{}{"name"}
		}
	case "object":
		if !root && g.chance(20) {
			if g.chance(30) {
				s["additionalProperties"] = g.chance(70)
			} else {
				s["additionalProperties"] = g.schema(depth-1, false)
			}
			break
		}
		properties := m{}
		var required []interface{}
		for i := 0; i < 1+g.Intn(4); i++ {
			name := g.pick(fieldNames[:6])
			if root {
				name = g.pick([]string{"spec", "status", "data"})
			}
			properties[name] = g.schema(depth-1, false)
			if g.chance(25) {
				required = append(required, name)
			}
		}
		s["properties"] = properties
		if required != nil {
			s["required"] = required
		}
		if g.chance(10) {
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
		if !root && g.chance(8) {
			s["x-kubernetes-embedded-resource"] = true
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
	}
	if g.chance(15) {
		s[g.pick([]string{"anyOf", "oneOf", "allOf"})] = g.branches(s, kind)
	}
	if g.chance(4) {
		s["not"] = g.branch(s, kind)
	}
	if !root && g.chance(15) {
		s["default"] = g.value(s, 10)
	}
	return s
}

func (g *generator) branches(s m, kind string) []interface{} {
	var out []interface{}
	for i := 0; i < 1+g.Intn(3); i++ {
		out = append(out, g.branch(s, kind))
	}
	return out
}

// branch is a value validation whose fields the structural part knows.
func (g *generator) branch(s m, kind string) m {
	out := m{}
	g.constrain(out, kind)
	if properties, ok := s["properties"].(m); ok {
		nested := m{}
		var required []interface{}
		for _, name := range fieldNames {
			property, ok := properties[name].(m)
			if !ok || !g.chance(60) {
				continue
			}
			inner := m{}
			kind, _ := property["type"].(string)
			g.constrain(inner, kind)
			nested[name] = inner
			if g.chance(50) {
				required = append(required, name)
			}
		}
		out["properties"] = nested
		if required != nil {
			out["required"] = required
		}
	}
	return out
}

// value fits s, except that with the given percentage something is off.
func (g *generator) value(s m, wrong int) interface{} {
	if g.chance(wrong) {
		return g.anything(2)
	}
	if s["nullable"] == true && g.chance(30) {
		return nil
	}
	if enum, ok := s["enum"].([]interface{}); ok && g.chance(80) {
		return enum[g.Intn(len(enum))]
	}
	switch s["type"] {
	case "string":
		return g.pick(words)
	case "integer":
		return g.Intn(20) - 5
	case "number":
		return g.number()
	case "boolean":
		return g.chance(50)
	case "array":
		items, _ := s["items"].(m)
		out := []interface{}{}
		for i := 0; i < g.Intn(4); i++ {
			out = append(out, g.value(items, wrong/2))
		}
		return out
	case "object":
		out := m{}
		properties, _ := s["properties"].(m)
		for _, name := range append([]string{"spec", "status", "data"}, fieldNames...) {
			property, ok := properties[name].(m)
			if ok && g.chance(75) {
				out[name] = g.value(property, wrong/2)
			}
		}
		if additional, ok := s["additionalProperties"].(m); ok {
			for i := 0; i < g.Intn(3); i++ {
				out[g.pick(fieldNames)] = g.value(additional, wrong/2)
			}
		}
		if g.chance(15) {
			out[g.pick(fieldNames)] = g.anything(2)
		}
		if s["x-kubernetes-embedded-resource"] == true {
			if g.chance(85) {
				out["apiVersion"] = g.pick([]string{"v1", "a.b/v1", "a/b/c", ""})
			}
			if g.chance(85) {
				out["kind"] = g.pick([]string{"Pod", "pod-x", "9x", ""})
			}
			if g.chance(60) {
				out["metadata"] = g.metadata()
			}
		}
		return out
	}
	return g.anything(1)
}

func (g *generator) metadata() interface{} {
	out := m{}
	for i := 0; i < g.Intn(4); i++ {
		switch g.Intn(12) {
		case 0:
			out["name"] = g.pick([]string{"a", "a/b", ".", "ok-name"})
		case 1:
			out["namespace"] = g.pick([]string{"ns", "Bad", ""})
		case 2:
			out["labels"] = m{g.pick([]string{"a", "a/b", "-x", "a/b/c"}): g.pick([]string{"v", "-", ""})}
		case 3:
			out["annotations"] = m{g.pick([]string{"A", "x/y", "?"}): g.pick(words)}
		case 4:
			out["creationTimestamp"] = g.pick([]string{"2024-01-02T03:04:05Z", "2024-01-02T03:04:05+02:00", "nope"})
		case 5:
			out["generation"] = []interface{}{1, 0, -2, 1.5, "x"}[g.Intn(5)]
		case 6:
			out["finalizers"] = []interface{}{g.pick([]string{"a.b/c", "orphan", "foregroundDeletion", "?"}), "orphan"}
		case 7:
			out["ownerReferences"] = []interface{}{m{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u", "extra": 1, "controller": true}, m{"name": "y"}}
		case 8:
			out["unknown"] = g.anything(1)
		case 9:
			out["deletionTimestamp"] = nil
		case 10:
			out["labels"] = m{"a": g.Intn(3)}
		case 11:
			out["managedFields"] = []interface{}{m{"manager": "m", "operation": g.pick([]string{"Apply", "Nope"}), "fieldsType": "FieldsV1", "fieldsV1": m{"f:a": m{}}}}
		}
	}
	return out
}

func (g *generator) anything(depth int) interface{} {
	n := 8
	if depth <= 0 {
		n = 6
	}
	switch g.Intn(n) {
	case 0:
		return nil
	case 1:
		return g.chance(50)
	case 2:
		return g.number()
	case 3:
		return 65 + g.Intn(3)
	case 4, 5:
		return g.pick(words)
	case 6:
		out := []interface{}{}
		for i := 0; i < g.Intn(3); i++ {
			out = append(out, g.anything(depth-1))
		}
		return out
	default:
		out := m{}
		for i := 0; i < g.Intn(3); i++ {
			out[g.pick(fieldNames)] = g.anything(depth - 1)
		}
		return out
	}
}

func raw(x interface{}) json.RawMessage {
	out, err := json.Marshal(x)
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return out
}

// change is a copy of x with some leaves replaced.
func (g *generator) change(x interface{}) interface{} {
	switch x := x.(type) {
	case map[string]interface{}:
		out := m{}
		for _, k := range append([]string{"apiVersion", "spec", "status", "data"}, fieldNames...) {
			if v, ok := x[k]; ok && !g.chance(4) {
				out[k] = g.change(v)
			}
		}
		return out
	case []interface{}:
		out := []interface{}{}
		for _, v := range x {
			out = append(out, g.change(v))
		}
		if len(out) > 1 && g.chance(20) {
			out[0], out[1] = out[1], out[0]
		}
		return out
	}
	if g.chance(15) {
		return g.anything(1)
	}
	return x
}

func (g *generator) question() question {
	s := g.schema(3, true)
	object := g.value(s, 0).(m)
	object["apiVersion"] = "example.com/v1"
	object["kind"] = "Example"
	if g.chance(50) {
		object["metadata"] = g.metadata()
	}
	q := question{Schema: raw(s), Object: raw(object)}
	if g.chance(60) {
		old := g.change(object).(m)
		delete(old, "metadata")
		q.Old = raw(old)
	}
	return q
}
