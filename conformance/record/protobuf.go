package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "sigs.k8s.io/json"
)

type protobufCase struct {
	Before json.RawMessage `json:"before"`
	Body   []byte          `json:"body"`
	JSON   json.RawMessage `json:"json"`
}

// recordProtobuf encodes generated objects as protobuf, decodes them again and writes what came out as JSON.
func recordProtobuf(perKind int) (any, error) {
	all, err := wholeScheme()
	if err != nil {
		return nil, err
	}
	kinds := sortedKinds(all)
	for _, group := range []string{"", "apps"} {
		for _, kind := range []string{"CreateOptions", "DeleteOptions", "PatchOptions", "UpdateOptions"} {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
		}
	}
	serializer := protobuf.NewSerializer(all, all)
	random := rand.New(rand.NewSource(2))
	cases := []protobufCase{}
	for _, gvk := range kinds {
		for range perKind {
			g := generator{random: random, fill: 25 + random.Intn(40), nulls: 15}
			text := g.object(gvk.GroupVersion().String(), gvk.Kind, all.AllKnownTypes()[gvk])
			object, err := all.New(gvk)
			if err != nil {
				return nil, err
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), object); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", gvk, err, text)
			}
			object.GetObjectKind().SetGroupVersionKind(gvk)
			before, err := json.Marshal(object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", gvk, err)
			}
			var body bytes.Buffer
			if err := serializer.Encode(object, &body); err != nil {
				// Some kinds, custom resource definitions' relatives among them, have no protobuf.
				if protobuf.IsNotMarshalable(err) {
					break
				}
				return nil, fmt.Errorf("%s: %w: %s", gvk, err, text)
			}
			back, err := all.New(gvk)
			if err != nil {
				return nil, err
			}
			decoded, _, err := serializer.Decode(body.Bytes(), nil, back)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", gvk, err)
			}
			decoded.GetObjectKind().SetGroupVersionKind(gvk)
			written, err := json.Marshal(decoded)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", gvk, err)
			}
			cases = append(cases, protobufCase{before, body.Bytes(), written})
		}
	}
	return map[string]any{"oracle": "k8s.io/apimachinery v0.35.4", "cases": cases}, nil
}
