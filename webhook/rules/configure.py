"""An ApplyConfiguration: the ``Object{…}`` of an expression, merged into the object under review.

Follows apiserver pkg/admission/plugin/policy/mutating/patch/smd.go. It can set and add, never remove; and it refuses
what it could only replace whole (atomic lists, maps and structs), because that would drop what it does not name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.model.objects import Kind, Object
from webhook.rules.conform import atomics, check_shape
from webhook.rules.merge import merge
from webhook.rules.problems import RuleProblem
from webhook.rules.schema import ListOf, Scalar, Shape, Struct, fields_of, shape_of
from webhook.rules.values import Natives, as_go, type_mismatches


def configure(obj: Object, value: Any, natives: Natives) -> Object:
    """Return the object with all that an ``Object{…}`` says; raises RuleProblem in the API server's words."""
    mismatches = list(type_mismatches(value, "Object"))
    if mismatches:
        raise RuleProblem("type mismatch: " + "\n".join(mismatches))
    given = as_go(value, natives)
    if not isinstance(given, dict):
        raise RuleProblem("invalid return type: *dynamic.ObjectVal")
    given |= {key: obj[key] for key in ("apiVersion", "kind") if key in obj}  # whatever the author wrote there
    kind = Kind.of(obj)
    shape = shape_of(kind)
    try:
        check_shape(shape, given)
    except RuleProblem as problem:
        raise RuleProblem(f"error applying patch: failed to convert patch object to typed object: {problem}") from problem
    found = list(atomics(shape, given))
    if found:
        raise RuleProblem(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " + ", ".join(found)
        )
    try:
        merged: Object = merge(shape, obj, _written(given))
    except RuleProblem as problem:
        raise RuleProblem(f"error applying patch: failed to merge patch: {problem}") from problem
    fractions = list(_fractions(shape, given, "")) if isinstance(shape, Struct) else ()
    if fractions:  # no number of a built-in kind has any, as no Go type of theirs has
        where = f"{kind.api_version}, Kind={kind.kind}: cannot convert float64 to a whole number: {', '.join(fractions)}"
        raise RuleProblem(f"unable to convert unstructured object to {where}")
    return merged


def _written(value: Any) -> Any:
    """Return the value as Go writes it: an empty list of an expression is a nil slice, and so null."""
    if isinstance(value, dict):
        return {key: _written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_written(item) for item in value] or None
    return value


def _fractions(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Yield the paths of numbers that are not whole."""
    match shape:
        case Scalar() if isinstance(value, float):
            yield path
        case Struct() if isinstance(value, dict):
            known = fields_of(shape).shapes
            for name, inner in value.items():
                if name in known:
                    yield from _fractions(known[name], inner, f"{path}.{name}")
        case ListOf() if isinstance(value, list):
            for index, inner in enumerate(value):
                yield from _fractions(shape.element, inner, f"{path}[{index}]")
        case _:
            return
