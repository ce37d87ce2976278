"""An object as the API server holds it: the fields of its type, constants filled in, empty ones gone, quantities in one form.

The table of types is generated from the API server's own (see ``_defaults_table``). A value of the wrong shape stays as it is:
refusing it is validation's business, not ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import is_
from types import MappingProxyType
from typing import Any, Final

from webhook.admission._defaults_table import ROOTS, TYPES
from webhook.cel import EvaluationError, Quantity, parse_quantity
from webhook.model.objects import Kind, Object

Rule = Callable[[Object], Object]
"""What is to be done to an object of a type before its constants are filled in; it gets the raw value and returns another."""

_ABSENT: Final = object()
_COMPUTED: Final = object()
"""Stands for an empty value that rules may fill."""
_ZEROS: Mapping[str, Any] = MappingProxyType({"s": "", "i": 0, "b": False})
_WORDS: Mapping[str, str] = MappingProxyType(
    {name: words for name, _, words in (line.partition(":") for line in TYPES.strip().replace("\n  ", " ").splitlines())}
)
"""The table, by the names of its types; in it a line that begins with blanks goes on with the type above it."""
_WORD = re.compile(r"(?P<name>\w+):(?P<around>\*|\[\]|\{\})?(?P<shape>[\w.]+)(?P<mark>[!?])?(?:=(?P<default>\S+))?")
_SHORT = 32
"""Longest quantity that is remembered: caches are bounded by number, and strangers choose what is in them."""
_MILLI = 10**6
"""Billionths in a thousandth: the API server rounds resource lists up to it (SetDefaults_ResourceList)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a type, as the table says it."""

    name: str
    around: str
    shape: str
    mark: str
    empty: Any
    """What stands for a value that was not given."""
    zero: Any
    """The value that counts as not given."""
    fills: bool
    """Whether something stands in its place where no value was given."""
    is_plain: bool
    """Whether a value that counts as given stays as it is."""

    @property
    def is_struct(self) -> bool:
        """Tell whether values of this field have fields themselves."""
        return self.shape in _WORDS


@cache
def fields_of(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type by their names."""
    return MappingProxyType({field.name: field for field in map(_read_field, _WORDS[type_name].split())})


def type_of(obj: Object) -> str | None:
    """Return the name of an object's type, or None if the table does not have its kind."""
    return ROOTS.get(str(Kind.of(obj)))


class Shaper:
    """Brings values into the API server's form by a set of rules, and knows again what it has brought into that form.

    What is in that form already comes back as it is, part by part: an object that was changed in one place costs that place.
    """

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules
        self._held: dict[int, tuple[str, Any]] = {}
        """By identity: of which type a mapping is. The mapping is kept, so that no other one takes its identity."""

    def shape(self, type_name: str, value: Any) -> Any:
        """Return ``value`` as the API server holds a value of this type; ``value`` itself where it does not differ."""
        if value is None:
            value = {}
        if not isinstance(value, dict):
            return value
        held = self._held.get(id(value))
        if held is not None and held[0] == type_name:
            return value
        rule = self._rules.get(type_name)
        given = rule(value) if rule else value
        concerned, only_plain = _concerned(type_name, tuple(filter(fields_of(type_name).__contains__, given)))
        if only_plain and given is value and len(concerned) == len(value) and all(value.values()):
            return value  # nothing to fill, nothing unknown, and no zero
        shaped = {}
        for name, is_plain, field in concerned:
            item = given.get(name)
            if not is_plain:
                item = self._field(field, item)
            elif not item and (item is None or (item == field.zero and isinstance(item, bool) is (field.zero is False))):
                item = field.empty  # a zero counts as not given, and what counts as true is none
            if item is not _ABSENT:
                shaped[name] = item
        if shaped.keys() == value.keys() and all(map(is_, shaped.values(), map(value.__getitem__, shaped))):
            shaped = value
        self._held[id(shaped)] = type_name, shaped
        return shaped

    def _field(self, field: Field, value: Any) -> Any:
        if field.around in ("[]", "{}"):
            return self._collection(field, value)
        if value is None:
            return self._element(field.shape, None) if field.empty is _COMPUTED else field.empty
        found = self._element(field.shape, value)
        return _ABSENT if field.mark == "?" and found == self._element(field.shape, None) else found

    def _collection(self, field: Field, value: Any) -> Any:
        if value is None or value == ([] if field.around == "[]" else {}):
            return value if field.mark == "!" else _ABSENT
        if _is_settled(field.shape, value):
            return value
        if field.around == "[]" and isinstance(value, list):
            items = [self._element(field.shape, item) for item in value]
            return value if all(map(is_, items, value)) else items
        if field.around == "{}" and isinstance(value, dict):
            convert = _rounded if field.shape == "q" else partial(self._element, field.shape)
            entries = {key: convert(item) for key, item in value.items()}
            return value if all(map(is_, entries.values(), value.values())) else entries
        return value

    def _element(self, shape: str, value: Any) -> Any:
        if shape in _WORDS:
            return self.shape(shape, value)
        if shape == "q":
            return _canonical(value)
        return _ZEROS[shape] if value is None and shape in _ZEROS else value


def _is_settled(shape: str, value: Any) -> bool:
    """Tell whether a list or map stays as it is, as those of plain values without a null do."""
    if shape in _ZEROS:
        return None not in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    return shape == "x"


@lru_cache(maxsize=2048)
def _concerned(type_name: str, given: tuple[str, ...]) -> tuple[tuple[tuple[str, bool, Field], ...], bool]:
    """Return those fields of a type that are given or filled, in the order of the type: of a pod's hundreds it is a few.

    Each with its name and whether it is plain, which are asked of every one; and whether all are given and plain.
    """
    names = frozenset(given)
    concerned = tuple(field for field in fields_of(type_name).values() if field.fills or field.name in names)
    only_plain = all(field.is_plain and field.name in names for field in concerned)
    return tuple((field.name, field.is_plain, field) for field in concerned), only_plain


def _canonical(value: Any, *, round_up: bool = False) -> Any:
    """Return a quantity in the form in which the API server writes it; a value that is none as it is."""
    if not isinstance(value, str) or len(value) > _SHORT:
        return _written(value, round_up=round_up)
    found = _remembered(value, round_up=round_up)
    return value if found == value else found


_rounded = partial(_canonical, round_up=True)


@lru_cache(maxsize=2048)
def _remembered(text: str, *, round_up: bool) -> Any:
    return _written(text, round_up=round_up)


def _written(value: Any, *, round_up: bool) -> Any:
    quantity = _quantity(value)
    if quantity is None:
        return value
    if round_up and quantity.nano % _MILLI:
        quantity = Quantity(-(-quantity.nano // _MILLI) * _MILLI, None, quantity.format)
    return str(quantity)


def _quantity(value: Any) -> Quantity | None:
    """Read a quantity; YAML may have made a number of it. None for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        return None
    try:
        return parse_quantity("0" if value is None else str(value).strip())
    except EvaluationError:
        return None


def _read_field(word: str) -> Field:
    match = _WORD.fullmatch(word)
    if match is None:
        raise ValueError(f"the table of fields has a word that is none: {word}")
    default = _ABSENT if match["default"] is None else json.loads(match["default"])
    around, shape, mark = match["around"] or "", match["shape"], match["mark"] or ""
    optional = bool(around) or shape == "x" or shape in _ZEROS
    return Field(
        name=match["name"],
        around=around,
        shape=shape,
        mark=mark,
        empty=_empty(around, shape, mark, default),
        zero=_ABSENT if around else _ZEROS.get(shape, _ABSENT),
        fills=mark == "!" or default is not _ABSENT or (mark != "?" and not optional),
        is_plain=around in ("", "*") and (shape == "x" or (shape in _ZEROS and mark != "?")),
    )


def _empty(around: str, shape: str, mark: str, default: Any) -> Any:
    """Return what stands for a value that was not given."""
    if default is not _ABSENT:
        return default
    if around == "*" or shape == "x":
        return None if mark == "!" else _ABSENT
    if shape in _ZEROS:
        return _ZEROS[shape] if mark == "!" else _ABSENT
    return _ABSENT if mark == "?" else _COMPUTED
