"""Typed objects: ``Object{…}`` and ``JSONPatch{…}`` of mutation (apiserver pkg/cel/mutation), and protobuf's wrappers of scalars.

``Object.spec.template`` is the type of that field of an object of unknown schema: any field may be set, to anything. Other
messages that cel-go knows are refused: a policy has no use for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webhook.cel import types
from webhook.cel.errors import CompileError, EvaluationError
from webhook.cel.frames import Closure, Frame
from webhook.cel.syntax import StructLiteral
from webhook.cel.types import Kind, Type
from webhook.cel.values import Optional, UInt, type_name

_JSON_PATCH = Type(
    Kind.STRUCT,
    "JSONPatch",
    fields={"op": types.STRING, "path": types.STRING, "from": types.STRING, "value": types.DYN},
)
_WRAPPERS: Mapping[str, tuple[Type, Any]] = {
    "google.protobuf.BoolValue": (types.BOOL, False),
    "google.protobuf.BytesValue": (types.BYTES, b""),
    "google.protobuf.DoubleValue": (types.DOUBLE, 0.0),
    "google.protobuf.Int32Value": (types.INT, 0),
    "google.protobuf.Int64Value": (types.INT, 0),
    "google.protobuf.StringValue": (types.STRING, ""),
    "google.protobuf.UInt32Value": (types.UINT, UInt(0)),
    "google.protobuf.UInt64Value": (types.UINT, UInt(0)),
}
_RANGES = {"google.protobuf.Int32Value": (-(2**31), 2**31 - 1), "google.protobuf.UInt32Value": (0, 2**32 - 1)}


class TypedObject:
    """A value of ``Object{…}``; ``name`` is its type's."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name, self.fields = name, fields

    @property
    def cel_type(self) -> Type:
        """Return the type that ``type()`` shows."""
        return Type(Kind.STRUCT, self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedObject) and self.name == other.name and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.name)


class JsonPatch(TypedObject):
    """A value of ``JSONPatch{…}``."""

    __slots__ = ()


def result_type(node: StructLiteral, *, patch_types: bool) -> Type:
    """Return the type of a typed object; raises CompileError where there is none of that name."""
    name = node.name
    if patch_types and name == "JSONPatch":
        return _JSON_PATCH
    if patch_types and (name == "Object" or name.startswith("Object.")):
        return Type(Kind.STRUCT, name)
    if name in _WRAPPERS:
        return _WRAPPERS[name][0]
    if name.startswith("google."):
        raise CompileError(f"unsupported message type '{name}'", *node.place)
    raise CompileError(f"undeclared reference to '{name}' (in container '')", *node.place)


def field_type(node: StructLiteral, position: int, of: Type) -> Type:
    """Return what a field of a typed object takes; raises CompileError for a field that is not there."""
    field = node.fields[position]
    if node.name in _WRAPPERS and field == "value":
        return of
    if node.name not in _WRAPPERS and of.fields is None:
        return types.DYN
    if of.fields is None or field not in of.fields:
        raise CompileError(f"undefined field '{field}'", *node.field_places[position])
    return of.fields[field]


def is_typed(type_: Type) -> bool:
    """Tell whether values of a type are written ``Object{…}`` or ``JSONPatch{…}``."""
    return type_.kind is Kind.STRUCT and (type_.name == "JSONPatch" or type_.name.partition(".")[0] == "Object")


def read_field(value: TypedObject, field: str) -> Any:
    """Return a field of a typed object as cel-go gives it back: unset is null or empty, and what it holds is plain."""
    if not isinstance(value, JsonPatch):
        return plain(value.fields.get(field))
    return value.fields.get(field, None if field == "value" else "")


def plain(value: Any) -> Any:
    """Return a value without typed objects and optionals: they become what they hold (mutation/dynamic/objects.go)."""
    if isinstance(value, TypedObject) and not isinstance(value, JsonPatch):
        return {field: plain(item) for field, item in value.fields.items()}
    if isinstance(value, Optional):
        return plain(value.value)
    if type(value) is list:
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if type(value) is dict else value


def make_object(node: StructLiteral, values: list[Closure]) -> Closure:
    """Build a typed object; an absent optional leaves its field out."""
    make = _maker(node.name)
    entries = list(zip(node.fields, values, node.optional, strict=True))

    def run(frame: Frame) -> Any:
        fields: dict[str, Any] = {}
        for field, value, may_miss in entries:
            made = value(frame)
            if may_miss:
                if not isinstance(made, Optional):
                    raise EvaluationError(f"cannot initialize optional entry '{field}' from non-optional value", "no_overload")
                if not made.present:
                    continue
                made = made.value
            fields[field] = made
        return make(fields)

    return run


def _maker(name: str) -> Callable[[Mapping[str, Any]], Any]:
    if name in _WRAPPERS:
        return lambda fields: _unwrap(name, fields)
    if name == "JSONPatch":
        return _make_patch
    return lambda fields: TypedObject(name, fields)


def _make_patch(fields: Mapping[str, Any]) -> JsonPatch:
    for field in ("op", "path", "from"):
        if type(fields.get(field, "")) is not str:
            raise EvaluationError(f"unexpected type {type_name(fields[field])} for JSONPatchType '{field}' field", "conversion")
    return JsonPatch("JSONPatch", fields)


def _unwrap(name: str, fields: Mapping[str, Any]) -> Any:
    type_, default = _WRAPPERS[name]
    value = fields.get("value", default)
    if type_name(value) != type_.name:
        raise EvaluationError(f"field type conversion error for {name}.value value type: {type_name(value)}", "conversion")
    low, high = _RANGES.get(name, (None, None))
    if low is not None and high is not None and not low <= value <= high:
        raise EvaluationError("integer overflow" if type_ == types.INT else "unsigned integer overflow", "overflow")
    return value
