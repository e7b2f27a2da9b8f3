package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// samples holds an expression of every type that functions take.
var samples = map[string][]string{
	"bool":                   {"true", "false"},
	"int":                    {"2", "-7"},
	"uint":                   {"3u", "0u"},
	"double":                 {"1.5", "-0.25"},
	"string":                 {"'aéb'", "''"},
	"bytes":                  {"b'xy'"},
	"null":                   {"null"},
	"duration":               {"duration('90s')"},
	"timestamp":              {"timestamp('2024-02-29T12:34:56.789Z')"},
	"list":                   {"[1, 2]", "['b', 'a']", "[]"},
	"map":                    {"{'a': 1}", "{}"},
	"type":                   {"int"},
	"optional_type":          {"optional.of(1)", "optional.none()"},
	"kubernetes.Quantity":    {"quantity('1500m')"},
	"kubernetes.URL":         {"url('https://a:1/b?c=d')"},
	"kubernetes.Semver":      {"semver('1.2.3')"},
	"kubernetes.NamedFormat": {"format.dns1123Label()"},
	"net.IP":                 {"ip('10.0.0.1')"},
	"net.CIDR":               {"cidr('10.0.0.0/8')"},
}

var operators = map[string]string{
	"_+_": "%s + %s", "_-_": "%s - %s", "_*_": "%s * %s", "_/_": "%s / %s", "_%_": "%s %% %s",
	"_<_": "%s < %s", "_<=_": "%s <= %s", "_>_": "%s > %s", "_>=_": "%s >= %s", "_==_": "%s == %s",
	"_!=_": "%s != %s", "@in": "%s in %s", "_&&_": "%s && %s", "_||_": "%s || %s",
	"_[_]": "%s[%s]", "_[?_]": "%s[?%s]", "!_": "!%s", "-_": "-(%s)", "_?_:_": "%s ? %s : %s",
}

// sample is an expression of the type of an argument.
func sample(t *cel.Type) string {
	name := cel.FormatCELType(t)
	switch {
	case name == "list(string)":
		return "['b', 'a']"
	case name == "list(list(T))":
		return "[[1], [2]]"
	case strings.HasPrefix(name, "list(optional"):
		return "[optional.of(1), optional.none()]"
	case strings.HasPrefix(name, "optional_type(list"):
		return "optional.of([1])"
	case strings.HasPrefix(name, "optional_type(map"):
		return "optional.of({'a': 1})"
	case strings.HasPrefix(name, "optional_type"):
		return "optional.of(1)"
	case strings.HasPrefix(name, "list("):
		inner := sample(t.Parameters()[0])
		return "[" + inner + ", " + inner + "]"
	case strings.HasPrefix(name, "map("):
		return "{1: 1}"
	case strings.HasPrefix(name, "type"):
		return "int"
	}
	if found, ok := samples[name]; ok {
		return found[0]
	}
	return "1"
}

// written is a call of an overload.
func written(function string, member bool, args []string) string {
	if pattern, ok := operators[function]; ok && strings.Count(pattern, "%s") == len(args) {
		values := make([]any, len(args))
		for i, arg := range args {
			values[i] = arg
		}
		return fmt.Sprintf(pattern, values...)
	}
	if member {
		return fmt.Sprintf("%s.%s(%s)", args[0], function, strings.Join(args[1:], ", "))
	}
	return fmt.Sprintf("%s(%s)", function, strings.Join(args, ", "))
}

// generate asks for every overload with arguments that fit, and with each argument replaced by a
// value of every other type, both typed and dynamic.
func generate() []question {
	env := environment.MustBaseEnvSet(version.MajorMinor(1, 35)).NewExpressionsEnv()
	names := make([]string, 0, len(samples))
	for name := range samples {
		names = append(names, name)
	}
	sort.Strings(names)
	seen := map[string]bool{}
	var asked []question
	add := func(rule string) {
		if !seen[rule] {
			seen[rule] = true
			asked = append(asked, question{Mode: "expr", Rule: rule})
		}
	}
	functions := env.Functions()
	ordered := make([]string, 0, len(functions))
	for name := range functions {
		ordered = append(ordered, name)
	}
	sort.Strings(ordered)
	for _, name := range ordered {
		if strings.Contains(name, "@") && name != "@in" || strings.HasPrefix(name, "_?.") || name == "_in_" || name == "in" || strings.HasPrefix(name, "__") {
			continue
		}
		for _, overload := range functions[name].OverloadDecls() {
			var args []string
			for _, t := range overload.ArgTypes() {
				args = append(args, sample(t))
			}
			add(written(name, overload.IsMemberFunction(), args))
			if len(args) > 1 || len(args) == 1 && !overload.IsMemberFunction() {
				add(written(name, overload.IsMemberFunction(), args[:len(args)-1]))
			}
			if len(args) > 0 {
				add(written(name, overload.IsMemberFunction(), append(append([]string{}, args...), "1")))
			}
			for i := range args {
				dynamic := append([]string{}, args...)
				dynamic[i] = "dyn(" + args[i] + ")"
				add(written(name, overload.IsMemberFunction(), dynamic))
				for _, other := range names {
					for k, value := range samples[other] {
						if k > 0 && len(args) > 1 {
							break
						}
						static := append([]string{}, args...)
						static[i] = value
						add(written(name, overload.IsMemberFunction(), static))
						static[i] = "dyn(" + value + ")"
						add(written(name, overload.IsMemberFunction(), static))
					}
				}
			}
		}
	}
	return asked
}
