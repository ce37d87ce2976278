package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiservercel "k8s.io/apiserver/pkg/cel"
	celcommon "k8s.io/apiserver/pkg/cel/common"
	celopenapi "k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
)

const typesHeader = `"""Of which CEL types fields are where the table of schemas does not tell, as Kubernetes %s has them. Generated; do not edit.

Printed by ` + "``apischema types``" + ` (tests/controlplane/schema). To the checker of policies, which writes ` + "``status.typeChecking``" + `,
text is a string, a number an int, and other fields are as listed here: ` + "``*``" + ` dyn, ` + "``d``" + ` double, ` + "``t``" + ` timestamp, ` + "``y``" + ` bytes,
` + "``i s b``" + ` int, string, bool, ` + "``o``" + ` a struct without any field, ` + "``-``" + ` not there at all.
"""

FIELDS = """
%s"""
`

// typesPrinter keeps words by short name of their type; seen are full names, so that each struct is compared once.
type typesPrinter struct {
	*generator
	found map[string][]string
	seen  map[string]bool
}

// typesTable compares the types that KCM's checker of policies makes of the built-in kinds with those that the table of
// schemas lets one expect, and returns the differences as a Python module.
func typesTable(g *generator, roots map[schema.GroupVersionKind]string) (string, error) {
	schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme)
	printer := &typesPrinter{g, map[string][]string{}, map[string]bool{}}
	for _, gvk := range slices.SortedFunc(maps.Keys(roots), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		found, err := schemas.ResolveSchema(gvk)
		if err != nil {
			return "", err
		}
		if err := printer.compare(roots[gvk], celcommon.SchemaDeclType(&celopenapi.Schema{Schema: found}, true)); err != nil {
			return "", fmt.Errorf("%v: %w", gvk, err)
		}
	}
	var all []string
	var types strings.Builder
	for _, name := range sorted(printer.found) {
		all = append(all, ended(append([]string{name + ":"}, printer.found[name]...))...)
	}
	write(&types, "", all)
	return fmt.Sprintf(typesHeader, kubernetesVersion(), types.String()), nil
}

func (p *typesPrinter) compare(name string, declared *apiservercel.DeclType) error {
	if p.seen[name] {
		return nil
	}
	p.seen[name] = true
	known := map[string]bool{}
	for _, field := range p.fields[name] {
		escaped, _ := apiservercel.Escape(field.Name)
		known[escaped] = true
		letter := "-"
		if found := declared.Fields[escaped]; found != nil {
			var err error
			if letter, err = p.letter(field.Type, found.Type); err != nil {
				return fmt.Errorf("%s.%s: %w", name, field.Name, err)
			}
		}
		if letter != "" {
			short := p.types[name]
			p.found[short] = append(p.found[short], field.Name+":"+letter)
		}
	}
	for field := range declared.Fields {
		if !known[field] {
			return fmt.Errorf("%s.%s is in no schema", name, field)
		}
	}
	return nil
}

// letter returns how the elements of a field are typed; empty where that is what one expects.
func (p *typesPrinter) letter(ref smd.TypeRef, declared *apiservercel.DeclType) (string, error) {
	atom, _ := p.schema.Resolve(ref)
	letters := map[string]string{"string": "s", "int": "i", "bool": "b", "double": "d", "timestamp": "t", "bytes": "y", "dyn": "*"}
	switch {
	case isAny(ref):
		if declared.IsObject() && len(declared.Fields) == 0 {
			return "o", nil
		}
		return letters[declared.TypeName()], nil
	case atom.Scalar != nil:
		expected := map[smd.Scalar]string{smd.String: "s", smd.Numeric: "i", smd.Boolean: "b"}[*atom.Scalar]
		if found, ok := letters[declared.TypeName()]; ok && found != expected {
			return found, nil
		} else if !ok {
			return "", fmt.Errorf("no letter for %s", declared.TypeName())
		}
		return "", nil
	case atom.List != nil && declared.IsList():
		return p.letter(atom.List.ElementType, declared.ElemType)
	case atom.Map != nil && len(atom.Map.Fields) == 0 && declared.IsMap():
		return p.letter(atom.Map.ElementType, declared.ElemType)
	case atom.Map != nil && len(atom.Map.Fields) == 0 && declared.IsObject() && len(declared.Fields) == 0:
		return "o", nil
	case atom.Map != nil && declared.IsObject():
		if p.types[*ref.NamedType] == "" {
			return "", fmt.Errorf("no name for %s", *ref.NamedType)
		}
		return "", p.compare(*ref.NamedType, declared)
	}
	return "", fmt.Errorf("%s is of another shape", declared.TypeName())
}
