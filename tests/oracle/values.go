package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/mutation"
)

type object = map[string]any

// read decodes tagged JSON; numbers become int64 where they can, else float64, as in the API server.
func read(raw json.RawMessage) (any, error) {
	holder := object{}
	if err := utiljson.Unmarshal([]byte(`{"v":`+string(raw)+`}`), &holder); err != nil {
		return nil, err
	}
	return untag(holder["v"])
}

func untag(value any) (any, error) {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			made, err := untag(item)
			if err != nil {
				return nil, err
			}
			out[i] = made
		}
		return out, nil
	case object:
		out := make(object, len(v))
		for key, item := range v {
			if len(v) == 1 && strings.HasPrefix(key, "$") {
				return untagOne(key, item)
			}
			made, err := untag(item)
			if err != nil {
				return nil, err
			}
			out[key] = made
		}
		return out, nil
	}
	return value, nil
}

func untagOne(tag string, content any) (any, error) {
	if pairs, ok := content.([]any); ok && tag == "$map" {
		return untagPairs(pairs)
	}
	text, ok := content.(string)
	if !ok {
		return nil, fmt.Errorf("%s does not take a %T", tag, content)
	}
	switch tag {
	case "$uint":
		return strconv.ParseUint(text, 10, 64)
	case "$double":
		return strconv.ParseFloat(text, 64)
	case "$bytes":
		return base64.StdEncoding.DecodeString(text)
	case "$timestamp":
		return time.Parse(time.RFC3339Nano, text)
	case "$duration":
		nanoseconds, err := strconv.ParseInt(text, 10, 64)
		return time.Duration(nanoseconds), err
	}
	return nil, fmt.Errorf("%s cannot be read", tag)
}

func untagPairs(pairs []any) (any, error) {
	out := map[ref.Val]ref.Val{}
	for _, item := range pairs {
		pair, ok := item.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("$map takes pairs")
		}
		key, err := untag(pair[0])
		if err != nil {
			return nil, err
		}
		value, err := untag(pair[1])
		if err != nil {
			return nil, err
		}
		out[types.DefaultTypeAdapter.NativeToValue(key)] = types.DefaultTypeAdapter.NativeToValue(value)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out), nil
}

// show encodes a value so that JSON keeps its type.
func show(value ref.Val) any {
	switch v := value.(type) {
	case types.Null:
		return nil
	case types.Bool:
		return bool(v)
	case types.Int:
		return int64(v)
	case types.String:
		return string(v)
	case types.Uint:
		return object{"$uint": strconv.FormatUint(uint64(v), 10)}
	case types.Double:
		return object{"$double": showDouble(float64(v))}
	case types.Bytes:
		return object{"$bytes": base64.StdEncoding.EncodeToString(v)}
	case types.Timestamp:
		return object{"$timestamp": v.Time.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return object{"$duration": strconv.FormatInt(int64(v.Duration), 10)}
	case *types.Type:
		return object{"$type": v.TypeName()}
	case *types.Optional:
		held := []any{}
		if v.HasValue() {
			held = append(held, show(v.GetValue()))
		}
		return object{"$optional": held}
	case *types.Err:
		return object{"$error": v.Error()}
	case *mutation.JSONPatchVal:
		return object{"$jsonpatch": showPatch(v)}
	case traits.Mapper:
		return showMap(v)
	case traits.Lister:
		out := []any{}
		for i := range int64(v.Size().(types.Int)) {
			out = append(out, show(v.Get(types.Int(i))))
		}
		return out
	}
	return showOpaque(value)
}

func showDouble(value float64) string {
	switch {
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func showPatch(patch *mutation.JSONPatchVal) object {
	out := object{"op": patch.Op, "path": patch.Path}
	if patch.From != "" {
		out["from"] = patch.From
	}
	if patch.Val != nil {
		out["value"] = show(patch.Val)
	}
	return out
}

// showMap gives an object where all keys are text, else sorted pairs.
func showMap(value traits.Mapper) any {
	out, pairs := object{}, [][]any{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		item := show(value.Get(key))
		if text, ok := key.(types.String); ok {
			out[string(text)] = item
		}
		pairs = append(pairs, []any{show(key), item})
	}
	if len(out) == len(pairs) {
		return out
	}
	slices.SortFunc(pairs, func(a, b []any) int { return strings.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
	return object{"$map": pairs}
}

func showOpaque(value ref.Val) any {
	name, text := value.Type().TypeName(), ""
	switch v := value.(type) {
	case apiservercel.Quantity:
		text = v.Quantity.String()
	case apiservercel.IP:
		text = v.Addr.String()
	case apiservercel.CIDR:
		text = v.Prefix.String()
	case apiservercel.Semver:
		text = v.Version.String()
	case apiservercel.Format:
		text = v.Name
	case apiservercel.URL:
		text = v.URL.String()
	default:
		if fields, err := value.ConvertToNative(reflect.TypeFor[object]()); err == nil {
			return object{"$object": name, "fields": fields}
		}
		text = fmt.Sprint(value.Value())
	}
	return object{"$opaque": name, "str": text}
}
