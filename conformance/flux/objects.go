package main

import (
	"context"
	"encoding/json"
	"math/rand"
	"strings"

	"github.com/fluxcd/pkg/kustomize"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
)

// One object, with its variables replaced.
type replacement struct {
	Object json.RawMessage `json:"object"`
	// ConfigMaps and Secrets of substituteFrom, in order.
	From   []source          `json:"from,omitempty"`
	Inline map[string]string `json:"inline,omitempty"`
	Strict bool              `json:"strict,omitempty"`
	Always bool              `json:"always,omitempty"`
	// The object as YAML; absent where substitution is disabled for it.
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
	// The words of the error are not the same each time.
	Unstable bool `json:"unstable,omitempty"`
}

type source struct {
	Kind   string            `json:"kind"`
	Config map[string]string `json:"config,omitempty"`
	Secret map[string][]byte `json:"secret,omitempty"`
}

// cluster gives the sources of one case by number; everything else of the interface is absent.
type cluster struct {
	client.Client
	sources []source
}

func (c cluster) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	for i, from := range c.sources {
		if key.Name != string(rune('a'+i)) {
			continue
		}
		switch object := object.(type) {
		case *corev1.ConfigMap:
			object.Data = from.Config
		case *corev1.Secret:
			object.Data = from.Secret
		}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
}

func substitute(object *resource.Resource, input replacement) (answer replacement) {
	answer = input
	text, err := object.MarshalJSON()
	fail(err)
	answer.Object = text
	postBuild := map[string]any{}
	var from []any
	for i, source := range input.From {
		from = append(from, map[string]any{"kind": source.Kind, "name": string(rune('a' + i))})
	}
	if from != nil {
		postBuild["substituteFrom"] = append(from, map[string]any{"kind": "ConfigMap", "name": "gone", "optional": true})
	}
	if input.Inline != nil {
		inline := map[string]any{}
		for name, value := range input.Inline {
			inline[name] = value
		}
		postBuild["substitute"] = inline
	}
	kustomization := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"postBuild": postBuild}}}
	result, err := kustomize.SubstituteVariables(context.Background(), cluster{sources: input.From}, kustomization, object,
		kustomize.SubstituteWithStrict(input.Strict), kustomize.SubstituteWithAlways(input.Always))
	if err != nil {
		answer.Error = err.Error()
		return
	}
	if result != nil {
		text, err := result.AsYAML()
		fail(err)
		output := string(text)
		answer.Output = &output
	}
	return
}

var plainValues = []string{
	"", "web", "3", "1.10", "true", "yes", "null", "~", "0x1F", "0777", "1e3", "a: b", "[a, b]", "{a: 1}", "- x", "'q'", "\"q\"", "# c", "a # c",
	"a\nb", "line\n", "é", "  pad  ", "*alias", "&anchor", "!tag", "%", "@at", "123456789012345678901", "9007199254740993", "1_000", "12:30", "2001-01-01", "{{ x }}", "|", ">-", ": ", "x: y: z", "\tq", "a,b",
}

var fieldNames = []string{"name", "replicas", "image", "data", "${a}", "x.y/z", "on", "1", "items", "key with space"}

func objects(out *writer, seed int64, count int) {
	random := rand.New(rand.NewSource(seed))
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	for i := 0; i < count; i++ {
		metadata := map[string]any{"name": pick(random, []string{"web", "${a}", "${b:-web}"})}
		switch random.Intn(12) {
		case 0:
			metadata["labels"] = map[string]any{"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
		case 1:
			metadata["annotations"] = map[string]any{"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
		case 2:
			metadata["annotations"] = map[string]any{"kustomize.toolkit.fluxcd.io/substitute": "Disabled", "n": "${n:=1}"}
		}
		content := map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": metadata, "spec": value(random, 3)}
		object, err := factory.FromMap(content)
		fail(err)
		input := replacement{Strict: random.Intn(2) == 0, Always: random.Intn(3) == 0}
		if random.Intn(3) == 0 {
			for sources := random.Intn(3); sources >= 0; sources-- {
				if random.Intn(2) == 0 {
					input.From = append(input.From, source{Kind: "ConfigMap", Config: assignments(random)})
				} else {
					secret := map[string][]byte{}
					for name, value := range assignments(random) {
						secret[name] = []byte(value)
					}
					input.From = append(input.From, source{Kind: "Secret", Secret: secret})
				}
			}
		}
		if random.Intn(6) > 0 {
			input.Inline = assignments(random)
		}
		if random.Intn(60) == 0 && input.Inline != nil {
			input.Inline[pick(random, []string{"a-b", "1a", "", "é", "a.b"})] = "x"
		}
		answer := substitute(object, input)
		// Which of several keys is complained about is up to the order of a Go map.
		for tries := 0; tries < 20 && strings.Contains(answer.Error, "map key"); tries++ {
			object, err := factory.FromMap(content)
			fail(err)
			if substitute(object, input).Error != answer.Error {
				answer.Unstable = true
			}
		}
		out.line(answer)
	}
}

func assignments(random *rand.Rand) map[string]string {
	assigned := map[string]string{}
	for _, name := range []string{"a", "b", "c", "n", "foo"} {
		if random.Intn(5) > 0 {
			assigned[name] = pick(random, plainValues)
		}
	}
	return assigned
}

func value(random *rand.Rand, depth int) any {
	switch kind := random.Intn(10); {
	case kind < 3 && depth > 0:
		fields := map[string]any{}
		for range 1 + random.Intn(3) {
			fields[pick(random, fieldNames)] = value(random, depth-1)
		}
		return fields
	case kind < 5 && depth > 0:
		items := []any{}
		for range random.Intn(3) {
			items = append(items, value(random, depth-1))
		}
		return items
	case kind == 5:
		return []any{nil, true, false, 0, -1, 42, 1.5, 1e21, 123456789, 9007199254740993, 1e-7, 0.1, 1000000, int64(9223372036854775807)}[random.Intn(14)]
	case kind < 8:
		name := pick(random, []string{"a", "b", "c", "n", "foo"})
		return pick(random, []string{"${" + name + "}", "x-${" + name + "}", "${" + name + ":-7}", "${" + name + "} ${n}", "${" + name + "^^}",
			"a: ${" + name + "}", "line\n${" + name + "}\nend", "${" + name + "\n}", "${#" + name + "}", "$$" + name, "${" + name + ":=true}"})
	case kind == 8:
		return strings.Repeat(pick(random, []string{"word ", "${n} and "}), 1+random.Intn(30))
	default:
		return pick(random, plainValues)
	}
}
