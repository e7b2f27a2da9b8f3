package main

import (
	"fmt"
	"math/rand"
	"reflect"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// generator writes JSON texts for Go types: mostly fitting ones, with everything that is legal but odd, and with
// faults at the given rates (per thousand).
type generator struct {
	random                           *rand.Rand
	wrong, unknown, duplicate, nulls int
	// How likely an optional field is written, per hundred.
	fill int
	// Free-form fields hold objects and nothing else.
	rawObjects bool
}

func (g *generator) one(per, of int) bool { return g.random.Intn(of) < per }

func (g *generator) pick(list ...string) string { return list[g.random.Intn(len(list))] }

var words = []string{"", "a", "web", "nginx:1.27", "kube-system", "Grüße", "a<b>&c", "line\nbreak", "\"quoted\"", "\u2028", "0", "true", "x y", "日本"}

func (g *generator) text() string { return strconv.Quote(words[g.random.Intn(len(words))]) }

// jsonText is a text as JSON; Go's own quoting differs for control characters.
func (g *generator) jsonText() string {
	if g.one(1, 30) {
		return g.pick(`"\ud83d\ude00"`, `"\ud800x"`, `"\u0000"`, `"\/"`, `"\u00e9\t"`)
	}
	return g.text()
}

func (g *generator) anything(depth int) string {
	switch g.random.Intn(9) {
	case 0:
		return "null"
	case 1:
		return g.pick("true", "false")
	case 2:
		return g.pick("0", "-7", "12345678901", "1.5", "0.25", "9223372036854775807")
	case 3, 4:
		return g.text()
	case 5, 6:
		if depth > 2 {
			return "[]"
		}
		items := []string{}
		for range g.random.Intn(3) {
			items = append(items, g.anything(depth+1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	if depth > 2 {
		return "{}"
	}
	members := []string{}
	for i := range g.random.Intn(3) {
		members = append(members, fmt.Sprintf("\"k%d\":%s", i, g.anything(depth+1)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[metav1.Time]()
	microType    = reflect.TypeFor[metav1.MicroTime]()
	intOrString  = reflect.TypeFor[intstr.IntOrString]()
	rawType      = reflect.TypeFor[runtime.RawExtension]()
	fieldsType   = reflect.TypeFor[metav1.FieldsV1]()
	jsonType     = reflect.TypeFor[apiextensionsv1.JSON]()
	propsType    = reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()
	orArray      = reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]()
	orBool       = reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]()
	orTexts      = reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]()
)

func (g *generator) value(t reflect.Type, depth int) string {
	if g.one(g.wrong, 1000) {
		return g.anything(0)
	}
	if g.one(g.nulls, 1000) {
		return "null"
	}
	switch t {
	case quantityType:
		return g.pick(`"1"`, `"100m"`, `"1000m"`, `"1024Mi"`, `"1Gi"`, `"0.5"`, `"1e3"`, `"1.5Gi"`, `"0"`, `"-1"`, `" 2 "`, `"0.0001"`, `"1536Ki"`, `3`, `0.25`, `"5n"`, `"12E"`)
	case timeType:
		return g.pick(`"2024-05-06T07:08:09Z"`, `"2024-05-06T07:08:09.123Z"`, `"2024-05-06T07:08:09+02:00"`, `"0001-01-01T00:00:00Z"`, `"1969-12-31T23:59:59Z"`)
	case microType:
		return g.pick(`"2024-05-06T07:08:09.123456Z"`, `"2024-05-06T07:08:09.000000+02:00"`, `"1969-12-31T23:59:59.000001Z"`)
	case intOrString:
		return g.pick(`80`, `0`, `-1`, `"http"`, `"25%"`, `""`)
	case rawType, fieldsType:
		if g.rawObjects {
			return g.pick(`{"a":1}`, `{"f:metadata":{"f:labels":{}}}`, `{}`)
		}
		return g.anything(0)
	case jsonType:
		return g.anything(0)
	case orArray:
		if depth > 4 || g.one(1, 2) {
			return g.pick(`{"type":"string"}`, `[{"type":"string"},{"type":"integer"}]`, `[]`, `{}`)
		}
		return g.value(propsType, depth+1)
	case orBool:
		return g.pick(`true`, `false`, `{"type":"string"}`, `{}`)
	case orTexts:
		return g.pick(`["a","b"]`, `[]`, `{"type":"string"}`)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.value(t.Elem(), depth)
	case reflect.Bool:
		return g.pick("true", "false")
	case reflect.Int32:
		return g.pick("0", "1", "3", "-1", "2147483647", "-2147483648", "8080")
	case reflect.Int, reflect.Int64:
		return g.pick("0", "1", "30", "-1", "9223372036854775807", "12345678901")
	case reflect.Float64:
		return g.pick("0", "1", "1.5", "-0.25", "100", "1e3", "0.1")
	case reflect.String:
		return g.jsonText()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return g.pick(`""`, `"aGk="`, `"aGVsbG8="`, `"AAECAw=="`, `"aGVs\nbG8="`)
		}
		items := []string{}
		if depth < 9 {
			for range g.random.Intn(3) {
				items = append(items, g.value(t.Elem(), depth+1))
			}
		}
		return "[" + strings.Join(items, ",") + "]"
	case reflect.Map:
		members := []string{}
		for i := range g.random.Intn(3) {
			key := g.pick("cpu", "memory", "app.kubernetes.io/name", "k", "K") + strconv.Itoa(i)
			members = append(members, strconv.Quote(key)+":"+g.value(t.Elem(), depth+1))
			if g.one(g.duplicate, 1000) {
				members = append(members, strconv.Quote(key)+":"+g.value(t.Elem(), depth+1))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	case reflect.Struct:
		members := []string{}
		g.members(t, depth, &members)
		g.random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, ",") + "}"
	}
	return "null"
}

func (g *generator) members(t reflect.Type, depth int, members *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if field.Anonymous && name == "" {
			if field.Name != "TypeMeta" {
				g.members(field.Type, depth, members)
			}
			continue
		}
		if name == "" {
			name = field.Name
		}
		fill := g.fill
		if depth > 2 {
			fill /= 2
		}
		if depth > 6 {
			fill = 3
		}
		if depth == 0 {
			fill = 90
		}
		if !g.one(fill, 100) {
			continue
		}
		written := name
		if g.one(g.unknown, 1000) {
			written = g.pick(strings.ToUpper(name), "unknown", name+"s")
		}
		*members = append(*members, strconv.Quote(written)+":"+g.value(field.Type, depth+1))
		// Two different values merge in Go, so a duplicate repeats a scalar.
		if g.one(g.duplicate, 1000) && scalar(field.Type) {
			*members = append(*members, strconv.Quote(written)+":"+g.value(field.Type, depth+1))
		}
	}
	if g.one(g.unknown, 1000) {
		*members = append(*members, `"bogus":`+g.anything(0))
	}
}

func scalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return scalar(t.Elem())
	case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

// object is the text of one object of the kind, with its apiVersion and kind.
func (g *generator) object(apiVersion, kind string, t reflect.Type) string {
	members := []string{fmt.Sprintf("\"apiVersion\":%q,\"kind\":%q", apiVersion, kind)}
	g.members(t, 0, &members)
	return "{" + strings.Join(members, ",") + "}"
}
