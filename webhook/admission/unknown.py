"""Fields that the API server does not know and drops: a misspelt one changes nothing but what its author believes.

``kubectl`` refuses them by default (server-side field validation); Helm, GitOps tools and other clients do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from webhook.admission.shapes import fields_of, type_of
from webhook.model.objects import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownField:
    """A field that will be gone when the object is stored."""

    path: str
    """Such as ``spec.template.spec.containers[0].imge``."""
    near: str
    """The name of a field there that it was probably meant to be; may be empty."""

    def __str__(self) -> str:
        """Return a sentence for the owner of the manifest."""
        hint = f"; did you mean {self.near}?" if self.near else ""
        return f"unknown field {self.path} is dropped by the API server{hint}"


def unknown_fields(obj: Object) -> tuple[UnknownField, ...]:
    """Find the fields of an object that its type does not have; none where we do not know the type."""
    type_name = type_of(obj)
    return () if type_name is None else tuple(_walk(type_name, obj, ""))


def _walk(type_name: str, value: Any, path: str) -> Iterator[UnknownField]:
    if not isinstance(value, dict):
        return
    fields = fields_of(type_name)
    for key, item in value.items():
        here = f"{path}.{key}" if path else str(key)
        field = fields.get(key)
        if field is None:
            near = get_close_matches(str(key), fields, n=1)
            yield UnknownField(path=here, near=near[0] if near else "")
        elif field.is_struct:
            for step, inner in _inside(item, around=field.around):
                yield from _walk(field.shape, inner, here + step)


def _inside(value: Any, *, around: str) -> Iterator[tuple[str, Any]]:
    """Yield the structs in the value of a field, each with its step in the path."""
    if around == "[]":
        yield from ((f"[{index}]", item) for index, item in enumerate(value if isinstance(value, list) else ()))
    else:
        yield "", value
