"""A CRD with every form of default and of unknown fields, and what comes of objects of its kind."""

from __future__ import annotations

from typing import Any

from webhook.model.objects import Object

_STEP = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "retries": {"type": "integer", "default": 3}},
}
_SPEC = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "default": "spread"},
        "replicas": {"type": "integer", "default": 0},
        "paused": {"type": "boolean", "default": False},
        "note": {"type": "string", "nullable": True},
        "reason": {"type": "string", "nullable": True, "default": "none given"},
        "plain": {"type": "string"},
        "pool": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 1},
                "labels": {"type": "object", "default": {}, "additionalProperties": {"type": "string"}},
            },
        },
        "limits": {
            "type": "object",
            "default": {"cpu": {}},
            "properties": {"cpu": {"type": "object", "properties": {"most": {"type": "string", "default": "4"}}}},
        },
        "steps": {"type": "array", "items": _STEP},
        "words": {"type": "array", "items": {"type": "string", "nullable": True}},
        "named": {"type": "object", "additionalProperties": _STEP},
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
        },
        "rows": {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": _STEP},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
        },
        "either": {"x-kubernetes-int-or-string": True, "default": "25%"},
    },
}
CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pools.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Pool", "singular": "pool", "plural": "pools"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}},
            }
        ],
    },
}
_ALWAYS = {
    "mode": "spread",
    "replicas": 0,
    "paused": False,
    "reason": "none given",
    "limits": {"cpu": {"most": "4"}},
    "either": "25%",
}
OBJECTS: dict[str, tuple[Any, Any]] = {
    "defaults, and what a default brings in": ({}, _ALWAYS),
    "values that were given stay": ({"mode": "pack", "either": 1}, {**_ALWAYS, "mode": "pack", "either": 1}),
    "null becomes the default": ({"mode": None, "limits": None}, _ALWAYS),
    "null goes where there is no default": ({"plain": None}, _ALWAYS),
    "null stays where it may be": ({"note": None, "reason": None}, {**_ALWAYS, "note": None, "reason": None}),
    "an object that is not there is not made for its defaults": ({}, _ALWAYS),
    "an object that is there gets them": ({"pool": {}}, {**_ALWAYS, "pool": {"size": 1, "labels": {}}}),
    "a given part keeps the default of the whole away": ({"limits": {}}, {**_ALWAYS, "limits": {}}),
    "entries of a list": (
        {"steps": [{"name": "a"}, {"name": "b", "retries": 0}]},
        {**_ALWAYS, "steps": [{"name": "a", "retries": 3}, {"name": "b", "retries": 0}]},
    ),
    "values of a map": ({"named": {"x": {"name": "a"}}}, {**_ALWAYS, "named": {"x": {"name": "a", "retries": 3}}}),
    "nulls in a list": ({"words": ["a", None]}, {**_ALWAYS, "words": ["a", None]}),
    "unknown fields go": ({"junk": 1, "pool": {"junk": {"deep": 1}, "size": 2}}, {**_ALWAYS, "pool": {"size": 2, "labels": {}}}),
    "unknown fields of entries go": ({"steps": [{"name": "a", "junk": 1}]}, {**_ALWAYS, "steps": [{"name": "a", "retries": 3}]}),
    "any field stays where the schema says so": ({"free": {"any": {"thing": [1]}}}, {**_ALWAYS, "free": {"any": {"thing": [1]}}}),
    "known fields there are held to their schema": (
        {"free": {"known": {"junk": 1}, "any": 1}},
        {**_ALWAYS, "free": {"known": {"size": 1}, "any": 1}},
    ),
    "entries of a free list": ({"rows": [{"name": "a", "any": 1}]}, {**_ALWAYS, "rows": [{"name": "a", "any": 1, "retries": 3}]}),
    "an embedded object keeps its head": (
        {"embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"junk": 1}, "junk": 1}},
        {**_ALWAYS, "embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"size": 1}}},
    ),
}  # fmt: skip
"""By a sentence: a spec as it is written, and as it is judged."""


def custom(spec: Any) -> Object:
    """Return an object of the CRD's kind."""
    return {"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "x", "namespace": "team-a"}, "spec": spec}
