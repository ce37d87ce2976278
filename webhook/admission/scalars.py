"""What the API server's decoder takes for a value without parts, where the table of defaults does not tell.

That table says of a pointer only that its value is left as it is. The tables by which objects are merged and checked say more.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from webhook.admission.shapes import Field
from webhook.cel import types
from webhook.cel.types import Type
from webhook.rules.field_types import scalar_type

INTEGERS: Final = range(-(2**63), 2**63)
"""What the largest of Go's integers holds; fields of 32 bits hold less, and which ones those are no table tells."""


class Form(NamedTuple):
    """Which values a field takes, and how that is said."""

    types: tuple[type, ...]
    words: str


_NUMBER, _WHOLE = (int, float), Form((int,), "a whole number of at most 64 bits")
_FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "s": Form((str,), "text"),
        "i": Form((*_NUMBER, str), "a number"),  # text, because the table has IntOrString among them
        "b": Form((bool,), "true or false"),
        "q": Form((str, *_NUMBER), "a quantity"),
    }
)
_BY_TYPE: Mapping[Type, Form] = MappingProxyType({types.STRING: _FORMS["s"], types.INT: _WHOLE, types.BOOL: _FORMS["b"]})


def form_of(type_name: str, field: Field) -> Form | None:
    """Return what a field of a type takes, in its list or map where it has one; None: a struct, or anything."""
    if field.shape not in ("x", "i"):
        return _FORMS.get(field.shape)
    return _typed(type_name, field) or _FORMS.get(field.shape)


def is_fitting(value: Any, form: Form) -> bool:
    """Tell whether a value can be decoded; a whole number may be written with a point, since ``4.0`` is sent as ``4``.

    A boolean is no number, though Python says so.
    """
    if isinstance(value, bool):
        return bool in form.types
    if form is _WHOLE:
        return isinstance(value, _NUMBER) and value == value // 1 and int(value) in INTEGERS
    return isinstance(value, form.types)


def is_whole(form: Form | None) -> bool:
    """Tell whether a form takes whole numbers alone, so that the type of a value does not decide."""
    return form is _WHOLE


def _typed(type_name: str, field: Field) -> Form | None:
    """Look into the other tables; what is in them under a name without its version is of that version."""
    found = scalar_type(type_name, field.name) or scalar_type(type_name.rpartition(".")[2], field.name)
    return _BY_TYPE.get(found) if found else None
