"""The smallest RFC 6902 patch, in the plain sense: only what differs, by add, replace and remove.

No ``move`` or ``copy``: the API server's patch library applies them, but a reader of an audit log does not. Lists
are compared entry by entry from the front; a list that grew gets ``add`` at the end, one that shrank loses its tail.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.objects import Object


def diff(before: Object, after: Object) -> tuple[Object, ...]:
    """Return the operations that turn ``before`` into ``after``; empty when they are equal."""
    return () if before is after else tuple(_compare("", before, after))


def pointer(*steps: str | int) -> str:
    """Join steps to a JSON pointer (RFC 6901), escaping ``~`` and ``/``."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def _compare(path: str, before: object, after: object) -> Iterator[Object]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(path, before, after)
    elif not _same(before, after):
        yield {"op": "replace", "path": path, "value": after}


def _compare_objects(path: str, before: Object, after: Object) -> Iterator[Object]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": path + pointer(key)}
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "path": path + pointer(key), "value": value}
        elif (old := before[key]) is not value and not _is_settled(old, value):
            yield from _compare(path + pointer(key), old, value)


def _compare_lists(path: str, before: list[object], after: list[object]) -> Iterator[Object]:
    shared = min(len(before), len(after))
    for index in range(shared):
        if _is_settled(before[index], after[index]):
            continue
        yield from _compare(path + pointer(index), before[index], after[index])
    for index in reversed(range(shared, len(before))):  # from the end: each removal shifts what follows it
        yield {"op": "remove", "path": path + pointer(index)}
    for value in after[shared:]:
        yield {"op": "add", "path": path + "/-", "value": value}


def _is_settled(before: object, after: object) -> bool:
    """Tell at a glance that nothing differs: most of an object is shared between its states."""
    return before is after or (not isinstance(after, dict | list) and _same(before, after))


def _same(before: object, after: object) -> bool:
    """Compare scalars as JSON does: ``1``, ``1.0`` and ``true`` are three values, though Python calls them equal."""
    return type(before) is type(after) and before == after
