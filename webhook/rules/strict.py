"""Whether the API server could read back what a JSON patch made of an object; if not, it answers 500 for the whole request.

It decodes strictly (apiserver pkg/admission/plugin/policy/mutating/patch/json_patch.go), objects of built-in kinds into
their Go types. What was there before the patch is not looked at: a newer API server may know more fields than we do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from webhook.model.objects import Kind, Object
from webhook.rules.problems import RuleProblem, Unstorable
from webhook.rules.schema import DEDUCED, Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of, shape_of
from webhook.rules.values import go_type

_ABSENT = object()


def check_patched(before: Object, after: Any) -> Object:
    """Return the patched object; raises Unstorable where it is none, or none of the same kind, or has fields of no type."""
    if not isinstance(after, dict):
        raise Unstorable("the patch makes something of the object that is no object")
    try:
        shape = shape_of(Kind.of(before))
    except RuleProblem:  # a kind of which we know too little to tell
        shape = DEDUCED
    if isinstance(shape, Struct):  # then the API server knows what it is decoding into
        after = {key: before[key] for key in ("apiVersion", "kind") if key not in after} | after
    for key, name in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not after.get(key):
            raise Unstorable(f"Object '{name}' is missing after the patch")
        if after[key] != before.get(key):
            raise Unstorable(f"the patch changes {key} from {before.get(key)} to {after[key]}")
    unknown: list[str] = []
    for path, problem in _problems(shape, before, after, ""):
        if problem:
            raise Unstorable(f"json: cannot unmarshal {problem} into {path.lstrip('.')}")
        unknown.append(f'unknown field "{path.lstrip(".")}"')
    if unknown:
        raise Unstorable(f"strict decoding error: {', '.join(unknown)}")
    found: Object = after
    return found


def _problems(shape: Shape, before: Any, after: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the places that do not fit the type, with what is wrong there; nothing where the field is not known at all."""
    if after is None or after == before:
        return
    match shape:
        case Struct():
            yield from _struct_problems(shape, before, after, path)
        case MapOf() if isinstance(after, Mapping):
            for name, value in after.items():
                yield from _problems(shape.element, _get(before, name), value, f"{path}.{name}")
        case ListOf() if isinstance(after, list):
            for index, value in enumerate(after):
                old = before[index] if isinstance(before, list) and index < len(before) else _ABSENT
                yield from _problems(shape.element, old, value, f"{path}[{index}]")
        case MapOf() | ListOf():
            yield path, _word(after)
        case Scalar():
            yield from ((path, problem) for problem in _scalar_problems(shape, after))
        case Anything():
            return
        case _:
            assert_never(shape)


def _struct_problems(shape: Struct, before: Any, after: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(after, Mapping):
        yield path, _word(after)
        return
    known = fields_of(shape).shapes
    for name, value in after.items():
        old = _get(before, name)
        if value is old:  # as most of an object is, after a patch
            continue
        if name in known:
            yield from _problems(known[name], old, value, f"{path}.{name}")
        elif old is _ABSENT:
            yield f"{path}.{name}", ""


def _scalar_problems(shape: Scalar, value: Any) -> Iterator[str]:
    kind = go_type(value)
    fits = {"text": ("string",), "boolean": ("bool",), "number": ("int64",), "any": ("string", "int64", "float64")}
    if kind not in fits[shape.name]:
        yield _word(value)


def _get(value: Any, name: str) -> Any:
    return value.get(name, _ABSENT) if isinstance(value, dict | Mapping) else _ABSENT


def _word(value: Any) -> str:
    words = {"bool": "bool", "string": "string", "int64": "number", "[]interface {}": "array"}
    kind = go_type(value)
    return f"number {value}" if kind == "float64" else words.get(kind, "object")
