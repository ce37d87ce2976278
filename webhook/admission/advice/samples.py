"""Made-up objects of built-in kinds, with every field set: for what must be tried where nobody has written an example."""

from __future__ import annotations

from typing import Any

from webhook.model.objects import Kind, Object
from webhook.rules.schema import ListOf, MapOf, Scalar, Shape, Struct, fields_of, shape_of

_ENTRIES = 4
"""In each list and map. Those of a pod nest five deep, so that a Job has some thousands of values."""
_TEXT = "sample-text-" * 4
_SCALARS: dict[str, Any] = {"text": _TEXT, "number": 4, "boolean": True, "any": "4"}


def sample_of(kind: Kind) -> Object:
    """Return an object with every field of its kind, and names that say what it is."""
    made: Object = _value(shape_of(kind), _ENTRIES)
    metadata = {**made.get("metadata", {}), "name": "sample", "namespace": "sample", "managedFields": []}
    return {**made, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "status": {}}


def _value(shape: Shape, entries: int, within: frozenset[str] = frozenset()) -> Any:
    """Make a value; a struct that holds itself, such as a group of groups, is empty in there."""
    fewer = max(entries - 1, 1)
    match shape:
        case Scalar():
            return _SCALARS[shape.name]
        case ListOf():
            return [_value(shape.element, fewer, within)] * entries
        case MapOf():
            return dict.fromkeys((f"key-{number}" for number in range(entries)), _value(shape.element, fewer, within))
        case Struct() if shape.name not in within:
            inside = within | {shape.name}
            return {name: _value(inner, entries, inside) for name, inner in fields_of(shape).shapes.items()}
        case _:
            return {}
