"""An object as the API server holds it: the fields of its type, constants filled in, empty ones gone, quantities in one form.

The table of types is generated from the API server's own (see ``_defaults_table``). A value of the wrong shape stays as it is:
refusing it is validation's business, not ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from webhook.admission._defaults_table import ROOTS, TYPES
from webhook.cel import EvaluationError, Quantity, parse_quantity
from webhook.model.objects import Kind, Object

Rule = Callable[[Object], Object]
"""What is to be done to an object of a type before its constants are filled in; it gets the raw value and returns another."""

_ABSENT: Final = object()
_ZEROS: Mapping[str, Any] = MappingProxyType({"s": "", "i": 0, "b": False})
_WORD = re.compile(r"(?P<name>\w+):(?P<around>\*|\[\]|\{\})?(?P<shape>[\w.]+)(?P<mark>[!?])?(?:=(?P<default>\S+))?")
_MILLI = 10**6
"""Billionths in a thousandth: the API server rounds resource lists up to it (SetDefaults_ResourceList)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a type, as the table says it."""

    name: str
    around: str
    shape: str
    mark: str
    default: Any
    fills: bool
    """Whether something stands in its place where no value was given."""

    @property
    def is_struct(self) -> bool:
        """Tell whether values of this field have fields themselves."""
        return self.shape in _TYPES


def fields_of(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type by their names."""
    return {field.name: field for field in _TYPES[type_name]}


def type_of(obj: Object) -> str | None:
    """Return the name of an object's type, or None if the table does not have its kind."""
    return ROOTS.get(str(Kind.of(obj)))


def shape_as(type_name: str, value: Any, rules: Mapping[str, Rule]) -> Any:
    """Return ``value`` as the API server holds a value of this type."""
    if value is None:
        value = {}
    if not isinstance(value, dict):
        return value
    rule = rules.get(type_name)
    given = rule(value) if rule else value
    shaped = {}
    for field in _TYPES[type_name]:
        name = field.name
        # Of a pod's hundreds of fields an object has a few.
        if (name in given or field.fills) and (found := _field(field, given.get(name), rules)) is not _ABSENT:
            shaped[name] = found
    return shaped


def _field(field: Field, value: Any, rules: Mapping[str, Rule]) -> Any:
    if field.around in ("[]", "{}"):
        return _collection(field, value, rules)
    if value is None or _is_zero(field, value):
        return _empty(field, rules)
    found = _element(field.shape, value, rules)
    return _ABSENT if field.mark == "?" and found == _element(field.shape, None, rules) else found


def _empty(field: Field, rules: Mapping[str, Rule]) -> Any:
    """Return what stands for a value that was not given."""
    if field.default is not _ABSENT:
        return field.default
    if field.around == "*" or field.shape == "x":
        return None if field.mark == "!" else _ABSENT
    if field.shape in _ZEROS:
        return _ZEROS[field.shape] if field.mark == "!" else _ABSENT
    return _ABSENT if field.mark == "?" else _element(field.shape, None, rules)


def _collection(field: Field, value: Any, rules: Mapping[str, Rule]) -> Any:
    if value is None or value == ([] if field.around == "[]" else {}):
        return value if field.mark == "!" else _ABSENT
    if field.around == "[]" and isinstance(value, list):
        return [_element(field.shape, item, rules) for item in value]
    if field.around == "{}" and isinstance(value, dict):
        convert = _rounded if field.shape == "q" else lambda item: _element(field.shape, item, rules)
        return {key: convert(item) for key, item in value.items()}
    return value


def _element(shape: str, value: Any, rules: Mapping[str, Rule]) -> Any:
    if shape == "x":
        return value
    if shape == "q":
        return _canonical(value)
    if shape in _ZEROS:
        return _ZEROS[shape] if value is None else value
    return shape_as(shape, value, rules)


def _is_zero(field: Field, value: Any) -> bool:
    zero = _ZEROS.get(field.shape, _ABSENT)
    return not field.around and value == zero and isinstance(value, bool) == isinstance(zero, bool)


def _canonical(value: Any) -> Any:
    quantity = _quantity(value)
    return value if quantity is None else str(quantity)


def _rounded(value: Any) -> Any:
    quantity = _quantity(value)
    if quantity is None or quantity.nano % _MILLI == 0:
        return value if quantity is None else str(quantity)
    return str(Quantity(-(-quantity.nano // _MILLI) * _MILLI, None, quantity.format))


def _quantity(value: Any) -> Quantity | None:
    """Read a quantity; YAML may have made a number of it. None for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        return None
    try:
        return parse_quantity("0" if value is None else str(value).strip())
    except EvaluationError:
        return None


def _read_types(text: str) -> Mapping[str, tuple[Field, ...]]:
    """Read the table; a line that begins with blanks goes on with the type above it."""
    found = {}
    for line in text.strip().replace("\n  ", " ").splitlines():
        name, _, words = line.partition(":")
        found[name] = tuple(_read_field(word) for word in words.split())
    return MappingProxyType(found)


def _read_field(word: str) -> Field:
    match = _WORD.fullmatch(word)
    if match is None:
        raise ValueError(f"the table of fields has a word that is none: {word}")
    default = _ABSENT if match["default"] is None else json.loads(match["default"])
    around, shape, mark = match["around"] or "", match["shape"], match["mark"] or ""
    optional = bool(around) or shape == "x" or shape in _ZEROS
    fills = mark == "!" or default is not _ABSENT or (mark != "?" and not optional)
    return Field(name=match["name"], around=around, shape=shape, mark=mark, default=default, fills=fills)


_TYPES = _read_types(TYPES)
