package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

type patchCase struct {
	APIVersion string          `json:"apiVersion,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	Original   json.RawMessage `json:"original"`
	Patch      json.RawMessage `json:"patch"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Code       int             `json:"code,omitempty"`
}

func recordPatches() (any, error) {
	strategic, err := strategicCases(rand.New(rand.NewSource(3)), 1800)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"oracle":    "k8s.io/apimachinery v0.35.4, gopkg.in/evanphx/json-patch.v4 v4.13.0",
		"strategic": strategic,
		"json":      jsonPatchCases(rand.New(rand.NewSource(4)), 1600),
		"merge":     mergePatchCases(rand.New(rand.NewSource(5)), 800),
	}, nil
}

// The kinds with the most lists that merge.
var patched = []struct {
	apiVersion, kind string
	object           any
}{
	{"v1", "Pod", corev1.Pod{}},
	{"apps/v1", "Deployment", appsv1.Deployment{}},
	{"v1", "Service", corev1.Service{}},
	{"v1", "ServiceAccount", corev1.ServiceAccount{}},
	{"v1", "Node", corev1.Node{}},
	{"batch/v1", "Job", batchv1.Job{}},
	{"apps/v1", "StatefulSet", appsv1.StatefulSet{}},
	{"networking.k8s.io/v1", "Ingress", networkingv1.Ingress{}},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", rbacv1.ClusterRole{}},
}

func strategicCases(random *rand.Rand, count int) ([]patchCase, error) {
	cases := []patchCase{}
	for round := 0; len(cases) < count; round++ {
		subject := patched[round%len(patched)]
		goType := reflect.TypeOf(subject.object)
		g := &patcher{generator{random: random, fill: 20 + random.Intn(30), rawObjects: true}}
		original, err := g.unstructured(goType)
		if err != nil {
			return nil, err
		}
		var patch map[string]any
		if round%3 == 0 {
			// What a client would send to get from one object to the other.
			modified := g.change(goType, runtime.DeepCopyJSONValue(original)).(map[string]any)
			before, _ := json.Marshal(original)
			after, _ := json.Marshal(modified)
			made, err := strategicpatch.CreateTwoWayMergePatch(before, after, subject.object)
			if err != nil {
				continue
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(made, &patch); err != nil {
				return nil, err
			}
		} else {
			patch = g.patch(goType, original, 0)
		}
		one, same := strategicCase(subject.apiVersion, subject.kind, original, patch, subject.object)
		if same && len(one.Original)+len(one.Patch) < 2000 {
			cases = append(cases, one)
		}
	}
	return cases, nil
}

// strategicCase applies the patch several times, because Go's maps have no order; what differs is no golden.
func strategicCase(apiVersion, kind string, original, patch map[string]any, object any) (patchCase, bool) {
	one := patchCase{APIVersion: apiVersion, Kind: kind}
	one.Original, _ = json.Marshal(original)
	one.Patch, _ = json.Marshal(patch)
	for attempt := range 24 {
		result, failure := applyStrategic(original, patch, object)
		again := one
		if failure != nil {
			again.Error, again.Result, again.Code = failure.Error(), nil, 500
			switch failure {
			case mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList:
				again.Code = 400
			case mergepatch.ErrNoListOfLists:
				again.Code = 422
			}
			if strings.HasPrefix(again.Error, "panic") {
				return one, false
			}
		} else {
			again.Result, _ = json.Marshal(result)
		}
		if attempt > 0 && !reflect.DeepEqual(one, again) {
			return one, false
		}
		one = again
	}
	return one, true
}

func applyStrategic(original, patch map[string]any, object any) (result map[string]any, err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("panic: %v", trouble)
		}
	}()
	// The copies have arrays of exactly their length, like the objects of the API server.
	return strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(original), runtime.DeepCopyJSON(patch), object)
}

type patcher struct{ generator }

var fewWords = []string{"a", "b", "c", "web", "d"}

func (g *patcher) unstructured(t reflect.Type) (map[string]any, error) {
	object := reflect.New(t).Interface()
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(g.value(t, 0)), object); err != nil {
		return nil, err
	}
	g.rename(reflect.ValueOf(object).Elem())
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

// rename gives strings few values, so that items of two lists meet.
func (g *patcher) rename(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			g.rename(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				g.rename(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			g.rename(v.Index(i))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(g.pick(fewWords...))
		}
	case reflect.Int32:
		if v.CanSet() {
			v.SetInt(int64(80 + g.random.Intn(3)))
		}
	}
}

// change modifies an object without breaking its type.
func (g *patcher) change(t reflect.Type, value any) any {
	if t.Kind() == reflect.Pointer {
		return g.change(t.Elem(), value)
	}
	switch typed := value.(type) {
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return typed
		}
		for _, key := range sortedKeys(typed) {
			member := typed[key]
			field, found := fieldNamed(t, key)
			switch {
			case !found || g.one(1, 8):
				delete(typed, key)
			default:
				typed[key] = g.change(field.Type, member)
			}
		}
		return typed
	case []any:
		if t.Kind() != reflect.Slice {
			return typed
		}
		if g.one(1, 4) {
			g.random.Shuffle(len(typed), func(i, j int) { typed[i], typed[j] = typed[j], typed[i] })
		}
		kept := []any{}
		for _, item := range typed {
			if !g.one(1, 4) {
				kept = append(kept, g.change(t.Elem(), item))
			}
		}
		if g.one(1, 2) {
			if more := g.item(t.Elem()); more != nil {
				kept = append(kept, more)
			}
		}
		return kept
	case string:
		if g.one(1, 4) && t.Kind() == reflect.String {
			return g.pick(fewWords...)
		}
	}
	return value
}

// item is a new item of a list, as ToUnstructured would give it.
func (g *patcher) item(t reflect.Type) any {
	if t.Kind() == reflect.String {
		return g.pick(fewWords...)
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	made, err := g.unstructured(t)
	if err != nil {
		return nil
	}
	return made
}

// sortedKeys makes a recording repeatable.
func sortedKeys(members map[string]any) []string {
	return slices.Sorted(maps.Keys(members))
}

func fieldNamed(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			if inner, found := fieldNamed(field.Type, key); found {
				return inner, true
			}
			continue
		}
		if name == key {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

func structFields(t reflect.Type) []reflect.StructField {
	fields := []reflect.StructField{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			fields = append(fields, structFields(field.Type)...)
		case field.IsExported() && name != "-" && name != "":
			fields = append(fields, field)
		}
	}
	return fields
}

// patch writes a patch by hand: fields of the original and new ones, with every directive there is.
func (g *patcher) patch(t reflect.Type, original map[string]any, depth int) map[string]any {
	out := map[string]any{}
	for _, field := range structFields(t) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		present, found := original[key]
		if found && !g.one(2, 3) || !found && !g.one(1, 25) {
			continue
		}
		if g.one(1, 14) {
			out[key] = nil
			continue
		}
		fieldType := field.Type
		if fieldType.Kind() == reflect.Pointer {
			fieldType = fieldType.Elem()
		}
		switch inner := present.(type) {
		case map[string]any:
			if fieldType.Kind() == reflect.Struct {
				out[key] = g.patch(fieldType, inner, depth+1)
			} else {
				out[key] = map[string]any{g.pick(fewWords...): g.pick(fewWords...), "cpu0": nil}
			}
		case []any:
			g.patchList(out, key, field, inner)
		default:
			if value, err := g.fresh(fieldType); err == nil && value != nil {
				out[key] = value
			}
		}
	}
	switch {
	case depth > 0 && g.one(1, 40):
		out["$patch"] = g.pick("replace", "delete", "merge", "bogus")
	case g.one(1, 30):
		keys := []any{}
		for _, key := range sortedKeys(out) {
			if out[key] != nil && !strings.HasPrefix(key, "$") && !g.one(1, 20) {
				keys = append(keys, key)
			}
		}
		for _, key := range sortedKeys(original) {
			if g.one(1, 3) {
				keys = append(keys, key)
			}
		}
		out["$retainKeys"] = keys
	}
	return out
}

func (g *patcher) fresh(t reflect.Type) (any, error) {
	var value any
	err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(g.value(t, 6)), &value)
	return value, err
}

func (g *patcher) patchList(out map[string]any, key string, field reflect.StructField, present []any) {
	mergeKey := field.Tag.Get("patchMergeKey")
	elem := field.Type
	for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
		elem = elem.Elem()
	}
	items := []any{}
	for _, item := range present {
		object, isObject := item.(map[string]any)
		switch {
		case g.one(1, 3):
		case isObject && elem.Kind() == reflect.Struct:
			changed := g.patch(elem, object, 1)
			if mergeKey != "" && !g.one(1, 30) {
				changed[mergeKey] = object[mergeKey]
			}
			if g.one(1, 6) {
				changed["$patch"] = g.pick("delete", "delete", "delete", "replace", "merge", "odd")
			}
			items = append(items, changed)
		default:
			items = append(items, item)
		}
	}
	for range g.random.Intn(3) {
		if made := g.item(elem); made != nil {
			items = append(items, made)
		}
	}
	if g.one(1, 3) {
		g.random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	if g.one(1, 25) {
		items = append(items, map[string]any{"$patch": "replace"})
	}
	if g.one(1, 60) {
		items = append(items, int64(5))
	}
	if !g.one(1, 12) {
		out[key] = items
	}
	if elem.Kind() == reflect.String && g.one(1, 3) {
		// Beside the list itself only with an order: else Go's maps decide which comes first.
		out["$deleteFromPrimitiveList/"+key] = []any{g.pick(fewWords...), g.pick(fewWords...)}
		if g.one(1, 2) {
			out["$setElementOrder/"+key] = g.orderOf(items, present, mergeKey)
		} else {
			delete(out, key)
		}
	} else if g.one(1, 3) {
		out["$setElementOrder/"+key] = g.orderOf(items, present, mergeKey)
	}
	if g.one(1, 80) {
		out["$setElementOrder"+key] = []any{}
	}
}

// orderOf lists the patch's items in their order with items of the live list between them.
func (g *patcher) orderOf(items, present []any, mergeKey string) []any {
	order := []any{}
	only := func(item any) any {
		if object, ok := item.(map[string]any); ok && mergeKey != "" {
			return map[string]any{mergeKey: object[mergeKey]}
		}
		return item
	}
	for _, item := range items {
		if g.one(1, 2) && len(present) > 0 {
			order = append(order, only(present[g.random.Intn(len(present))]))
		}
		if object, ok := item.(map[string]any); ok && object["$patch"] != nil {
			continue
		}
		if !g.one(1, 30) {
			order = append(order, only(item))
		}
	}
	return order
}

func (g *patcher) document(depth int) any {
	switch g.random.Intn(7) {
	case 0:
		return nil
	case 1:
		return g.pick(fewWords...)
	case 2:
		return int64(g.random.Intn(3))
	case 3, 4:
		if depth > 3 {
			return true
		}
		items := []any{}
		for range g.random.Intn(4) {
			items = append(items, g.document(depth+1))
		}
		return items
	}
	if depth > 3 {
		return 1.5
	}
	return g.object(depth)
}

func (g *patcher) object(depth int) map[string]any {
	members := map[string]any{}
	for range 1 + g.random.Intn(4) {
		members[g.pick("a", "b", "c", "d/e", "f~g", "0")] = g.document(depth + 1)
	}
	return members
}

// path is one that leads somewhere, most often.
func (g *patcher) path(value any) string {
	path := ""
	for {
		if path != "" && g.one(1, 4) {
			return path
		}
		switch typed := value.(type) {
		case map[string]any:
			keys := []string{}
			for _, key := range []string{"a", "b", "c", "d/e", "f~g", "0"} {
				if _, found := typed[key]; found {
					keys = append(keys, key)
				}
			}
			if len(keys) == 0 || g.one(1, 8) {
				return path + "/" + g.pick("a", "new", "", "0", "~1x")
			}
			key := g.pick(keys...)
			path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			value = typed[key]
		case []any:
			if len(typed) == 0 || g.one(1, 5) {
				return path + "/" + g.pick("-", "0", "1", "7", "-1", "-9", "x", "01", "99999999999999999999")
			}
			index := g.random.Intn(len(typed))
			path += fmt.Sprintf("/%d", index)
			value = typed[index]
		default:
			if g.one(1, 10) {
				return path + "/z"
			}
			return path
		}
	}
}

func jsonPatchCases(random *rand.Rand, count int) []patchCase {
	g := &patcher{generator{random: random}}
	cases := []patchCase{}
	for range count {
		document := g.object(0)
		operations := []any{}
		for range 1 + g.random.Intn(3) {
			operation := map[string]any{"op": g.pick("add", "remove", "replace", "move", "test", "copy"), "path": g.path(document)}
			if g.one(1, 40) {
				operation["path"] = g.pick("", "a", "a/b", "/")
			}
			switch operation["op"] {
			case "add", "replace", "test":
				operation["value"] = g.document(2)
				if operation["op"] == "test" && g.one(1, 2) {
					operation["value"] = lookup(document, operation["path"].(string))
				}
			case "move", "copy":
				operation["from"] = g.path(document)
			}
			if g.one(1, 40) {
				delete(operation, g.pick("op", "path", "from"))
			}
			if g.one(1, 60) {
				operation[g.pick("op", "path", "from")] = g.document(3)
			}
			operations = append(operations, operation)
		}
		var patch any = operations
		if g.one(1, 60) {
			patch = g.document(0)
		}
		one := patchCase{}
		one.Original, _ = json.Marshal(document)
		one.Patch, _ = json.Marshal(patch)
		if failed := applyJSONPatch(&one); !failed {
			cases = append(cases, one)
		}
	}
	return cases
}

func lookup(value any, path string) any {
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch typed := value.(type) {
		case map[string]any:
			value = typed[step]
		case []any:
			var index int
			if _, err := fmt.Sscanf(step, "%d", &index); err != nil || index < 0 || index >= len(typed) {
				return nil
			}
			value = typed[index]
		}
	}
	return value
}

func applyJSONPatch(one *patchCase) (crashed bool) {
	defer func() {
		if recover() != nil {
			crashed = true
		}
	}()
	jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024
	patch, err := jsonpatch.DecodePatch(one.Patch)
	if err != nil {
		one.Error, one.Code = err.Error(), 400
		return false
	}
	result, err := patch.Apply(one.Original)
	if err != nil {
		one.Error, one.Code = err.Error(), 422
		return false
	}
	one.Result = result
	return false
}

func mergePatchCases(random *rand.Rand, count int) []patchCase {
	g := &patcher{generator{random: random}}
	cases := []patchCase{}
	for range count {
		one := patchCase{}
		one.Original, _ = json.Marshal(g.object(0))
		if g.one(1, 30) {
			one.Patch, _ = json.Marshal(g.document(0))
		} else {
			one.Patch, _ = json.Marshal(g.object(0))
		}
		result, err := jsonpatch.MergePatch(one.Original, one.Patch)
		switch {
		case errors.Is(err, jsonpatch.ErrBadJSONPatch):
			one.Error, one.Code = err.Error(), 400
		case err != nil:
			one.Error, one.Code = err.Error(), 500
		default:
			one.Result = result
		}
		cases = append(cases, one)
	}
	return cases
}
