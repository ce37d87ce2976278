package main

import (
	"encoding/json"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"golang.org/x/sys/unix"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	batches  = 15
	compiles = 30
)

// timings are CPU nanoseconds of the whole process, so the garbage collector is in them; medians of batches.
type timings struct {
	Compile float64 `json:"compile_cpu_ns"`
	Decode  float64 `json:"decode_cpu_ns"`          // the variables' JSON, with what the API server decodes objects with
	Tracked float64 `json:"tracked_cpu_ns"`         // with the API server's cost tracking
	Plain   float64 `json:"plain_cpu_ns,omitempty"` // cel-go without it; absent where it lacks a library
}

func measure(env *cel.Env, program cel.Program, r *request, vars map[string]any) *timings {
	body, err := json.Marshal(r.Vars)
	if err != nil {
		return nil
	}
	out := &timings{
		Decode: median(compiles, func() {
			var held object
			utiljson.Unmarshal(body, &held)
		}),
		Compile: median(compiles, func() {
			if ast, issues := env.Compile(r.Expr); issues.Err() == nil {
				env.Program(ast)
			}
		}),
		Tracked: median(r.Bench, func() { program.Eval(vars) }),
	}
	if plain := plainProgram(r); plain != nil {
		out.Plain = median(r.Bench, func() { plain.Eval(vars) })
	}
	return out
}

func median(count int, do func()) float64 {
	each := max(count/batches, 1)
	for range each {
		do()
	}
	var found []float64
	for range batches {
		before := cpu()
		for range each {
			do()
		}
		found = append(found, float64(cpu()-before)/float64(each))
	}
	slices.Sort(found)
	return found[len(found)/2]
}

// plainProgram compiles the expression for cel-go as it comes, with the libraries that policies mostly need.
func plainProgram(r *request) cel.Program {
	options := []cel.EnvOption{cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(ext.StringsVersion(2)),
		ext.Sets(), ext.TwoVarComprehensions(), library.Quantity(), library.Regex(), library.Lists()}
	for _, name := range standard {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil
	}
	ast, issues := env.Compile(r.Expr)
	if issues.Err() != nil {
		return nil
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil
	}
	return program
}

func cpu() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now) != nil {
		return 0
	}
	return now.Nano()
}
