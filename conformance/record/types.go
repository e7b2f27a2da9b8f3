package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apidiscoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// One Go type. Types are numbered in the order of their names, so that a new recording makes a small difference.
type goType struct {
	Name   string    `json:"n"`           // as reflect prints it: v1.PodSpec, []v1.Container
	Kind   string    `json:"k"`           // reflect's kind
	Elem   *int      `json:"e,omitempty"` // of pointers, slices, arrays and maps
	Key    *int      `json:"m,omitempty"` // of maps
	Fields []goField `json:"f,omitempty"` // of structs
	// The type writes or reads its own JSON; the Rust side must know it by name.
	Own bool `json:"j,omitempty"`
	// A named slice or map that protobuf wraps into a message of its own.
	Message bool `json:"g,omitempty"`
}

type goField struct {
	JSON      string `json:"n"`           // empty for inlined structs
	Go        string `json:"g,omitempty"` // the Go name, where it is not the JSON name with a capital
	Type      int    `json:"t"`
	OmitEmpty bool   `json:"o,omitempty"`
	OmitZero  bool   `json:"z,omitempty"`
	Number    int    `json:"p,omitempty"` // protobuf field number
	Strategy  string `json:"s,omitempty"` // patchStrategy
	MergeKey  string `json:"k,omitempty"` // patchMergeKey
}

type typeTable struct {
	Kinds map[string]int `json:"kinds"` // "apps/v1 Deployment" -> number
	Types []goType       `json:"types"`
}

func wholeScheme() (*runtime.Scheme, error) {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme, imagepolicyv1alpha1.AddToScheme,
		apidiscoveryv2.AddToScheme, apidiscoveryv2beta1.AddToScheme,
	} {
		if err := add(all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func recordTypes() (any, error) {
	all, err := wholeScheme()
	if err != nil {
		return nil, err
	}
	found := map[string]reflect.Type{}
	for _, goType := range all.AllKnownTypes() {
		collect(goType, found)
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	numbers := map[string]int{}
	for number, key := range keys {
		numbers[key] = number
	}
	table := typeTable{Kinds: map[string]int{}}
	for _, key := range keys {
		described, err := describe(found[key], numbers)
		if err != nil {
			return nil, err
		}
		table.Types = append(table.Types, described)
	}
	for gvk, goType := range all.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		table.Kinds[gvk.GroupVersion().String()+" "+gvk.Kind] = numbers[typeKey(goType)]
	}
	return table, nil
}

// Two packages may both be called v1, so a key has the whole import path.
func typeKey(t reflect.Type) string {
	switch {
	case t.Name() != "":
		return t.PkgPath() + "." + t.Name()
	case t.Kind() == reflect.Map:
		return "map[" + typeKey(t.Key()) + "]" + typeKey(t.Elem())
	case t.Kind() == reflect.Pointer:
		return "*" + typeKey(t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]" + typeKey(t.Elem())
	}
	return t.String()
}

func collect(t reflect.Type, found map[string]reflect.Type) {
	key := typeKey(t)
	if _, seen := found[key]; seen {
		return
	}
	found[key] = t
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		collect(t.Elem(), found)
	case reflect.Map:
		collect(t.Key(), found)
		collect(t.Elem(), found)
	case reflect.Struct:
		for i := range t.NumField() {
			if field := t.Field(i); recorded(field) {
				collect(field.Type, found)
			}
		}
	}
}

// Fields that neither JSON nor protobuf sees are Go's own business.
func recorded(field reflect.StructField) bool {
	if !field.IsExported() {
		return false
	}
	return field.Tag.Get("json") != "-" || (field.Tag.Get("protobuf") != "" && field.Tag.Get("protobuf") != "-")
}

var (
	marshaler   = reflect.TypeFor[json.Marshaler]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	message     = reflect.TypeFor[interface{ MarshalTo([]byte) (int, error) }]()
)

func describe(t reflect.Type, numbers map[string]int) (goType, error) {
	out := goType{Name: t.String(), Kind: t.Kind().String()}
	pointer := reflect.PointerTo(t)
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		out.Own = pointer.Implements(marshaler) || pointer.Implements(unmarshaler)
	}
	number := func(t reflect.Type) *int { n := numbers[typeKey(t)]; return &n }
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		out.Elem = number(t.Elem())
		out.Message = t.Kind() == reflect.Slice && pointer.Implements(message)
	case reflect.Map:
		out.Key, out.Elem = number(t.Key()), number(t.Elem())
		out.Message = pointer.Implements(message)
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			if !recorded(field) {
				continue
			}
			described, err := describeField(field, numbers)
			if err != nil {
				return out, fmt.Errorf("%s.%s: %w", t, field.Name, err)
			}
			out.Fields = append(out.Fields, described)
		}
	}
	return out, nil
}

func describeField(field reflect.StructField, numbers map[string]int) (goField, error) {
	out := goField{Type: numbers[typeKey(field.Type)], Strategy: field.Tag.Get("patchStrategy"), MergeKey: field.Tag.Get("patchMergeKey")}
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	inline := field.Anonymous && name == ""
	switch {
	case name == "-":
		out.JSON = "-"
	case name != "":
		out.JSON = name
	case !inline:
		out.JSON = field.Name
	}
	if out.JSON != strings.ToLower(field.Name[:1])+field.Name[1:] {
		out.Go = field.Name
	}
	for _, option := range strings.Split(options, ",") {
		switch option {
		case "omitempty":
			out.OmitEmpty = true
		case "omitzero":
			out.OmitZero = true
		case "string":
			return out, fmt.Errorf("the json option string is not supported")
		}
	}
	if tag := field.Tag.Get("protobuf"); tag != "" && tag != "-" {
		parts := strings.Split(tag, ",")
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			return out, err
		}
		out.Number = number
	}
	return out, nil
}
