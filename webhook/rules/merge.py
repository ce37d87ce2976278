"""Two values made one: what the second says wins, nothing that only the first says is lost.

Follows structured-merge-diff typed/merge.go, the order of merged lists included. Values are never changed in place, and
share what they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.rules.conform import Key, key_of
from webhook.rules.problems import RuleProblem
from webhook.rules.schema import Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of

_ABSENT: Final = object()


def merge(shape: Shape, left: Any, right: Any) -> Any:
    """Return ``left`` with all that ``right`` says."""
    if right is _ABSENT:
        return left
    if left is _ABSENT or isinstance(shape, Scalar):
        return right
    if isinstance(right, list) or (right is None and isinstance(left, list)):
        return _merge_lists(shape, left, right)
    if isinstance(right, Mapping) or (right is None and isinstance(left, Mapping)):
        return _merge_maps(shape, left, right)
    return right


def _merge_maps(shape: Shape, left: Any, right: Any) -> Any:
    left, given = left if isinstance(left, Mapping) else {}, right or {}
    if _is_atomic(shape) or not (left or given):
        return right
    merged = dict(left)
    for name, value in given.items():
        merged[name] = merge(_field(shape, name), left.get(name, _ABSENT), value)
    return merged


def _field(shape: Shape, name: str) -> Shape:
    match shape:
        case Struct():
            return fields_of(shape).shapes.get(name, Anything(atomic=True))
        case MapOf():
            return shape.element
        case _:
            return shape


def _is_atomic(shape: Shape) -> bool:
    match shape:
        case Struct():
            return shape.atomic or fields_of(shape).atomic
        case MapOf() | Anything():
            return shape.atomic
        case _:
            return False


def _merge_lists(shape: Shape, left: Any, right: Any) -> Any:
    left, given = left if isinstance(left, list) else [], right or []
    if not isinstance(shape, ListOf) or shape.atomic or not (left or given):
        return right
    return list(_merge_entries(shape, _keyed(shape, left), _keyed(shape, given)))


def _keyed(shape: ListOf, items: list[Any]) -> list[tuple[Key, Any]]:
    found = []
    for index, item in enumerate(items):
        try:
            found.append((key_of(shape, item), item))
        except RuleProblem as problem:
            raise RuleProblem(f"element {index}: {problem}") from problem
    return found


def _merge_entries(shape: ListOf, left: list[tuple[Key, Any]], right: list[tuple[Key, Any]]) -> Iterator[Any]:
    """Yield the merged entries: as ordered in ``right`` where both have them, others where they stood.

    An entry that ``left`` has twice is not merged with the one of ``right`` but replaced by it.
    """
    by_key = dict(right)
    known: dict[Key, Any] = {}
    for key, item in left:
        known[key] = _ABSENT if key in known else item
    shared = iter([key for key, _ in right if key in known])
    wanted = next(shared, None)
    done: set[Key] = set()
    at_left = at_right = 0
    while at_left < len(left) or at_right < len(right):
        if at_left < len(left):
            key, item = left[at_left]
            if at_right < len(right) and key == right[at_right][0]:
                done.add(key)
                yield merge(shape.element, known[key], by_key[key])
                at_left, at_right, wanted = at_left + 1, at_right + 1, next(shared, None)
                continue
            if at_right < len(right) and key in by_key and wanted is not None and wanted != key:
                at_left += 1
                continue
            if key not in by_key:
                yield item
                at_left += 1
                continue
            at_left += key in done
        if at_right < len(right):
            key, item = right[at_right]
            done.add(key)
            yield merge(shape.element, known.get(key, _ABSENT), item)
            at_right += 1
            wanted = next(shared, None) if wanted == key else wanted
