// Package smd records what upstream's field manager makes of sequences of writes.
//
// Every sequence starts from nothing and is made while it runs, because updates change what earlier
// writes left behind. The clock is the virtual one of testing/synctest, so that times are part of what
// is recorded. See README.md for how to run it.
package smd

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type object = map[string]any

// kind is what a sequence is about.
type kind struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Versions []string `json:"versions"`
	// Definitions and Roots (by version) for built-in kinds.
	Definitions map[string]any    `json:"definitions,omitempty"`
	Roots       map[string]string `json:"roots,omitempty"`
	// Schemas by version for custom resources; null means no schema.
	Schemas map[string]any `json:"schemas,omitempty"`
	// Deduced kinds have no schema anywhere.
	Deduced bool `json:"deduced,omitempty"`

	converter managedfields.TypeConverter
	shape     *spec.Schema
	models    map[string]*spec.Schema
}

type operation struct {
	Operation   string `json:"operation"`
	Manager     string `json:"manager"`
	Version     string `json:"version"`
	Subresource string `json:"subresource,omitempty"`
	Force       bool   `json:"force,omitempty"`
	Time        string `json:"time"`
	Object      object `json:"object"`

	Result   object   `json:"result,omitempty"`
	Fields   []string `json:"fields,omitempty"`
	Conflict string   `json:"conflict,omitempty"`
	Causes   []cause  `json:"causes,omitempty"`
	Bad      string   `json:"bad,omitempty"`
	Failure  string   `json:"failure,omitempty"`
}

type cause struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

type sequence struct {
	Kind       string      `json:"kind"`
	Operations []operation `json:"operations"`
}

// convertor renames versions and nothing else, as custom resources without a webhook do.
type convertor struct{ kind *kind }

func (c convertor) Convert(in, out, context any) error { return errors.New("not used") }
func (c convertor) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("not used")
}
func (c convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, fmt.Errorf("%v is unsuitable for converting to %q", from, target)
	}
	known := false
	for _, version := range c.kind.Versions {
		known = known || version == to.GroupVersion().String()
	}
	if !known && c.kind.Roots != nil {
		return nil, runtime.NewNotRegisteredErrForKind("oracle", to)
	}
	if !known {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to.GroupVersion())
	}
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	out.SetAPIVersion(to.GroupVersion().String())
	return out, nil
}

type creater struct{}

func (creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	out := &unstructured.Unstructured{Object: object{}}
	out.SetGroupVersionKind(gvk)
	return out, nil
}

type defaulter struct{}

func (defaulter) Default(runtime.Object) {}

func (k *kind) manager(version, subresource string) *managedfields.FieldManager {
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	hub, _ := schema.ParseGroupVersion(k.Versions[0])
	reset := "status"
	if subresource == "status" {
		reset = "spec"
	}
	filters := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, version := range k.Versions {
		filters[fieldpath.APIVersion(version)] = fieldpath.NewSet(fieldpath.MakePathOrDie(reset))
	}
	out, err := managedfields.NewDefaultCRDFieldManager(k.converter, convertor{k}, defaulter{}, creater{},
		gv.WithKind(k.Kind), hub, subresource, fieldpath.NewExcludeFilterSetMap(filters))
	if err != nil {
		panic(err)
	}
	return out
}

func clone(in object) object {
	return runtime.DeepCopyJSON(in)
}

func (o *operation) run(k *kind, live *unstructured.Unstructured) *unstructured.Unstructured {
	fm := k.manager(o.Version, o.Subresource)
	given := &unstructured.Unstructured{Object: clone(o.Object)}
	var out runtime.Object
	var err error
	if o.Operation == "apply" {
		out, err = fm.Apply(live.DeepCopy(), given, o.Manager, o.Force)
	} else {
		out, err = fm.Update(live.DeepCopy(), given, o.Manager)
	}
	if err != nil {
		var status *apierrors.StatusError
		switch {
		case errors.As(err, &status) && status.ErrStatus.Reason == metav1.StatusReasonConflict:
			o.Conflict = status.ErrStatus.Message
			for _, c := range status.ErrStatus.Details.Causes {
				o.Causes = append(o.Causes, cause{c.Field, c.Message})
			}
			// Upstream walks managers in no order here.
			sort.SliceStable(o.Causes, func(i, j int) bool { return o.Causes[i].Message < o.Causes[j].Message })
		case errors.As(err, &status):
			o.Bad = status.ErrStatus.Message
		default:
			o.Failure = err.Error()
		}
		return nil
	}
	result := out.(*unstructured.Unstructured)
	result.SetAPIVersion(k.Versions[0])
	for _, entry := range result.GetManagedFields() {
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			panic(err)
		}
		text, err := set.ToJSON()
		if err != nil {
			panic(err)
		}
		o.Fields = append(o.Fields, string(text))
	}
	o.Result = clone(result.Object)
	return result
}

func (k *kind) sequence(r *rand.Rand) sequence {
	g := &generator{Rand: r, kind: k}
	live := &unstructured.Unstructured{Object: object{"apiVersion": k.Versions[0], "kind": k.Kind}}
	configs := map[string]object{}
	managers := []string{"flux", "kubectl", "helm", "ops & <co>"}[:1+r.Intn(4)]
	var out sequence
	out.Kind = k.Name
	created := false
	length := 2 + r.Intn(7)
	if r.Intn(20) == 0 {
		length = 16
	}
	for range length {
		time.Sleep(time.Duration(r.Intn(3)) * time.Second)
		o := operation{
			Operation: "apply",
			Manager:   managers[r.Intn(len(managers))],
			Version:   k.Versions[r.Intn(len(k.Versions))],
			Force:     r.Intn(4) == 0,
			Time:      time.Now().UTC().Format(time.RFC3339),
		}
		if created && r.Intn(5) == 0 {
			o.Subresource = "status"
		}
		if r.Intn(5) < 2 {
			o.Operation, o.Force = "update", false
			if length == 16 {
				o.Manager = "updater-" + strconv.Itoa(r.Intn(16))
			}
			if r.Intn(12) == 0 {
				o.Manager = ""
			}
			o.Object = g.changed(clone(live.Object))
			g.tamper(o.Object)
		} else {
			config, ok := configs[o.Manager]
			switch {
			case !ok || r.Intn(6) == 0:
				config = g.object()
			case r.Intn(4) == 0 && created:
				config = g.borrow(clone(config), live.Object)
			case r.Intn(5) > 0:
				config = g.changed(clone(config))
			}
			configs[o.Manager] = config
			o.Object = clone(config)
			if o.Manager == "kubectl" && r.Intn(3) == 0 {
				g.annotate(o.Object)
			}
			if r.Intn(60) == 0 {
				o.Object["kind"] = "Other"
			}
			if r.Intn(60) == 0 {
				_ = unstructured.SetNestedSlice(o.Object, []any{}, "metadata", "managedFields")
			}
		}
		o.Object["apiVersion"] = o.Version
		result := o.run(k, live)
		if result != nil {
			live = result
			if !created {
				created = true
				live.SetUID("11111111-1111-1111-1111-111111111111")
			}
			if r.Intn(40) == 0 {
				live.SetManagedFields(nil)
				o2 := operation{Operation: "forget", Version: o.Version, Time: o.Time}
				out.Operations = append(out.Operations, o, o2)
				continue
			}
		}
		out.Operations = append(out.Operations, o)
	}
	return out
}

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// TestRecord writes COUNT sequences of each kind, made from SEED, to OUT.
func TestRecord(t *testing.T) {
	path := os.Getenv("OUT")
	if path == "" {
		t.Skip("OUT names the file to record to")
	}
	count, _ := strconv.Atoi(environment("COUNT", "20"))
	seed, _ := strconv.ParseInt(environment("SEED", "1"), 10, 64)
	kinds := loadKinds()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, _ := gzip.NewWriterLevel(file, gzip.BestCompression)
	defer packed.Close()
	write := func(value any) {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write(line.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kinds {
		write(map[string]any{"define": k})
	}
	random := rand.New(rand.NewSource(seed))
	for range count {
		for _, k := range kinds {
			synctest.Test(t, func(t *testing.T) { write(k.sequence(random)) })
		}
	}
}

// customModels are the definitions upstream builds for a CRD, on top of the static ones.
func customModels(k *kind, static map[string]*spec.Schema) map[string]*spec.Schema {
	group := strings.Split(k.Versions[0], "/")[0]
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group = group
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
		Kind: k.Kind, ListKind: k.Kind + "List", Plural: strings.ToLower(k.Kind) + "s", Singular: strings.ToLower(k.Kind),
	}
	for _, version := range k.Versions {
		v := apiextensionsv1.CustomResourceDefinitionVersion{Name: strings.Split(version, "/")[1], Served: true}
		if described := k.Schemas[version]; described != nil {
			text, _ := json.Marshal(described)
			props := &apiextensionsv1.JSONSchemaProps{}
			if err := json.Unmarshal(text, props); err != nil {
				panic(err)
			}
			v.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	specs := []*spec3.OpenAPI{{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "static", Version: "v0"}},
		Components: &spec3.Components{Schemas: static},
	}}
	for _, version := range crd.Spec.Versions {
		built, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			panic(err)
		}
		specs = append(specs, built)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		panic(err)
	}
	return merged.Components.Schemas
}
