package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// structuralOf reads an OpenAPI schema as apiextensions does.
func structuralOf(schema any) (*structural.Structural, *apiextensions.JSONSchemaProps, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, nil, err
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &v1); err != nil {
		return nil, nil, err
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &props, nil); err != nil {
		return nil, nil, err
	}
	s, err := structural.NewStructural(&props)
	return s, &props, err
}

func kubernetesEnv(q question) (*cel.Env, *structural.Structural, *library.CostEstimator, error) {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 35))
	if q.Schema == nil {
		return base.NewExpressionsEnv(), nil, &library.CostEstimator{}, nil
	}
	s, _, err := structuralOf(q.Schema)
	if err != nil {
		return nil, nil, nil, err
	}
	decl := model.SchemaDeclType(s, q.Root)
	if decl == nil {
		return nil, nil, nil, fmt.Errorf("no type for the schema")
	}
	decl = decl.MaybeAssignTypeName("selfType1")
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", decl.CelType()),
			cel.Variable("oldSelf", decl.CelType()),
		},
		DeclTypes: []*apiservercel.DeclType{decl},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return set.NewExpressionsEnv(), s, &library.CostEstimator{SizeEstimator: sizes{decl}}, nil
}

// sizes tells how large the parts of a declared type can be, as apiextensions tells it.
type sizes struct{ root *apiservercel.DeclType }

func (s sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if len(element.Path()) == 0 {
		return nil
	}
	node := s.root
	for _, name := range element.Path()[1:] {
		switch name {
		case "@items", "@values":
			node = node.ElemType
		case "@keys":
			node = node.KeyType
		default:
			field, ok := node.Fields[name]
			if !ok {
				return nil
			}
			node = field.Type
		}
		if node == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(node.MaxElements)}
}

func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// expr compiles and evaluates one expression in the environment of Kubernetes 1.35.
func expr(q question) answer {
	env, s, estimator, err := kubernetesEnv(q)
	if err != nil {
		return answer{Error: "environment: " + err.Error()}
	}
	ast, issues := env.Compile(q.Rule)
	if issues != nil {
		return answer{Compile: issues.String()}
	}
	a := answer{Type: ast.OutputType().String()}
	options := []cel.ProgramOption{cel.CostTracking(estimator)}
	if q.Limit != 0 {
		options = append(options, cel.CostLimit(q.Limit))
	}
	program, err := env.Program(ast, options...)
	if err != nil {
		a.Compile = "program instantiation failed: " + err.Error()
		return a
	}
	if estimated, err := env.EstimateCost(ast, estimator); err == nil {
		a.Maximum = &estimated.Max
	}
	vars := map[string]any{}
	if s != nil {
		if q.Root {
			s = model.WithTypeAndObjectMeta(s)
		}
		vars["self"] = schemacel.UnstructuredToVal(q.Self, s)
		if q.OldSelf != nil {
			vars["oldSelf"] = schemacel.UnstructuredToVal(q.OldSelf, s)
		}
	}
	value, details, err := program.Eval(vars)
	if details != nil {
		a.Cost = details.ActualCost()
	}
	if err != nil {
		a.Error = err.Error()
		return a
	}
	a.Value = render(value)
	return a
}

// flux parses (or, with declared structs, compiles) and evaluates as Flux's expressions do.
func flux(q question) answer {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Sets(),
		ext.Encoders(),
	}
	for _, name := range q.Structs {
		options = append(options, cel.Variable(name, cel.ObjectType("google.protobuf.Struct")))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return answer{Error: "environment: " + err.Error()}
	}
	parse := env.Parse
	if len(q.Structs) > 0 {
		parse = env.Compile
	}
	ast, issues := parse(q.Rule)
	if issues != nil {
		return answer{Compile: issues.String()}
	}
	a := answer{Type: ast.OutputType().String()}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		a.Compile = "program: " + err.Error()
		return a
	}
	vars, _ := q.Vars.(map[string]any)
	if vars == nil {
		vars = map[string]any{}
	}
	value, _, err := program.Eval(vars)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	a.Value = render(value)
	return a
}

// signatures prints every declared function, one overload per line.
func signatures() {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 35))
	kubernetes := base.NewExpressionsEnv()
	flux, err := cel.NewEnv(cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(), ext.Bindings(), ext.Math(), ext.TwoVarComprehensions(), ext.Lists())
	if err != nil {
		panic(err)
	}
	for name, env := range map[string]*cel.Env{"kubernetes": kubernetes, "flux": flux} {
		var lines []string
		for _, fn := range env.Functions() {
			for i, o := range fn.OverloadDecls() {
				style := "function"
				if o.IsMemberFunction() {
					style = "member"
				}
				var args []string
				for _, a := range o.ArgTypes() {
					args = append(args, cel.FormatCELType(a))
				}
				lines = append(lines, fmt.Sprintf("%s\t%s\t%03d\t%s\t%s\t(%s)\t%s", name, fn.Name(), i, style, o.ID(), strings.Join(args, ";"), cel.FormatCELType(o.ResultType())))
			}
		}
		sort.Strings(lines)
		for _, line := range lines {
			fmt.Println(line)
		}
	}
}
