"""The fields of built-in kinds as CEL types, as the controller that writes ``status.typeChecking`` of a policy declares them.

It has its quirks, which are kept, for the point is to say what it says: a quantity has no type there, so that
``resources.limits`` is an unknown field, and ``metadata.namespace`` one that it knows as ``__namespace__`` only
(apiserver pkg/cel/common/schemas.go and pkg/cel/escaping.go). ``is_quirk`` tells those from real mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import assert_never

from webhook.cel import types
from webhook.cel.types import Type
from webhook.model.objects import Kind
from webhook.rules._field_types_table import FIELDS
from webhook.rules.problems import RuleProblem
from webhook.rules.schema import Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of, shape_of

_LETTERS = {
    "*": types.DYN,
    "b": types.BOOL,
    "d": types.DOUBLE,
    "i": types.INT,
    "s": types.STRING,
    "t": types.TIMESTAMP,
    "y": types.BYTES,
}
_SCALARS = {"text": types.STRING, "number": types.INT, "boolean": types.BOOL, "any": types.DYN}
_RESERVED = frozenset(
    """true false null in as break const continue else for function if import let loop package namespace return var void
    while""".split()
)
_EMPTY, _NOT_THERE = "o", "-"


def object_type(kind: Kind) -> Type | None:
    """Return the type of the objects of a built-in kind; None for a kind that the table does not have."""
    try:
        shape = shape_of(kind)
    except RuleProblem:
        return None
    return _struct(shape.name, kind.kind) if isinstance(shape, Struct) else None


def is_quirk(struct: Type, field: str) -> bool:
    """Tell whether a field that a type does not have is there all the same, in the objects of its kind."""
    return isinstance(struct.fields, Fields) and field in struct.fields.real


class Fields(Mapping[str, Type]):
    """The fields of one struct, made when they are asked for: a Pod has a thousand and an expression reads five."""

    def __init__(self, struct: str, path: str) -> None:
        self._letters = _letters().get(struct, {})
        self._path = path
        self.real = fields_of(Struct(struct)).shapes
        """Every field that is really there, with its shape."""
        self._names = {_escaped(name): name for name in self.real if self._letters.get(name) != _NOT_THERE}

    def __getitem__(self, name: str) -> Type:
        real = self._names[name]
        return _type(self.real[real], self._letters.get(real, ""), f"{self._path}.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _struct(name: str, path: str) -> Type:
    return Type(types.Kind.STRUCT, path, fields=Fields(name, path))


def _type(shape: Shape, letter: str, path: str) -> Type:
    """Return the type of a value; structs are told apart by where they stand, as in MaybeAssignTypeName."""
    match shape:
        case ListOf():
            return types.list_of(_type(shape.element, letter, f"{path}.@idx"))
        case MapOf():
            return types.map_of(types.STRING, _type(shape.element, letter, f"{path}.@elem"))
        case _ if letter == _EMPTY:
            return Type(types.Kind.STRUCT, path, fields={})
        case _ if letter:
            return _LETTERS[letter]
        case Struct():
            return _struct(shape.name, path)
        case Scalar():
            return _SCALARS[shape.name]
        case Anything():
            return types.DYN
    assert_never(shape)


def _escaped(name: str) -> str:
    return f"__{name}__" if name in _RESERVED else name


@cache
def _letters() -> Mapping[str, Mapping[str, str]]:
    """Read the table: the letter of each field that has one, by the name of its struct."""
    entries = (entry.split() for entry in FIELDS.split(";") if entry.strip())
    return {name.removesuffix(":"): dict(word.split(":") for word in words) for name, *words in entries}
