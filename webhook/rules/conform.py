"""Whether a value fits its shape, and which of its parts may not be merged, with the API server's texts.

Follows structured-merge-diff typed/validate.go and apiserver pkg/admission/plugin/policy/mutating/patch/smd.go
(findAtomics). Where Go walks a map in no order, we take the author's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from webhook.rules.problems import RuleProblem
from webhook.rules.schema import Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of
from webhook.rules.values import Alien, go_brief, go_full, go_type

Key = tuple[tuple[str, Any], ...]
"""What tells an entry of a list from others: the values of its key fields, or its own value."""


def check_shape(shape: Shape, value: Any) -> None:
    """Raise RuleProblem with everything that does not fit."""
    errors = list(_errors(shape, value, ""))
    if errors:
        raise RuleProblem(errors[0] if len(errors) == 1 else "errors:\n" + "\n".join(f"  {error}" for error in errors))


def atomics(shape: Shape, value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of all atomic lists, maps and structs that a value holds, from the outside to the inside."""
    if isinstance(value, Mapping) and isinstance(shape, Struct | MapOf | Anything):
        if _is_atomic(shape):
            yield path
        # Entries of a map that is no struct are not looked into: FindField knows none of them.
        for name, inner in value.items() if isinstance(shape, Struct) else ():
            known = fields_of(shape).shapes.get(name) if isinstance(shape, Struct) else None
            if known is not None:
                yield from atomics(known, inner, f"{path}.{name}")
    elif isinstance(value, list) and isinstance(shape, ListOf | Anything):
        if isinstance(shape, Anything) or shape.atomic:
            yield path
        element = shape if isinstance(shape, Anything) else shape.element
        for index, inner in enumerate(value):
            yield from atomics(Anything(atomic=True) if isinstance(element, Anything) else element, inner, f"{path}[{index}]")


def key_of(shape: ListOf, value: Any) -> Key:
    """Return what tells an entry of an associative list apart; raises RuleProblem for one that cannot be told."""
    if not shape.keys:
        return (("", _told(_set_item(value))),)
    if not isinstance(value, Mapping):
        word = "a null element" if value is None else "non-map elements"
        raise RuleProblem(f"associative list with keys may not have {word}")
    defaults = fields_of(shape.element).defaults if isinstance(shape.element, Struct) else {}
    found = [(key, value.get(key, defaults.get(key))) for key in sorted(shape.keys) if key in value or key in defaults]
    if not found:
        keys = " ".join(f'"{key}"' for key in shape.keys)
        raise RuleProblem(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return tuple((key, _told(item)) for key, item in found)


def key_text(key: Key) -> str:
    """Return a key as it stands in a path."""
    return "[" + ",".join(f"{name}={_shown(told)}" for name, told in key) + "]"


def _set_item(value: Any) -> Any:
    if isinstance(value, Mapping):
        raise RuleProblem("associative list without keys has an element that's a map type")
    if isinstance(value, list):
        raise RuleProblem("not supported: associative list with lists as elements")
    if value is None:
        raise RuleProblem("associative list without keys has an element that's an explicit null")
    return value


def _told(value: Any) -> Any:
    """Make a value that can be looked up; to Python ``true`` and ``1`` are one key."""
    return (type(value) is bool, value) if isinstance(value, str | int | float) else (None, go_brief(value))


def _shown(told: Any) -> str:
    _, value = told
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _errors(shape: Shape, value: Any, path: str) -> Iterator[str]:
    match shape:
        case Scalar():
            yield from _scalar_errors(shape, value, path)
        case ListOf():
            yield from _list_errors(shape, value, path)
        case MapOf() | Struct():
            yield from _map_errors(shape, value, path)
        case Anything():
            yield from _any_errors(shape, value, path)
        case _:
            assert_never(shape)


def _scalar_errors(shape: Scalar, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match shape.name:
        case "number" if not number:
            yield f"{path}: expected numeric (int or float), got {go_type(value)}"
        case "text" if not isinstance(value, str):
            yield f"{path}: expected string, got {go_full(value)}"
        case "boolean" if not isinstance(value, bool):
            yield f"{path}: expected boolean, got {go_brief(value)}"
        case "any" if not isinstance(value, str | int | float):
            yield f"{path}: expected any scalar, got {go_brief(value)}"


def _map_errors(shape: MapOf | Struct, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield f"{path}: expected map, got {go_brief(value)}".removeprefix(": ")
        return
    for name, inner in value.items():
        element = shape.element if isinstance(shape, MapOf) else fields_of(shape).shapes.get(name)
        if element is None:
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _errors(element, inner, f"{path}.{name}")


def _list_errors(shape: ListOf, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, list):
        yield f"{path}: expected list, got {go_brief(value)}"
        return
    seen: set[Key] = set()
    for index, inner in enumerate(value):
        where = f"[{index}]"
        if not shape.atomic:
            try:
                key = key_of(shape, inner)
            except RuleProblem as problem:
                yield f"{path}: element {index}: {problem}"
                return
            where = key_text(key)
            if key in seen:
                yield f"{path}: duplicate entries for key {where}"
            seen.add(key)
        yield from _errors(shape.element, inner, path + where)


def _any_errors(shape: Anything, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Alien):  # of the forms that a value of unknown type can have, Go tries the map first
        yield f"{path}: expected map, got {go_brief(value)}".removeprefix(": ")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _any_errors(shape, inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _any_errors(shape, inner, f"{path}[{index}]")


def _is_atomic(shape: Struct | MapOf | Anything) -> bool:
    return shape.atomic or (isinstance(shape, Struct) and fields_of(shape).atomic)
