// Command apischema prints webhook/rules/_schema_table.py: how the API server merges the fields of its own kinds; and with the
// argument "types" webhook/rules/_field_types_table.py: of which types they are to the checker of policies.
//
// The source is the schema by which client-go builds apply configurations, generated from the API's published OpenAPI; the
// API server's MutatingAdmissionPolicy plugin reads the same definitions from its own OpenAPI document.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
)

const header = `"""How the API server merges the fields of built-in kinds, as Kubernetes %s has them. Generated; do not edit.

Printed by ` + "``apischema``" + ` (tests/controlplane/schema). Types end with a semicolon; their fields are ` + "``name:shape``" + `, and where there
is no shape it is ` + "``s``" + `:

* ` + "``s n b u``" + ` text, number, boolean, any scalar; ` + "``x``" + ` anything, replaced whole; ` + "``m``" + ` anything, merged; else the name of a type;
* before it ` + "``[]``" + ` an atomic list, ` + "``[=]``" + ` a set, ` + "``[a,b]``" + ` a list of mappings with these keys, ` + "``{}``" + ` a map, ` + "``{!}``" + ` an atomic
  map, ` + "``!``" + ` an atomic struct; after it ` + "``=``" + ` the default, as JSON, of a field that serves as a key.
"""

KINDS = """
%s"""

TYPES = """
%s"""
`

const width = 130

// versions are those in which people write objects that a 1.37 API server serves unless told otherwise, and all of the
// scheduling group. Policies on others are refused where they merge (webhook/rules/schema.py).
var versions = []string{
	"v1", "batch/v1", "apps/v1", "scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3",
	"resource.k8s.io/v1", "policy/v1", "autoscaling/v2", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1",
	"storage.k8s.io/v1", "coordination.k8s.io/v1",
}

func main() {
	text, err := table(len(os.Args) > 1 && os.Args[1] == "types")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(text)
}

type generator struct {
	schema *smd.Schema
	types  map[string]string // full name -> short name
	taken  map[string]string // short name -> full name
	fields map[string][]smd.StructField
	keys   map[string][]string // full name of a type -> the fields by which lists know its values
}

func table(ofTypes bool) (string, error) {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	g := &generator{nil, map[string]string{}, map[string]string{}, map[string][]smd.StructField{}, map[string][]string{}}
	kinds, named := map[string][]string{}, map[schema.GroupVersionKind]string{}
	for _, gvk := range served() {
		version := gvk.GroupVersion().String()
		stub := &unstructured.Unstructured{}
		stub.SetGroupVersionKind(gvk)
		typed, err := converter.ObjectToTyped(stub)
		if err != nil || typed.TypeRef().NamedType == nil {
			continue // options and lists have no schema of their own
		}
		g.schema = typed.Schema()
		name := *typed.TypeRef().NamedType
		if strings.HasPrefix(name, "io.k8s.apimachinery.") {
			continue
		}
		if err := g.visit(name); err != nil {
			return "", err
		}
		kinds[version], named[gvk] = append(kinds[version], gvk.Kind+"\x00"+name), name
	}
	if ofTypes {
		return typesTable(g, named)
	}
	var roots, types strings.Builder
	var all []string
	for _, version := range sorted(kinds) {
		slices.Sort(kinds[version])
		var words []string
		for _, pair := range kinds[version] {
			kind, name, _ := strings.Cut(pair, "\x00")
			if g.types[name] != kind {
				kind += ":" + g.types[name]
			}
			words = append(words, kind)
		}
		write(&roots, version+":", ended(words))
	}
	for _, short := range sorted(g.taken) {
		words, err := g.words(g.taken[short])
		if err != nil {
			return "", err
		}
		all = append(all, ended(append([]string{short + ":"}, words...))...)
	}
	write(&types, "", all)
	return fmt.Sprintf(header, kubernetesVersion(), roots.String(), types.String()), nil
}

// served lists all kinds in the order of versions, which is the order in which their types get the shorter names.
func served() []schema.GroupVersionKind {
	found := slices.DeleteFunc(slices.Collect(maps.Keys(scheme.Scheme.AllKnownTypes())), func(gvk schema.GroupVersionKind) bool {
		return !slices.Contains(versions, gvk.GroupVersion().String())
	})
	slices.SortFunc(found, func(a, b schema.GroupVersionKind) int {
		place := func(gvk schema.GroupVersionKind) int { return slices.Index(versions, gvk.GroupVersion().String()) }
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Kind, b.Kind))
	})
	return found
}

// visit gives a struct and all below it their short names. The last part of the full name is unique but for types of several
// versions and for a few of the same name, which keep their version.
func (g *generator) visit(name string) error {
	if _, ok := g.types[name]; ok {
		return nil
	}
	found, ok := g.schema.FindNamedType(name)
	if !ok {
		return fmt.Errorf("no type is called %s", name)
	}
	parts := strings.Split(name, ".")
	short := parts[len(parts)-1]
	for i := 2; g.taken[short] != ""; i++ {
		short = strings.Join(parts[len(parts)-i:], ".")
	}
	g.types[name], g.taken[short] = short, name
	g.fields[name] = found.Map.Fields
	for _, field := range found.Map.Fields {
		if err := g.visitRef(field.Type); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) visitRef(ref smd.TypeRef) error {
	atom, ok := g.schema.Resolve(ref)
	switch {
	case !ok:
		return fmt.Errorf("no type for %v", ref)
	case isAny(ref) || atom.Scalar != nil:
		return nil
	case atom.List != nil:
		if name := atom.List.ElementType.NamedType; name != nil {
			g.keys[*name] = append(g.keys[*name], atom.List.Keys...)
		}
		return g.visitRef(atom.List.ElementType)
	case len(atom.Map.Fields) == 0:
		return g.visitRef(atom.Map.ElementType)
	}
	return g.visit(*ref.NamedType)
}

func isAny(ref smd.TypeRef) bool {
	return ref.NamedType != nil && strings.HasPrefix(*ref.NamedType, "__untyped_")
}

func (g *generator) words(name string) ([]string, error) {
	var words []string
	for _, field := range g.fields[name] {
		shape, err := g.shape(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", name, field.Name, err)
		}
		word := field.Name
		if shape != "s" {
			word += ":" + shape
		}
		if slices.Contains(g.keys[name], field.Name) && field.Default != nil {
			text, err := json.Marshal(field.Default)
			if err != nil {
				return nil, err
			}
			word += "=" + string(text)
		}
		words = append(words, word)
	}
	found, _ := g.schema.FindNamedType(name)
	if found.Map.ElementRelationship == smd.Atomic {
		words = append([]string{"!"}, words...)
	}
	return words, nil
}

var scalars = map[smd.Scalar]string{smd.String: "s", smd.Numeric: "n", smd.Boolean: "b", smd.Untyped: "u"}

func (g *generator) shape(ref smd.TypeRef) (string, error) {
	atom, _ := g.schema.Resolve(ref)
	switch {
	case isAny(ref) && *ref.NamedType == "__untyped_atomic_":
		return "x", nil
	case isAny(ref):
		return "m", nil
	case atom.Scalar != nil:
		return scalars[*atom.Scalar], nil
	case atom.List != nil:
		inner, err := g.shape(atom.List.ElementType)
		switch {
		case atom.List.ElementRelationship == smd.Atomic:
			return "[]" + inner, err
		case len(atom.List.Keys) == 0:
			return "[=]" + inner, err
		}
		return "[" + strings.Join(atom.List.Keys, ",") + "]" + inner, err
	case len(atom.Map.Fields) == 0 && isEmpty(atom.Map.ElementType):
		return g.named(ref), nil
	case len(atom.Map.Fields) == 0:
		inner, err := g.shape(atom.Map.ElementType)
		if atom.Map.ElementRelationship == smd.Atomic {
			return "{!}" + inner, err
		}
		return "{}" + inner, err
	}
	if ref.ElementRelationship != nil && *ref.ElementRelationship == smd.Atomic {
		return "!" + g.types[*ref.NamedType], nil
	}
	return g.named(ref), nil
}

func (g *generator) named(ref smd.TypeRef) string { return g.types[*ref.NamedType] }

func isEmpty(ref smd.TypeRef) bool {
	return ref.NamedType == nil && ref.Inlined.Scalar == nil && ref.Inlined.List == nil && ref.Inlined.Map == nil
}

func ended(words []string) []string {
	words[len(words)-1] += ";"
	return words
}

func write(out *strings.Builder, line string, words []string) {
	for _, word := range words {
		switch {
		case len(line)+1+len(word) > width:
			out.WriteString(line + "\n")
			line = ""
		case line != "":
			line += " "
		}
		line += word
	}
	out.WriteString(line + "\n")
}

func sorted[V any](values map[string]V) []string {
	var keys []string
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func kubernetesVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/client-go" {
			version := module.Version
			if module.Replace != nil {
				version = module.Replace.Version
			}
			return "1" + strings.TrimPrefix(version, "v0")
		}
	}
	return "?"
}
