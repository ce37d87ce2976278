"""Values of CEL on their way into an object: what is JSON, and what is none and is refused as the API server does.

An ``Object{…}`` takes Go values (apiserver pkg/cel/mutation/dynamic/objects.go), a ``JSONPatch{…}`` takes JSON (cel-go's
ConvertToNative to structpb.Value). A mapping that was *written* in an expression, inside a list or another mapping, is
neither for an ``Object``: only ``Object.spec.x{…}`` is, or what was read from an object. Easily mistaken, so it is refused
here as there.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webhook.cel.structs import TypedObject
from webhook.cel.times import show_duration, show_timestamp
from webhook.cel.values import Duration, Optional, Timestamp, TypeValue, UInt, entries_of, type_name
from webhook.rules.problems import RuleProblem

_SAFE = 2**53 - 1
"""The largest whole number that JSON's numbers hold exactly; beyond it cel-go writes text."""
_NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "


class Alien:
    """A Go value that is no JSON, in the three ways in which Go shows values, and the JSON that it still has for some."""

    __slots__ = ("brief", "full", "json", "type")

    def __init__(self, type_: str, brief: str, full: str = "", json: Any = None) -> None:
        self.type, self.brief, self.full, self.json = type_, brief, full or brief, json


def go_type(value: Any) -> str:
    """Return what Go's ``%T`` shows of a value."""
    if isinstance(value, Alien):
        return value.type
    names: tuple[tuple[type, str], ...] = (
        (bool, "bool"), (int, "int64"), (float, "float64"), (str, "string"), (list, "[]interface {}"),
    )  # fmt: skip
    return next((name for kind, name in names if isinstance(value, kind)), "map[string]interface {}")


def go_brief(value: Any) -> str:
    """Return what Go's ``%v`` shows of a value within structured-merge-diff."""
    return f"&{{{_brief(value)}}}"


def go_full(value: Any) -> str:
    """Return what Go's ``%#v`` shows of a value within structured-merge-diff."""
    return f"&value.valueUnstructured{{Value:{_full(value)}}}"


class Natives:
    """The identities of all mappings and lists that stand in given objects, and so were not written in CEL.

    They are collected when the first is asked for: few mutations hand on what they read.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self._waiting: list[Any] = [value for value in values if isinstance(value, dict | list)]
        self._found: set[int] = set()

    def __contains__(self, identity: object) -> bool:
        """Tell whether an identity is among them."""
        waiting, found = self._waiting, self._found
        while waiting:
            value = waiting.pop()
            found.add(id(value))
            inner = value.values() if isinstance(value, dict) else value
            waiting.extend(item for item in inner if isinstance(item, dict | list))
        return identity in found


def type_mismatches(value: Any, path: str) -> Iterator[str]:
    """Yield where a typed object stands in a field of another name."""
    if isinstance(value, TypedObject):
        if value.name != path:
            yield (f'unexpected type name "{value.name}", expected "{path}", which matches field name path from root Object type')
        for name, inner in value.fields.items():
            yield from type_mismatches(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from type_mismatches(item, path)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from type_mismatches(item, path)


def as_go(value: Any, natives: Natives) -> Any:
    """Return what a field of ``Object{…}`` puts into the object: JSON, or an ``Alien`` for what is refused later."""
    if isinstance(value, TypedObject):
        try:
            return {name: _named(name, inner, natives) for name, inner in value.fields.items()}
        except _BadKey as error:
            return Alien("*errors.errorString", str(error))
    if isinstance(value, list) and id(value) not in natives:
        return [_item(item, natives) for item in value]
    if isinstance(value, Mapping) and id(value) not in natives:
        return _mapping(value, natives)
    return _scalar(value)


def _named(name: str, value: Any, natives: Natives) -> Any:
    try:
        return as_go(value, natives)
    except _BadKey as error:
        raise _BadKey(f'fail to convert field "{name}": {error}') from error


class _BadKey(Exception):  # noqa: N818 - caught a few lines above
    """A key that is no text; Go turns the whole object that holds the map into an error value."""


def _mapping(value: Mapping[Any, Any], natives: Natives) -> Any:
    for key in value:
        if type(key) is not str:
            raise _BadKey(f"map key {key!r} is of type types.{type_name(key).capitalize()}, not string")
    return {key: _item(item, natives) for key, item in value.items()}


def _item(value: Any, natives: Natives) -> Any:
    """Return an entry of a list or mapping that was written in CEL; one that was itself written so is no JSON to Go."""
    if isinstance(value, TypedObject):
        return as_go(value, natives)
    if isinstance(value, list | Mapping) and id(value) not in natives:
        kind = "[]ref.Val" if isinstance(value, list) else "map[ref.Val]ref.Val"
        return Alien(kind, _brief(value))
    return _scalar(value)


def _scalar(value: Any) -> Any:
    match value:
        case None:
            return Alien("structpb.NullValue", "NULL_VALUE", "0")
        case UInt():
            return Alien("uint64", str(int(value)), hex(value), int(value))
        case bytes():
            octets = ", ".join(hex(octet) for octet in value)
            json = base64.b64encode(value).decode()
            return Alien("[]uint8", f"[{' '.join(map(str, value))}]", f"[]uint8{{{octets}}}", json)
        case Timestamp():
            return Alien("time.Time", show_timestamp(value).replace("T", " ").replace("Z", " +0000 UTC"))
        case Duration():
            return Alien("time.Duration", show_duration(value))
        case float() if value.is_integer() and abs(value) <= _SAFE:
            return int(value)  # as JSON, in which Go writes 1.0 as 1
        case bool() | int() | float() | str() | list() | dict():
            return value
        case Optional() if value.present:
            return _scalar(value.value)
        case _:
            return Alien(type_name(value), str(value))


def as_json(value: Any, natives: Natives) -> Any:
    """Return a value as JSON for a patch operation; raises RuleProblem for what has no JSON."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value) if -_SAFE <= value <= _SAFE else str(int(value))
        case float():
            return _number(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Timestamp():
            return show_timestamp(value)
        case Duration():
            return show_duration(value)
        case Optional():
            return as_json(value.value, natives) if value.present else None
        case TypedObject():
            return _struct_json(as_go(value, natives))
        case list():
            return [as_json(item, natives) for item in value]
        case Mapping():
            return {_key_json(key): as_json(item, natives) for key, item in entries_of(value)}
        case TypeValue():
            raise RuleProblem(f"{_NO_JSON}type conversion not supported for 'type'")
        case _:
            name = type_name(value).rpartition(".")[2]
            raise RuleProblem(f"{_NO_JSON}type conversion error from '{name}' to '*structpb.Value'")


def _struct_json(value: Any) -> Any:
    """Return the Go value of an ``Object…{…}`` as JSON (structpb.NewValue), which knows fewer types than CEL does."""
    match value:
        case Alien() if value.type in ("uint64", "[]uint8"):
            return value.json
        case Alien():
            raise RuleProblem(f"{_NO_JSON}proto: invalid type: {value.type}")
        case dict():
            return {key: _struct_json(item) for key, item in value.items()}
        case list():
            return [_struct_json(item) for item in value]
        case float():
            return _number(value)
        case _:
            return value


def _key_json(key: Any) -> str:
    if type(key) is str:
        return key
    name = type_name(key)
    if name == "bool":
        raise RuleProblem(f"{_NO_JSON}type conversion error from bool to 'string'")
    raise RuleProblem(f"{_NO_JSON}unsupported type conversion from '{name}' to string")


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise RuleProblem(
            f"{_NO_JSON}json: error calling MarshalJSON for type *structpb.Value: "
            f"proto: google.protobuf.Value.number_value: invalid {shown} value"
        )
    return int(value) if value.is_integer() and abs(value) <= _SAFE else value


def _brief(value: Any) -> str:
    match value:
        case Alien():
            return value.brief
        case bool():
            return str(value).lower()
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e21 else str(value)
        case list():
            return f"[{' '.join(map(_brief, value))}]"
        case Mapping():
            return f"map[{' '.join(f'{key}:{_brief(value[key])}' for key in sorted(value, key=str))}]"
        case _:
            return "<nil>" if value is None else str(value)


def _full(value: Any) -> str:
    match value:
        case Alien():
            return value.full
        case str():
            return f'"{value}"'
        case list():
            return f"[]interface {{}}{{{', '.join(map(_full, value))}}}"
        case Mapping():
            entries = ", ".join(f'"{key}":{_full(value[key])}' for key in sorted(value))
            return f"map[string]interface {{}}{{{entries}}}"
        case _:
            return "interface {}(nil)" if value is None else _brief(value)
