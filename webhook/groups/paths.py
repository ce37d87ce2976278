"""Where a workload's pod templates stand: paths such as ``spec.template`` or ``spec.replicatedJobs[*].template``.

``[*]`` runs over the items of a list and over the values of a mapping: some kinds keep their templates by role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from webhook.model.objects import Object

_NAMEABLE = re.compile(r"[^.\[\]]+")
_USUAL_LENGTH = 200
"""Longer paths are not remembered: keys of mappings stand in some, and strangers choose them."""


def read_path(obj: Object, path: str) -> tuple[Any, ...]:
    """Return every value at a path; empty where a step is missing."""
    found: tuple[Any, ...] = (obj,)
    for step in _steps(path):
        if step == "*":
            found = tuple(item for value in found for item in _items(value))
        elif step.isdigit() and any(isinstance(value, list) for value in found):
            found = tuple(value[int(step)] for value in found if isinstance(value, list) and int(step) < len(value))
        else:
            found = tuple(value[step] for value in found if isinstance(value, dict) and step in value)
    return found


def places_at(obj: Object, path: str) -> tuple[tuple[str, Any], ...]:
    """Return every entry that a path with one ``[*]`` at its end meets, each with the path of its own: ``spec.jobs[0]``.

    A key of a mapping that no path can name, such as one with a dot, is left out.
    """
    before = path.removesuffix("[*]")
    found: list[tuple[str, Any]] = []
    for value in read_path(obj, before):
        if isinstance(value, dict):
            found += [(f"{before}.{name}", item) for name, item in value.items() if _NAMEABLE.fullmatch(name)]
        elif isinstance(value, list):
            found += [(f"{before}[{index}]", item) for index, item in enumerate(value)]
    return tuple(found)


def may_meet(path: str, other: str) -> bool:
    """Tell whether two paths can lead to one value."""
    ours, theirs = _steps(path), _steps(other)
    return len(ours) == len(theirs) and all(a == b or "*" in (a, b) for a, b in zip(ours, theirs, strict=True))


def replace_at(obj: Object, path: str, change: Callable[[Any], Any]) -> Object:
    """Return a copy of ``obj`` in which the value at ``path`` went through ``change``; all else is shared.

    A missing last step is created with ``change(None)``; a missing step before it leaves the object as it is.
    """
    replaced = _replace(obj, list(_steps(path)), change)
    return replaced if isinstance(replaced, dict) else obj


def _replace(value: Any, steps: list[str], change: Callable[[Any], Any]) -> Any:
    if not steps:
        return change(value)
    step, rest = steps[0], steps[1:]
    if step == "*":
        return _replace_each(value, rest, change)
    if isinstance(value, list) and step.isdigit():
        return [_replace(item, rest, change) if index == int(step) else item for index, item in enumerate(value)]
    if not isinstance(value, dict) or (step not in value and rest):
        return value
    return {**value, step: _replace(value.get(step), rest, change)}


def _replace_each(value: Any, steps: list[str], change: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_replace(item, steps, change) for item in value]
    return {key: _replace(item, steps, change) for key, item in value.items()} if isinstance(value, dict) else value


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _steps(path: str) -> tuple[str, ...]:
    return _split(path) if len(path) <= _USUAL_LENGTH else _split.__wrapped__(path)


@lru_cache(maxsize=512)
def _split(path: str) -> tuple[str, ...]:
    return tuple(step for part in path.split(".") for step in part.replace("[", ".").replace("]", "").split(".") if step)
