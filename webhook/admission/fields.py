"""What the API server's decoder says of an object: fields that it does not know, and values of another type than the field's.

An unknown field is dropped, so a misspelt one changes nothing but what its author believes: ``kubectl`` refuses it by default
(server-side field validation), Helm, GitOps tools and other clients do not. A value of the wrong type is always refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from webhook.admission.scalars import INTEGERS, Form, form_of, is_fitting, is_whole
from webhook.admission.shapes import Field, fields_of, type_of
from webhook.model.objects import Object

_METADATA = "ObjectMeta"
_NULL = type(None)
_STRUCT, _LIST = Form((dict,), "a mapping"), Form((list,), "a list")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownField:
    """A field that will be gone when the object is stored."""

    path: str
    """Such as ``spec.template.spec.containers[0].imge``."""
    near: str = ""
    """The name of a field there that it was probably meant to be; may be empty."""

    def __str__(self) -> str:
        """Return a sentence for the owner of the manifest."""
        hint = f"; did you mean {self.near}?" if self.near else ""
        return f"unknown field {self.path} is dropped by the API server{hint}"


class _Form(NamedTuple):
    """What a field holds, for a look that is quicker than saying what is wrong."""

    around: type[Any] | None
    """list or dict, where its values stand in one."""
    types: frozenset[type] | None
    """What a value may be; None: a struct, or anything."""
    struct: str
    is_whole: bool
    """Whether it holds whole numbers, which may be too large."""


@cache
def _forms_of(type_name: str) -> Mapping[str, _Form]:
    found = {}
    for name, field in fields_of(type_name).items():
        taken = form_of(type_name, field)
        types = frozenset((*taken.types, _NULL)) if taken else None
        around = {"[]": list, "{}": dict}.get(field.around)
        found[name] = _Form(around, types, "" if types or field.shape == "x" else field.shape, is_whole(taken))
    return found


def has_regular_fields(obj: Object) -> bool:
    """Tell whether ``unknown_fields`` and ``wrong_types`` have nothing to say, and quicker; False also for unknown kinds."""
    type_name = type_of(obj)
    return type_name is not None and _is_regular(type_name, obj)


def _is_regular(type_name: str, value: Any) -> bool:
    if not isinstance(value, dict):
        return value is None
    try:
        further = _further(type_name, tuple(value), tuple(map(type, value.values())))
    except _OddError:
        return False
    for key, form in further:  # noqa: SIM110 - a generator would cost more than what it looks at
        if not _fits(value[key], form):
            return False
    return True


class _OddError(Exception):
    """A struct has something out of the ordinary; raised, because what is raised is not remembered."""


@lru_cache(maxsize=2048)
def _further(type_name: str, keys: tuple[str, ...], types: tuple[type, ...]) -> tuple[tuple[str, _Form], ...]:
    """Return what is to be looked at below a struct with these keys and types of values; raises where that much is odd.

    Structs of the same keys come by the thousand. Keys that are no fields are never kept: strangers choose them.
    """
    forms = _forms_of(type_name)
    found = []
    for key, kind in zip(keys, types, strict=True):
        form = forms.get(key)
        if form is None:
            raise _OddError
        if kind is _NULL:
            continue
        if form.around is None and form.types and kind not in form.types:
            raise _OddError
        if form.around is not None or form.struct or form.is_whole:
            found.append((key, form))
    return tuple(found)


def _fits(value: Any, form: _Form) -> bool:
    if form.around is None:
        return value in INTEGERS if form.is_whole else _is_regular(form.struct, value)
    if not isinstance(value, form.around):
        return False
    items = value if form.around is list else value.values()
    if form.types:
        return form.types.issuperset(map(type, items)) and (not form.is_whole or all(n is None or n in INTEGERS for n in items))
    return not form.struct or all(_is_regular(form.struct, item) for item in items)


def unknown_fields(obj: Object) -> tuple[UnknownField, ...]:
    """Find the fields of an object that its type does not have; none where we do not know the type."""
    type_name = type_of(obj)
    if type_name is None or has_regular_fields(obj):
        return ()
    visited = _visit(type_name, obj, "")
    found = ((owner, path, key) for owner, path, key, field, _ in visited if field is None)
    return tuple(UnknownField(path=_below(path, key), near=_nearest(key, owner)) for owner, path, key in found)


def wrong_types(obj: Object) -> Iterator[str]:
    """Say which values have another type than their field; of a kind that we do not know, only the metadata is looked at."""
    type_name = type_of(obj)
    if type_name is None:
        yield from wrong_metadata(obj)
        return
    if has_regular_fields(obj):
        return
    for owner, path, key, field, value in _visit(type_name, obj, ""):
        if field is not None:
            yield from _misfits(owner, field, value, _below(path, key))


def has_regular_metadata(obj: Object) -> bool:
    """Tell whether ``wrong_metadata`` has nothing to say, and quicker; False where it must be asked."""
    return _is_regular(_METADATA, obj.get("metadata"))


def wrong_metadata(obj: Object) -> Iterator[str]:
    """Say which values in the metadata, which is of the same type in every kind, have another type than their field."""
    metadata = obj.get("metadata")
    if has_regular_metadata(obj):
        return
    yield from _misfit(_STRUCT, metadata, "metadata")
    for owner, path, key, field, value in _visit(_METADATA, metadata, "metadata"):
        if field is not None:
            yield from _misfits(owner, field, value, _below(path, key))


def _visit(type_name: str, value: Any, path: str) -> Iterator[tuple[str, str, str, Field | None, Any]]:
    """Yield type, path, key, field (None: unknown) and value of everything in a struct and below it."""
    if not isinstance(value, dict):
        return
    fields = fields_of(type_name)
    for key, item in value.items():
        field = fields.get(key)
        yield type_name, path, str(key), field, item
        if field is not None and field.is_struct:
            for place, inner in _elements(field, item, _below(path, str(key))):
                yield from _visit(field.shape, inner, place)


def _misfits(owner: str, field: Field, value: Any, path: str) -> Iterator[str]:
    around = {"[]": _LIST, "{}": _STRUCT}.get(field.around)
    wrong = list(_misfit(around, value, path)) if around else []
    yield from wrong
    taken = _STRUCT if field.is_struct else form_of(owner, field)
    if taken is None or wrong:
        return
    for place, element in _elements(field, value, path):
        yield from _misfit(taken, element, place)


def _misfit(taken: Form, value: Any, path: str) -> Iterator[str]:
    """Complain about one value; null is as good as absent."""
    if value is not None and not is_fitting(value, taken):
        yield f"{path} must be {taken.words}, not {_named(value)}"


def _elements(field: Field, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what a field holds, each with its path: the value itself, or those in its list or map."""
    if field.around == "[]":
        yield from ((f"{path}[{index}]", item) for index, item in enumerate(value if isinstance(value, list) else ()))
    elif field.around == "{}":
        yield from ((f"{path}[{key}]", item) for key, item in (value.items() if isinstance(value, dict) else ()))
    else:
        yield path, value


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _nearest(key: str, type_name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - most objects have no field that is not known

    near = get_close_matches(key, fields_of(type_name), n=1)
    return near[0] if near else ""


def _named(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "text"
