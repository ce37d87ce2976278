"""The fields of built-in kinds as CEL types, as the controller that writes ``status.typeChecking`` of a policy declares them.

It has its quirks (apiserver pkg/cel/common/schemas.go): a quantity has no type there, so that ``resources.limits`` is an unknown
field; and a timestamp is one, although expressions see text. Who wants to repeat what it says asks for the ``exact`` type, with
all that; who wants to know what is wrong asks for the other, in which such fields are dyn and structs are all of one name.
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
from webhook.rules.schema import Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of, is_known, shape_of

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
_QUIRKS = ("-", "t", "y", "o")
"""Letters of fields whose values have another type than the checker believes, or parts that it does not know of."""


def object_type(kind: Kind, *, exact: bool = False) -> Type | None:
    """Return the type of the objects of a built-in kind; None for a kind that the table does not have."""
    try:
        shape = shape_of(kind)
    except RuleProblem:
        return None
    return _struct(shape.name, kind.kind, exact=exact) if isinstance(shape, Struct) else None


def scalar_type(struct: str, name: str) -> Type | None:
    """Return the type of a field's values, or of those in its list or map, if it is text, a whole number or a boolean.

    None for all others, and for structs and fields that the table does not have.
    """
    shape = fields_of(Struct(struct)).shapes.get(name) if is_known(struct) else None
    while isinstance(shape, ListOf | MapOf):
        shape = shape.element
    if not isinstance(shape, Scalar) or shape.name == "any" or _letters().get(struct, {}).get(name):
        return None
    return _SCALARS[shape.name]


class _Fields(Mapping[str, Type]):
    """The fields of one struct, made when they are asked for: a Pod has a thousand and an expression reads five."""

    def __init__(self, struct: str, path: str, *, exact: bool) -> None:
        self._letters = _letters().get(struct, {})
        self._path, self._exact = path, exact
        self._shapes = fields_of(Struct(struct)).shapes
        there = [name for name in self._shapes if not exact or self._letters.get(name) != _NOT_THERE]
        self._names = {known: name for name in there for known in (name, *_escaped(name))}

    def __getitem__(self, name: str) -> Type:
        real = self._names[name]
        letter = self._letters.get(real, "")
        if letter in _QUIRKS and not self._exact:
            return types.DYN
        return _type(self._shapes[real], letter, f"{self._path}.{name}", exact=self._exact)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _struct(name: str, path: str, *, exact: bool) -> Type:
    return Type(types.Kind.STRUCT, path if exact else "object", fields=_Fields(name, path, exact=exact))


def _type(shape: Shape, letter: str, path: str, *, exact: bool) -> Type:
    """Return the type of a value; the checker tells structs apart by where they stand (MaybeAssignTypeName), we do not."""
    match shape:
        case ListOf():
            return types.list_of(_type(shape.element, letter, f"{path}.@idx", exact=exact))
        case _ if letter == _EMPTY:
            return Type(types.Kind.STRUCT, path, fields={})
        case MapOf():
            return types.map_of(types.STRING, _type(shape.element, letter, f"{path}.@elem", exact=exact))
        case _ if letter:
            return _LETTERS[letter]
        case Struct():
            return _struct(shape.name, path, exact=exact)
        case Scalar():
            return _SCALARS[shape.name]
        case Anything():
            return types.DYN
    assert_never(shape)


def _escaped(name: str) -> tuple[str, ...]:
    """Return the other name of a field that is called like a reserved word."""
    return (f"__{name}__",) if name in _RESERVED else ()


@cache
def _letters() -> Mapping[str, Mapping[str, str]]:
    """Read the table: the letter of each field that has one, by the name of its struct."""
    entries = (entry.split() for entry in FIELDS.split(";") if entry.strip())
    return {name.removesuffix(":"): dict(word.split(":") for word in words) for name, *words in entries}
