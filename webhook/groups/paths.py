"""Where a workload's pod templates stand: paths such as ``spec.template`` or ``spec.replicatedJobs[*].template``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.model.objects import Object


def read_path(obj: Object, path: str) -> tuple[Any, ...]:
    """Return every value at a path; empty where a step is missing."""
    found: tuple[Any, ...] = (obj,)
    for step in _steps(path):
        if step == "*":
            found = tuple(item for value in found if isinstance(value, list) for item in value)
        else:
            found = tuple(value[step] for value in found if isinstance(value, dict) and step in value)
    return found


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
        return [_replace(item, rest, change) for item in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or (step not in value and rest):
        return value
    return {**value, step: _replace(value.get(step), rest, change)}


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for part in path.split(".") for step in part.replace("[*]", ".*").split(".") if step)
