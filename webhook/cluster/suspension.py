"""Suspend a workload and end that suspension, and never anybody else's: the API server remembers who wrote the field.

A write that changes nothing leaves no trace there (structured-merge-diff), so a person who suspends what we suspended is not
seen; one who applies ``suspend: true`` server-side is, as a second holder.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.groups import read_path
from webhook.model.actions import Resume, Suspend
from webhook.model.groups import RESTART_MANAGER
from webhook.model.objects import Object, metadata_of

_ATTEMPTS = 5
"""As client-go's ``retry.DefaultRetry``: a Job's status is written often."""


class NotNeeded(NamedTuple):
    """Why nothing was written."""

    because: str
    is_foreign: bool = False
    """Somebody else holds the field."""


async def suspend(api: Api, action: Suspend) -> NotNeeded | Object:
    """Suspend a workload; returns it as stored, or why that is moot. Raises ClusterError."""
    found = await api.get(action.key)
    if metadata_of(found).get("uid") != action.uid:
        return NotNeeded("another object has its name now")
    if _is_suspended(found, action.path):
        return _held_by_others(found, action.path) or found
    return await api.merge_patch(action.key, _patch(action.path, value=True, uid=action.uid), manager=RESTART_MANAGER)


async def resume(api: Api, action: Resume) -> NotNeeded | Object:
    """End a suspension that we hold alone; returns the workload as stored, or why that is moot. Raises ClusterError."""
    for attempt in range(1, _ATTEMPTS + 1):
        found = await api.get(action.key)
        if metadata_of(found).get("uid") != action.uid:
            return NotNeeded("another object has its name now")
        if not _is_suspended(found, action.path):
            return NotNeeded("it is not suspended any more")
        if held := _held_by_others(found, action.path):
            return held
        patch = _patch(action.path, value=False, uid=action.uid)
        patch["metadata"]["resourceVersion"] = metadata_of(found)["resourceVersion"]
        try:
            return await api.merge_patch(action.key, patch, manager=RESTART_MANAGER)
        except ClusterError as error:
            if error.status != 409 or attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def holders(obj: Object, path: str) -> frozenset[str]:
    """Return the field managers that hold a field, by ``metadata.managedFields``."""
    return frozenset(
        str(entry.get("manager"))
        for entry in metadata_of(obj).get("managedFields") or ()
        if not entry.get("subresource") and _has(entry.get("fieldsV1"), path)
    )


def _held_by_others(found: Object, path: str) -> NotNeeded | None:
    others = holders(found, path) - {RESTART_MANAGER}
    if others:
        return NotNeeded(f"{path} is held by {', '.join(sorted(others))}", is_foreign=True)
    if RESTART_MANAGER in holders(found, path):
        return None
    return NotNeeded(f"{path} was not written by us", is_foreign=True)


def _has(fields: Any, path: str) -> bool:
    place = fields
    for step in path.split("."):
        place = place.get(f"f:{step}") if isinstance(place, dict) else None
    return place is not None


def _is_suspended(obj: Object, path: str) -> bool:
    return any(value is True for value in read_path(obj, path))


def _patch(path: str, *, value: bool, uid: str) -> Object:
    nested: Any = value
    for step in reversed(path.split(".")):
        nested = {step: nested}
    return {**nested, "metadata": {"uid": uid}}
