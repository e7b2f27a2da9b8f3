// Command structural answers, for lines of JSON, what apiextensions-apiserver does with a schema and
// an object. Each output line holds the question and the answer: they are the goldens of
// crates/schema/tests/structural.rs.
//
//	go run . <cases.jsonl                     answers the questions on standard input
//	go run . -generate 500 -seed 1            makes questions up
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

type question struct {
	Schema  json.RawMessage `json:"schema,omitempty"`
	Object  json.RawMessage `json:"object,omitempty"`
	Old     json.RawMessage `json:"old,omitempty"`
	Format  string          `json:"format,omitempty"`
	Pattern string          `json:"pattern,omitempty"`
	Text    string          `json:"text,omitempty"`
	// A definition, and what it is to replace.
	Definition    json.RawMessage `json:"definition,omitempty"`
	OldDefinition json.RawMessage `json:"oldDefinition,omitempty"`
}

type answer struct {
	// Of formats and patterns.
	Match *bool  `json:"match,omitempty"`
	Error string `json:"error,omitempty"`
	// Of schemas.
	Structural []string `json:"structural,omitempty"`
	Defaults   []string `json:"defaults,omitempty"`
	// Of objects, step by step.
	Unknown   []string    `json:"unknown,omitempty"`
	Decoded   interface{} `json:"decoded,omitempty"`
	DecodeErr string      `json:"decodeError,omitempty"`
	Dropped   interface{} `json:"dropped,omitempty"`
	Defaulted interface{} `json:"defaulted,omitempty"`
	Invalid   []string    `json:"invalid,omitempty"`
	Meta      []string    `json:"meta,omitempty"`
	Lists     []string    `json:"lists,omitempty"`
	Update    []string    `json:"update,omitempty"`
}

type record struct {
	Question question `json:"question"`
	Answer   answer   `json:"answer"`
}

func texts(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Error())
	}
	sort.Strings(out)
	return out
}

func value(raw json.RawMessage) interface{} {
	var out interface{}
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// decode is the order of the custom resource handler's unstructuredSchemaCoercer.
func decode(object interface{}, s *structural.Structural, drop bool) (interface{}, []string, error) {
	fields, ok := object.(map[string]interface{})
	if !ok {
		return object, nil, nil
	}
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(fields, objectmeta.ObjectMetaOptions{DropMalformedFields: drop, ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, nil, err
	}
	unknown = append(unknown, pruning.PruneWithOptions(fields, s, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(fields, s)
	ferr, paths := objectmeta.CoerceWithOptions(nil, fields, s, false, objectmeta.CoerceOptions{DropInvalidFields: drop, ReturnUnknownFieldPaths: true})
	if ferr != nil {
		return nil, nil, ferr
	}
	unknown = append(unknown, paths...)
	if found {
		if err := objectmeta.SetObjectMeta(fields, meta); err != nil {
			return nil, nil, err
		}
	}
	sort.Strings(unknown)
	return fields, unknown, nil
}

func ask(q question) (a answer) {
	switch {
	case q.Format != "":
		ok := strfmt.Default.Validates(q.Format, q.Text)
		a.Match = &ok
		return a
	case q.Definition != nil:
		return askDefinition(q)
	case q.Pattern != "":
		re, err := regexp.Compile(q.Pattern)
		if err != nil {
			a.Error = err.Error()
			return a
		}
		ok := re.MatchString(q.Text)
		a.Match = &ok
		return a
	}
	var external apiextensionsv1.JSONSchemaProps
	if err := utiljson.Unmarshal(q.Schema, &external); err != nil {
		panic(fmt.Sprintf("%v in %s", err, q.Schema))
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &props, nil); err != nil {
		panic(err)
	}
	s, err := structural.NewStructural(&props)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	root := field.NewPath("openAPIV3Schema")
	a.Structural = texts(structural.ValidateStructural(root, s))
	if len(a.Structural) > 0 {
		return a
	}
	errs, err := defaulting.ValidateDefaults(context.Background(), root, s.DeepCopy(), true, true)
	if err != nil {
		a.Defaults = []string{err.Error()}
	} else {
		a.Defaults = texts(errs)
	}
	if q.Object == nil {
		return a
	}
	object, unknown, err := decode(value(q.Object), s, false)
	if dropped, _, err := decode(value(q.Object), s, true); err == nil {
		a.Dropped = dropped
	}
	if err != nil {
		a.DecodeErr = err.Error()
		return a
	}
	a.Unknown = unknown
	a.Decoded = runtime.DeepCopyJSONValue(object)
	defaulting.Default(object, s)
	a.Defaulted = object
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		panic(err)
	}
	a.Invalid = texts(validation.ValidateCustomResource(nil, object, validator))
	a.Meta = texts(objectmeta.Validate(nil, object, s, false))
	if fields, ok := object.(map[string]interface{}); ok {
		a.Lists = texts(listtype.ValidateListSetsAndMaps(nil, s, fields))
	}
	if q.Old != nil {
		old, _, err := decode(value(q.Old), s, true)
		if err != nil {
			panic(err)
		}
		defaulting.Default(old, s)
		a.Update = texts(validation.ValidateCustomResourceUpdate(nil, object, old, validator, validation.WithRatcheting(nil)))
	}
	return a
}

func main() {
	count := flag.Int("generate", 0, "how many questions to make up")
	seed := flag.Int64("seed", 1, "where chance starts")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if *count > 0 {
		g := newGenerator(*seed)
		for i := 0; i < *count; i++ {
			q := g.question()
			if err := encoder.Encode(record{q, ask(q)}); err != nil {
				panic(err)
			}
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			panic(fmt.Sprintf("%v: %s", err, lines.Text()))
		}
		if err := encoder.Encode(record{q, ask(q)}); err != nil {
			panic(err)
		}
	}
}
