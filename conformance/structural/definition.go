package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

var scheme = func() *runtime.Scheme {
	out := runtime.NewScheme()
	install.Install(out)
	return out
}()

// definition decodes and defaults as the server does, and converts to the internal type.
func definition(raw json.RawMessage) *apiextensions.CustomResourceDefinition {
	var external apiextensionsv1.CustomResourceDefinition
	if err := utiljson.Unmarshal(raw, &external); err != nil {
		panic(fmt.Sprintf("%v in %s", err, raw))
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&external)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&external, &internal, nil); err != nil {
		panic(err)
	}
	return &internal
}

func external(internal *apiextensions.CustomResourceDefinition) interface{} {
	var out apiextensionsv1.CustomResourceDefinition
	if err := scheme.Convert(internal, &out, nil); err != nil {
		panic(err)
	}
	return value(raw(out))
}

func askDefinition(q question) (a answer) {
	ctx := context.Background()
	strategy := customresourcedefinition.NewStrategy(scheme)
	object := definition(q.Definition)
	if q.OldDefinition == nil {
		strategy.PrepareForCreate(ctx, object)
		a.Defaulted = external(object)
		a.Invalid = texts(crdvalidation.ValidateCustomResourceDefinition(ctx, object))
		a.Unknown = strategy.WarningsOnCreate(ctx, object)
		return a
	}
	old := definition(q.OldDefinition)
	strategy.PrepareForUpdate(ctx, object, old)
	a.Defaulted = external(object)
	a.Invalid = texts(crdvalidation.ValidateCustomResourceDefinitionUpdate(ctx, object, old))
	a.Unknown = strategy.WarningsOnUpdate(ctx, object, old)
	return a
}
