package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

var (
	// standard lists the variables that are always declared.
	standard = []string{
		plugincel.ObjectVarName, plugincel.OldObjectVarName, plugincel.RequestVarName,
		plugincel.ParamsVarName, plugincel.NamespaceVarName, plugincel.VariableVarName,
	}
	// typed lists the declarations of variables that are no dyn in a policy (plugin/cel/compile.go, mustBuildEnvs).
	typed = map[string]func() *apiservercel.DeclType{
		plugincel.RequestVarName:   plugincel.BuildRequestType,
		plugincel.NamespaceVarName: plugincel.BuildNamespaceType,
	}
	words = map[string]*cel.Type{
		"int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "string": cel.StringType,
		"bool": cel.BoolType, "bytes": cel.BytesType, "timestamp": cel.TimestampType, "duration": cel.DurationType,
		"list": cel.ListType(cel.DynType), "map": cel.MapType(cel.StringType, cel.DynType),
	}
	// always marks options that every compatibility version has.
	always       = version.MajorMinor(1, 0)
	environments = map[string]*cel.Env{}
)

func (r *request) isPolicy() bool { return r.Mode == "vap" || r.Mode == "map" }

func environmentOf(r *request) (*cel.Env, error) {
	names := slices.Sorted(maps.Keys(r.Vars))
	key, err := json.Marshal([]any{r.Mode, r.Env, names, r.Types})
	if err != nil {
		return nil, err
	}
	if found, ok := environments[string(key)]; ok {
		return found, nil
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		declarations(r, names), environment.StrictCostOpt)
	if err != nil {
		return nil, err
	}
	if r.Mode != "vap" {
		// Another step, as in the plugins: types declared with the variables would hide these.
		set, err = set.Extend(environment.VersionedOptions{IntroducedVersion: always, EnvOptions: []cel.EnvOption{
			common.ResolverEnvOption(&mutation.DynamicTypeResolver{}),
			environment.UnversionedLib(library.JSONPatch),
		}})
		if err != nil {
			return nil, err
		}
	}
	made := set.StoredExpressionsEnv()
	if r.Env == "new" {
		made = set.NewExpressionsEnv()
	}
	environments[string(key)] = made
	return made, nil
}

func declarations(r *request, names []string) environment.VersionedOptions {
	out := environment.VersionedOptions{IntroducedVersion: always}
	all := slices.Concat(standard, names, slices.Collect(maps.Keys(r.Types)))
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		declared, ok := words[r.Types[name]]
		if !ok {
			declared = cel.DynType
		}
		if build, ok := typed[name]; ok && r.isPolicy() {
			out.DeclTypes = append(out.DeclTypes, build())
			declared = out.DeclTypes[len(out.DeclTypes)-1].CelType()
		}
		out.EnvOptions = append(out.EnvOptions, cel.Variable(name, declared))
	}
	if r.isPolicy() {
		out.EnvOptions = append(out.EnvOptions,
			cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			cel.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType))
	}
	return out
}

func activationOf(r *request) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range standard {
		out[name] = nil
	}
	for name, raw := range r.Vars {
		value, err := read(raw)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		out[name] = value
	}
	if r.isPolicy() {
		asked, err := readAsked(r.Vars[plugincel.RequestVarName])
		if err != nil {
			return nil, err
		}
		out[plugincel.AuthorizerVarName] = library.NewAuthorizerVal(asked.user(), rules(r.Authz))
		out[plugincel.RequestResourceAuthorizerVarName] = library.NewResourceAuthorizerVal(asked.user(), rules(r.Authz), asked)
	}
	return out, nil
}

// evaluate says in stage how far it got, for whoever catches its panic.
func evaluate(r *request, stage *string) (out reply) {
	out.ID = r.ID
	env, err := environmentOf(r)
	if err != nil {
		return out.failed("env", err)
	}
	*stage = "vars"
	vars, err := activationOf(r)
	if err != nil {
		return out.failed("vars", err)
	}
	*stage = "compile"
	compile := env.Compile
	if r.NoCheck {
		compile = env.Parse
	}
	ast, issues := compile(r.Expr)
	if err := issues.Err(); err != nil {
		return out.failed("compile", err)
	}
	out.OutType = ast.OutputType().String()
	*stage = "program"
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return out.failed("program", err)
	}
	*stage = "eval"
	value, details, err := program.Eval(vars)
	if details != nil {
		out.Cost = details.ActualCost()
	}
	if r.Bench > 0 {
		out.Bench = measure(env, program, r, vars)
	}
	if err != nil {
		return out.failed("eval", err)
	}
	if types.IsUnknownOrError(value) {
		return out.failed("eval", fmt.Errorf("%v", value))
	}
	out.OK, out.Result = true, show(value)
	return out
}
