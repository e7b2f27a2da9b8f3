package main

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func key(random *rand.Rand) string {
	if random.Intn(12) == 0 {
		return pick(random, "", "-a", "a-", "a/b/c", "/a", "a/", "A/b", "ü", "a b", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 127)+"/b",
			"in", "notin", "a\u00a0b", "a..b/c", "\x00", "a\x00b")
	}
	return pick(random, "a", "b", "app", "tier", "example.com/name", "a_b", "in", "x.y", "A")
}

func labelValue(random *rand.Rand) string {
	if random.Intn(12) == 0 {
		return pick(random, "-", "a b", strings.Repeat("v", 63), strings.Repeat("v", 64), "ü", "a/b", ".", "\u2028", "in", "\t")
	}
	return pick(random, "", "web", "1", "2", "-1", "10", "x", "a.b", "W_b", "notin", "9223372036854775808", "+1", "01")
}

func set(random *rand.Rand) map[string]string {
	out := map[string]string{}
	for range random.Intn(5) {
		out[pick(random, "a", "b", "app", "tier", "example.com/name", "a_b", "in", "x.y", "A")] =
			pick(random, "", "web", "1", "2", "-1", "10", "x", "a.b", "W_b", "notin", "+1")
	}
	return out
}

func space(random *rand.Rand) string { return pick(random, "", "", "", " ", "\t", "\n ", "\r", "  ") }

func requirement(random *rand.Rand) string {
	s := func() string { return space(random) }
	key := s() + key(random) + s()
	switch random.Intn(9) {
	case 0:
		return key
	case 1:
		return s() + "!" + key
	case 2, 3:
		return key + pick(random, "=", "==", "!=") + s() + labelValue(random) + s()
	case 4:
		return key + pick(random, "<", ">") + s() + labelValue(random)
	case 5, 6, 7:
		text := key + " " + pick(random, "in", "notin") + s() + "("
		for index := range random.Intn(4) {
			if index > 0 {
				text += s() + ","
			}
			text += s() + labelValue(random)
		}
		return text + pick(random, ")", ")", ")", ")", ",)", "", "x)", " y )")
	default:
		return pick(random, "=", "==a", "a=b=c", "a!b", "!", "!!a", "a in b", "a in", "a in (", "(a)", "a like (b)", "a===b", "a=!b", "a><b", "a!==b", "n=a b", "a in (b c)",
			"a in (=)", "a in (,,b)", "a in (b,,)", "a in (,)", "a notin (,b,,c)", ",", ">1", "a>", "a<b", "a=>b", "in in (in)", "a\x00,b", "a in (in,notin)", "a = b \x00 c")
	}
}

func selectorText(random *rand.Rand) string {
	var parts []string
	for range random.Intn(4) {
		parts = append(parts, requirement(random))
	}
	return strings.Join(parts, ",") + pick(random, "", "", "", "", "", "", " ", ",")
}

// A text and labels: why it is refused, or how it is written and whether it selects.
func labelSelector(random *rand.Rand) []any {
	text, set := selectorText(random), set(random)
	selector, err := labels.Parse(text)
	if err != nil {
		return []any{text, set, err.Error(), "", false}
	}
	return []any{text, set, "", selector.String(), selector.Matches(labels.Set(set))}
}

// The same with the copy of apimachinery 0.19 that kyaml has.
func kyamlSelector(random *rand.Rand) []any {
	text, set := selectorText(random), set(random)
	object := map[string]any{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a", "labels": set}}
	encoded, err := json.Marshal(object)
	check(err)
	selects, err := yaml.MustParse(string(encoded)).MatchesLabelSelector(text)
	if err != nil {
		return []any{text, set, err.Error(), false}
	}
	return []any{text, set, "", selects}
}

// A metav1.LabelSelector and labels, likewise.
func selectorObject(random *rand.Rand) []any {
	var selector *metav1.LabelSelector
	if random.Intn(20) > 0 {
		selector = &metav1.LabelSelector{}
		// More than one wrong label is reported in the order of a Go map, so there is at most one.
		if random.Intn(2) == 0 {
			selector.MatchLabels = map[string]string{key(random): labelValue(random)}
		} else {
			selector.MatchLabels = map[string]string{}
			set := set(random)
			for _, key := range slices.Sorted(maps.Keys(set)) {
				selector.MatchLabels[key] = strings.TrimLeft(set[key], "+-")
			}
		}
		for range random.Intn(3) {
			one := metav1.LabelSelectorRequirement{Key: key(random)}
			one.Operator = metav1.LabelSelectorOperator(pick(random, "In", "In", "NotIn", "Exists", "DoesNotExist", "DoesNotExist", "in", "", "Gt", "\u00a0"))
			count := random.Intn(3)
			if strings.HasSuffix(string(one.Operator), "Exist") || one.Operator == "Exists" {
				count = max(0, random.Intn(5)-3)
			}
			for range count {
				one.Values = append(one.Values, labelValue(random))
			}
			selector.MatchExpressions = append(selector.MatchExpressions, one)
		}
	}
	labelSet := set(random)
	converted, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return []any{selector, labelSet, err.Error(), "", false}
	}
	return []any{selector, labelSet, "", converted.String(), converted.Matches(labels.Set(labelSet))}
}
