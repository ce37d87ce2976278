package main

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

const header = `"""The fields of the kinds that offline commands complete, as Kubernetes %s has them. Generated; do not edit.

Printed by ` + "``apidefaults table``" + ` (tests/controlplane/defaults). One type a line, its fields as ` + "``name:shape``" + `:

* ` + "``x``" + ` as given; ` + "``s i b``" + ` text, number, boolean, absent when empty, 0 or false; ` + "``q``" + ` a quantity; else the name of a type;
* before it ` + "``*``" + ` a pointer, absent when null; ` + "``[]``" + ` a list and ` + "``{}``" + ` a map, absent when empty;
* after it ` + "``!``" + ` written even so, ` + "``?``" + ` a struct absent when empty, ` + "``=``" + ` the default as JSON.
"""

ROOTS = {
%s}

TYPES = """
%s"""
`

const width = 126

// conditional fields have a default that depends on other fields or on the kind around them. They are code, in
// webhook/admission/defaults.py; a field that is found to be so and is not listed here stops the generator.
var conditional = []string{
	"Container.imagePullPolicy", "EphemeralContainer.imagePullPolicy", "Volume.emptyDir",
	"JobSpec.backoffLimit", "JobSpec.completionMode", "JobSpec.completions", "JobSpec.manualSelector", "JobSpec.parallelism",
	"JobSpec.podReplacementPolicy", "JobSpec.suspend",
	"PodSpec.enableServiceLinks",
}

// always are conditional by a value that probing cannot see, since the default for the empty value is a constant.
var always = []string{"Container.imagePullPolicy", "EphemeralContainer.imagePullPolicy", "ImageVolumeSource.pullPolicy", "Volume.emptyDir"}

type field struct {
	name, shape string
	index       []int
	elem        reflect.Type // the struct below, nil if there is none
}

type generator struct {
	types    map[string]reflect.Type
	defaults map[string]map[string]int // "Type.field" -> JSON of the default -> how often found
	visits   map[string]int
}

func table() (string, error) {
	g := &generator{map[string]reflect.Type{}, map[string]map[string]int{}, map[string]int{}}
	var names strings.Builder
	for _, root := range roots {
		gvks, _, err := legacyscheme.Scheme.ObjectKinds(root)
		if err != nil {
			return "", err
		}
		kind := reflect.TypeOf(root).Elem()
		version, _ := gvks[0].ToAPIVersionAndKind()
		fmt.Fprintf(&names, "    %q: %q,\n", version+" "+kind.Name(), nameOf(kind))
		if err := g.visit(kind, kind, nil); err != nil {
			return "", err
		}
	}
	lines, err := g.lines()
	return fmt.Sprintf(header, kubernetesVersion(), names.String(), lines), err
}

// nameOf tells the types of the scheduling group's versions from each other and from those of core that are called the same.
func nameOf(t reflect.Type) string {
	if strings.Contains(t.PkgPath(), "/scheduling/") {
		return path.Base(t.PkgPath()) + "." + t.Name()
	}
	return t.Name()
}

func kubernetesVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "?"
}

// visit reads a type and asks the API server's defaulting what it puts into it at this place.
func (g *generator) visit(root, t reflect.Type, way []field) error {
	name := nameOf(t)
	if known, ok := g.types[name]; ok && known != t {
		return fmt.Errorf("two types are called %s: %s and %s", name, known, t)
	}
	g.types[name] = t
	g.visits[name]++
	g.probe(root, t, way)
	for _, f := range fieldsOf(t) {
		// A type may hold itself (groups of groups); its defaults are known by then.
		if f.elem != nil && f.elem != t && !slices.ContainsFunc(way, func(above field) bool { return above.elem == f.elem }) {
			if err := g.visit(root, f.elem, append(slices.Clone(way), f)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *generator) probe(root, t reflect.Type, way []field) {
	object := reflect.New(root)
	descend(object.Elem(), way)
	legacyscheme.Scheme.Default(object.Interface().(runtime.Object))
	place := descend(object.Elem(), way)
	for _, f := range fieldsOf(t) {
		value := place.FieldByIndex(f.index)
		if value.IsZero() || strings.HasPrefix(f.shape, "{}") || value.Kind() == reflect.Struct {
			continue
		}
		text, err := json.Marshal(value.Interface())
		if err != nil {
			panic(err)
		}
		key := nameOf(t) + "." + f.name
		if g.defaults[key] == nil {
			g.defaults[key] = map[string]int{}
		}
		g.defaults[key][string(text)]++
	}
}

// descend goes down a way, making what is not there.
func descend(value reflect.Value, way []field) reflect.Value {
	for _, f := range way {
		value = value.FieldByIndex(f.index)
		for value.Kind() != reflect.Struct {
			switch value.Kind() {
			case reflect.Pointer:
				if value.IsNil() {
					value.Set(reflect.New(value.Type().Elem()))
				}
				value = value.Elem()
			case reflect.Slice:
				if value.Len() == 0 {
					value.Set(reflect.MakeSlice(value.Type(), 1, 1))
				}
				value = value.Index(0)
			default:
				panic(fmt.Sprintf("%s: no way into a %s", f.name, value.Type()))
			}
		}
	}
	return value
}

func (g *generator) lines() (string, error) {
	var out strings.Builder
	var names []string
	for name := range g.types {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line := name + ":"
		for _, f := range fieldsOf(g.types[name]) {
			word, err := g.word(name, f)
			if err != nil {
				return "", err
			}
			if len(line)+1+len(word) > width {
				out.WriteString(line + "\n")
				line = " "
			}
			line += " " + word
		}
		out.WriteString(line + "\n")
	}
	return out.String(), nil
}

func (g *generator) word(typeName string, f field) (string, error) {
	key, word := typeName+"."+f.name, f.name+":"+f.shape
	found := g.defaults[key]
	if len(found) == 0 || slices.Contains(always, key) {
		return word, nil
	}
	for text, count := range found {
		if len(found) == 1 && count == g.visits[typeName] && !strings.ContainsAny(text, " \\") {
			return word + "=" + text, nil
		}
	}
	if slices.Contains(conditional, key) {
		return word, nil
	}
	return "", fmt.Errorf("the default of %s depends on its place: %v in %d places; add a rule to webhook/admission/defaults.py",
		key, found, g.visits[typeName])
}

// fieldsOf lists the JSON fields of a struct, those of inlined structs included.
func fieldsOf(t reflect.Type) []field {
	var found []field
	for i := range t.NumField() {
		member := t.Field(i)
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case name == "" && (member.Anonymous || strings.Contains(options, "inline")):
			for _, inner := range fieldsOf(member.Type) {
				inner.index = append([]int{i}, inner.index...)
				found = append(found, inner)
			}
		case name == "-" || name == "":
		default:
			shape, elem := shapeOf(member.Type, name)
			found = append(found, field{name, shape + suffix(member.Type, options), []int{i}, elem})
		}
	}
	return found
}

func suffix(t reflect.Type, options string) string {
	omitted := strings.Contains(options, "omitempty")
	switch {
	case strings.Contains(options, "omitzero") && t.Kind() == reflect.Struct:
		return "?"
	case !omitted && !isOpaque(t) && t.Kind() != reflect.Struct:
		return "!"
	case !omitted && t == reflect.TypeFor[intstr.IntOrString]():
		return "!"
	}
	return ""
}

func isOpaque(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.FieldsV1]():
		return true
	}
	return false
}

func shapeOf(t reflect.Type, name string) (string, reflect.Type) {
	if isOpaque(t) || name == "managedFields" {
		return "x", nil
	}
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "q", nil
	case reflect.TypeFor[intstr.IntOrString]():
		return "i", nil
	}
	switch t.Kind() {
	case reflect.String:
		return "s", nil
	case reflect.Bool:
		return "b", nil
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return "i", nil
	case reflect.Struct:
		if name == "status" {
			return "x={}", nil // what an offline manifest says of its status is left as it is
		}
		return nameOf(t), t
	case reflect.Pointer:
		inner, elem := shapeOf(t.Elem(), name)
		if elem == nil && inner != "q" {
			return "x", nil
		}
		return "*" + inner, elem
	case reflect.Slice:
		inner, elem := shapeOf(t.Elem(), name)
		return "[]" + inner, elem
	case reflect.Map:
		inner, elem := shapeOf(t.Elem(), name)
		if elem != nil {
			panic(name + ": a map of structs is new; teach the table about it")
		}
		return "{}" + inner, nil
	}
	panic(fmt.Sprintf("%s: no shape for %s", name, t))
}
