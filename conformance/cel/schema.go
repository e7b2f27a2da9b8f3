package main

import (
	"context"
	"fmt"
	"math"
	"regexp"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

// warnings collects what a ratcheted rule says.
type warnings struct{ texts []string }

func (w *warnings) AddWarning(_, text string) { w.texts = append(w.texts, text) }

func line(e *field.Error) string {
	return fmt.Sprintf("%s | %s | %s", e.Type, e.Field, e.ErrorBody())
}

// validate runs the rules of a schema on an object and its predecessor.
func validate(q question) answer {
	s, _, err := structuralOf(q.Schema)
	if err != nil {
		return answer{Error: "schema: " + err.Error()}
	}
	limit := uint64(celconfig.PerCallLimit)
	if q.Limit != 0 {
		limit = q.Limit
	}
	validator := schemacel.NewValidator(s, q.Root, limit)
	if validator == nil {
		return answer{}
	}
	collected := &warnings{}
	ctx := warning.WithWarningRecorder(context.Background(), collected)
	var options []schemacel.Option
	if q.OldSelf != nil {
		options = append(options, schemacel.WithRatcheting(common.NewCorrelatedObject(q.Self, q.OldSelf, &model.Structural{Structural: s})))
	}
	errs, remaining := validator.Validate(ctx, nil, s, q.Self, q.OldSelf, int64(math.MaxInt64), options...)
	a := answer{Warnings: collected.texts}
	if remaining >= 0 {
		cost := uint64(math.MaxInt64 - remaining)
		a.Cost = &cost
	}
	for _, e := range errs {
		a.Errors = append(a.Errors, line(e))
	}
	return a
}

// pointer is the address of a field that is set.
var pointer = regexp.MustCompile(`\(0x[0-9a-f]+\)`)

// create asks what a definition with this schema is refused for, as far as its rules go.
func create(q question) answer {
	_, props, err := structuralOf(q.Schema)
	if err != nil {
		return answer{Error: "schema: " + err.Error()}
	}
	preserve := false
	crd := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group:                 "example.com",
			Scope:                 apiextensions.NamespaceScoped,
			Names:                 apiextensions.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
			Validation:            &apiextensions.CustomResourceValidation{OpenAPIV3Schema: props},
			Versions:              []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
			PreserveUnknownFields: &preserve,
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	a := answer{}
	for _, e := range validation.ValidateCustomResourceDefinition(context.Background(), crd) {
		a.Errors = append(a.Errors, fmt.Sprintf("%s | %s", e.Field, pointer.ReplaceAllString(e.ErrorBody(), "(0xc000000000)")))
	}
	return a
}
