"""The kinds of Kubernetes within ``values.schema.json``: tolerations, volumes, containers, and all that is in them.

So a misspelt field of an affinity is refused by Helm, and not dropped or refused later. They come from the table by which
mutations are merged; ``python -m tests.charts.copied`` writes them into the schema anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from webhook.model.objects import Object
from webhook.rules.schema import Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of

SCHEMA = Path(__file__).resolve().parents[2] / "charts/gangwarden/values.schema.json"
NAMED = (
    "Affinity", "Container", "EnvVar", "NetworkPolicyEgressRule", "NetworkPolicyPeer", "Toleration",
    "TopologySpreadConstraint", "Volume", "VolumeMount",
)  # fmt: skip
"""Those that the schema's own part names."""
_TYPES = {"text": "string", "number": "number", "boolean": "boolean", "any": ["string", "number", "boolean"]}


def schema_text() -> str:
    """Return the schema as it should be: its own part as it stands, and the kinds."""
    return json.dumps(json.loads(SCHEMA.read_text()) | {"definitions": definitions()}, indent=1) + "\n"


def definitions() -> Object:
    """Return every named kind and what is in it, by name; a volume source is a volume without its name."""
    found: Object = {}
    waiting = list(NAMED)
    while waiting:
        name = waiting.pop()
        if name not in found:
            shapes = fields_of(Struct(name)).shapes
            found[name] = _closed({key: _written(shape) for key, shape in shapes.items()})
            waiting += [one for shape in shapes.values() for one in _inside(shape)]
    volume = {key: value for key, value in found["Volume"]["properties"].items() if key != "name"}
    return dict(sorted((found | {"VolumeSource": _closed(volume)}).items()))


def _closed(properties: Object) -> Object:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _inside(shape: Shape) -> Iterator[str]:
    match shape:
        case Struct():
            yield shape.name
        case ListOf() | MapOf():
            yield from _inside(shape.element)


def _written(shape: Shape) -> Object:
    match shape:
        case Struct():
            return {"$ref": f"#/definitions/{shape.name}"}
        case ListOf():
            return {"type": "array", "items": _written(shape.element)}
        case MapOf():
            return {"type": "object", "additionalProperties": _written(shape.element)}
        case Scalar():
            return {"type": _TYPES[shape.name]}
        case Anything():
            return {}
