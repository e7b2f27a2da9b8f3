// Records the OpenAPI documents inside kyaml as a table of what merging needs: crates/kustomize/data/.
//
//	go run . kubernetes >../../../crates/kustomize/data/openapi-kubernetes-1.21.2.txt
//	go run . kustomize  >../../../crates/kustomize/data/openapi-kustomize-0.21.1.txt
//
// A line of the first part is a schema; its number, counted from zero, is its name in the table:
//
//	definition TAB attribute... TAB field:number ...
//
// An empty line ends the part. A line of the second part is a kind, sorted, with the number of its
// schema and its scope (n in a namespace, c of the cluster), each `-` where it is not known:
//
//	apiVersion TAB kind TAB number TAB scope
//
// References are followed: whatever stands beside a `$ref` is not looked at by kyaml either.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/openapi/kubernetesapi"
	"sigs.k8s.io/kustomize/kyaml/openapi/kustomizationapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type table struct {
	definitions spec.Definitions
	lines       []string
	byName      map[string]int
	byText      map[string]int
}

type kind struct{ schema, scope string }

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: kubernetes | kustomize")
	}
	var swagger spec.Swagger
	switch os.Args[1] {
	case "kubernetes":
		version := kubernetesapi.DefaultOpenAPI
		asset := "kubernetesapi/" + strings.ReplaceAll(version, ".", "_") + "/swagger.pb"
		document := &openapi_v2.Document{}
		check(proto.Unmarshal(kubernetesapi.OpenAPIMustAsset[version](asset), document))
		_, err := swagger.FromGnostic(document)
		check(err)
	case "kustomize":
		check(swagger.UnmarshalJSON(kustomizationapi.MustAsset("kustomizationapi/swagger.json")))
	default:
		log.Fatal("usage: kubernetes | kustomize")
	}
	t := &table{definitions: swagger.Definitions, byName: map[string]int{}, byText: map[string]int{}}
	names := make([]string, 0, len(t.definitions))
	for name := range t.definitions {
		names = append(names, name)
	}
	sort.Strings(names)
	// Definitions come first, so that a reference to a later one has its number already.
	for number, name := range names {
		t.byName[name] = number
		t.lines = append(t.lines, "")
	}
	kinds := map[yaml.TypeMeta]*kind{}
	for number, name := range names {
		definition := t.definitions[name]
		t.lines[number] = name + t.describe(definition)
		for _, meta := range metas(definition.Extensions["x-kubernetes-group-version-kind"]) {
			if before := kinds[meta]; before != nil {
				log.Fatalf("%v is both %s and %s", meta, before.schema, name)
			}
			kinds[meta] = &kind{schema: fmt.Sprint(number), scope: "-"}
		}
	}
	scopes(swagger.Paths, kinds)
	out := bufio.NewWriter(os.Stdout)
	for _, line := range t.lines {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	var lines []string
	for meta, is := range kinds {
		lines = append(lines, strings.Join([]string{meta.APIVersion, meta.Kind, is.schema, is.scope}, "\t"))
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	check(out.Flush())
}

// describe gives the attributes and the fields of a schema.
func (t *table) describe(schema spec.Schema) string {
	var attributes, fields []string
	if len(schema.Type) == 1 && schema.Type[0] == "array" && schema.Items != nil && schema.Items.Schema != nil {
		attributes = append(attributes, fmt.Sprintf("items=%d", t.number(*schema.Items.Schema)))
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		attributes = append(attributes, fmt.Sprintf("values=%d", t.number(*schema.AdditionalProperties.Schema)))
	}
	rule := &openapi.ResourceSchema{Schema: &schema}
	if strategy, keys := rule.PatchStrategyAndKeyList(); strategy != "" {
		attributes = append(attributes, "strategy="+strategy)
		if len(keys) > 0 {
			attributes = append(attributes, "keys="+strings.Join(keys, ","))
		}
	}
	for name := range schema.Properties {
		if strings.ContainsAny(name, " :\t\n") {
			log.Fatalf("the field %q does not fit the format", name)
		}
		fields = append(fields, name)
	}
	sort.Strings(fields)
	for i, name := range fields {
		fields[i] = fmt.Sprintf("%s:%d", name, t.number(schema.Properties[name]))
	}
	return "\t" + strings.Join(attributes, " ") + "\t" + strings.Join(fields, " ")
}

// number finds the line of a schema, or adds it.
func (t *table) number(schema spec.Schema) int {
	if ref := schema.Ref.String(); ref != "" {
		number, found := t.byName[strings.TrimPrefix(ref, "#/definitions/")]
		if !found {
			log.Fatalf("no definition for %s", ref)
		}
		if target := t.definitions[strings.TrimPrefix(ref, "#/definitions/")]; target.Ref.String() != "" {
			return t.number(target)
		}
		return number
	}
	text := t.describe(schema)
	number, found := t.byText[text]
	if !found {
		number = len(t.lines)
		t.byText[text] = number
		t.lines = append(t.lines, text)
	}
	return number
}

// scopes reads from the paths which kinds live in namespaces, and checks what kyaml says about them.
func scopes(paths *spec.Paths, kinds map[yaml.TypeMeta]*kind) {
	if paths == nil {
		return
	}
	for path, item := range paths.Paths {
		if item.Get == nil {
			continue
		}
		for _, meta := range metas(item.Get.Extensions["x-kubernetes-group-version-kind"]) {
			if kinds[meta] == nil {
				kinds[meta] = &kind{schema: "-", scope: "-"}
			}
			if strings.Contains(path, "namespaces/{namespace}") {
				kinds[meta].scope = "n"
			} else if kinds[meta].scope == "-" {
				kinds[meta].scope = "c"
			}
		}
	}
	for meta, is := range kinds {
		namespaced, found := openapi.IsNamespaceScoped(meta)
		if found != (is.scope != "-") || namespaced != (is.scope == "n") {
			log.Fatalf("the scope of %v is %s in the paths, but %v, %v in kyaml", meta, is.scope, namespaced, found)
		}
	}
}

func metas(extension any) []yaml.TypeMeta {
	var all []yaml.TypeMeta
	switch extension := extension.(type) {
	case []any:
		for _, one := range extension {
			all = append(all, metas(one)...)
		}
	case map[string]any:
		version := extension["version"].(string)
		if group, _ := extension["group"].(string); group != "" {
			version = group + "/" + version
		}
		all = append(all, yaml.TypeMeta{APIVersion: version, Kind: extension["kind"].(string)})
	}
	return all
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
