"""Which fields the objects of built-in kinds have."""

from __future__ import annotations

from webhook.model.objects import Kind
from webhook.rules.schema import ListOf, MapOf, Shape, Struct, fields_of, shape_of


def has_path(kind: Kind, path: tuple[str, ...]) -> bool:
    """Tell whether objects of a kind can have something at a path; true where that is not known."""
    shape: Shape | None = shape_of(kind)
    for step in path:
        match shape:
            case ListOf() | MapOf():
                shape = shape.element
            case Struct():
                shape = fields_of(shape).shapes.get(step)
            case _:
                return shape is not None
    return shape is not None
