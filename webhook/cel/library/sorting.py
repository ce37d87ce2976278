"""Sorting by keys that must all be of one sortable type (cel-go ext/lists.go)."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from webhook.cel.compare import order
from webhook.cel.errors import EvaluationError
from webhook.cel.values import UInt, type_name

SORTABLE = ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes")

_NATIVE = (int, UInt, str, bytes, bool)
"""Classes that Python orders as CEL does, in a tenth of the time; doubles are none, as a NaN is an error."""


def _by_key(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
    return order(left[0], right[0], "_<_")


def sort_by_keys(items: list[Any], keys: list[Any]) -> list[Any]:
    """Return ``items`` in the order of their keys; equal keys keep their order."""
    if not keys:
        return []
    wanted = type_name(keys[0])
    if wanted not in SORTABLE:
        raise EvaluationError("list elements must be comparable", "no_overload")
    if any(type_name(key) != wanted for key in keys):
        raise EvaluationError("list elements must have the same type", "no_overload")
    if type(keys[0]) in _NATIVE:
        return [items[position] for position in sorted(range(len(keys)), key=keys.__getitem__)]
    pairs: list[tuple[Any, Any]] = list(zip(keys, items, strict=True))
    pairs.sort(key=cmp_to_key(_by_key))
    return [item for _, item in pairs]
