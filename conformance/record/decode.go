package main

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

type decodeCase struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Input      string          `json:"input"` // text, because order and duplicates count
	Output     json.RawMessage `json:"output,omitempty"`
	Strict     []string        `json:"strict,omitempty"`
	Error      string          `json:"error,omitempty"`
	// The same object through the converter of untyped objects, where that is the same each time.
	Restored *restored `json:"restored,omitempty"`
}

type restored struct {
	Output json.RawMessage `json:"output,omitempty"` // where it differs
	Strict []string        `json:"strict,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// recordDecode decodes generated texts into the Go types and encodes them again.
func recordDecode(perKind int) (any, error) {
	all, err := wholeScheme()
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewSource(1))
	cases := []decodeCase{}
	for _, gvk := range sortedKinds(all) {
		goType := all.AllKnownTypes()[gvk]
		for round := range perKind {
			g := generator{random: random, fill: 25 + random.Intn(40), nulls: 15}
			if round%2 == 1 {
				g.unknown, g.duplicate = 20, 20
			}
			if round%3 == 2 {
				g.wrong = 25
			}
			apiVersion := gvk.GroupVersion().String()
			one := decodeCase{APIVersion: apiVersion, Kind: gvk.Kind, Input: g.object(apiVersion, gvk.Kind, goType)}
			if len(one.Input) > 12000 {
				continue
			}
			into := reflect.New(goType).Interface()
			strict, err := kjson.UnmarshalStrict([]byte(one.Input), into)
			if err != nil {
				one.Error = err.Error()
			} else {
				for _, complaint := range strict {
					one.Strict = append(one.Strict, complaint.Error())
				}
				if one.Output, err = json.Marshal(into); err != nil {
					return nil, err
				}
			}
			one.Restored = restore(one, goType)
			cases = append(cases, one)
		}
	}
	return map[string]any{"oracle": "k8s.io/api v0.35.4, sigs.k8s.io/json v0.0.0-20250730193827", "cases": cases}, nil
}

// sortedKinds are the stored kinds: no lists, no options, no internal versions.
func sortedKinds(all *runtime.Scheme) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{}
	for gvk, goType := range all.AllKnownTypes() {
		_, hasMeta := goType.FieldByName("ObjectMeta")
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") || !hasMeta {
			continue
		}
		if gvk.Group == "extensions" || strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") {
			continue
		}
		kinds = append(kinds, gvk)
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	return kinds
}

func restore(one decodeCase, goType reflect.Type) *restored {
	var source map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(one.Input), &source); err != nil {
		return nil
	}
	var last *restored
	for attempt := range 16 {
		into := reflect.New(goType).Interface()
		now := &restored{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(source, into, true)
		strict, isStrict := runtime.AsStrictDecodingError(err)
		switch {
		case err != nil && !isStrict:
			now.Error = err.Error()
		default:
			if isStrict {
				for _, complaint := range strict.Errors() {
					now.Strict = append(now.Strict, complaint.Error())
				}
			}
			written, err := json.Marshal(into)
			if err != nil {
				return nil
			}
			if string(written) != string(one.Output) {
				now.Output = written
			}
		}
		if attempt > 0 && !reflect.DeepEqual(last, now) {
			return nil
		}
		last = now
	}
	return last
}
