"""Conditions of our own types in the status of PodGroups, one field manager each: the scheduler's stay the scheduler's."""

from __future__ import annotations

from datetime import UTC, datetime

from webhook.cluster.api import Api
from webhook.model.actions import SetCondition
from webhook.model.groups import FIELD_MANAGER, SCHEDULING_VERSION
from webhook.model.objects import Object


async def write_condition(api: Api, action: SetCondition) -> None:
    """Write or take away one condition by server-side apply; 409 when the PodGroup is another by now. Raises ClusterError."""
    conditions = [] if action.status is None else [_condition(action)]
    applied: Object = {
        "apiVersion": SCHEDULING_VERSION,
        "kind": action.key.kind,
        "metadata": {"namespace": action.key.namespace, "name": action.key.name, "uid": action.uid},
        "status": {"conditions": conditions},
    }
    # What a manager stated once and states no more is taken away, so each type has its own.
    await api.server_side_apply(applied, manager=f"{FIELD_MANAGER}/{action.type}", subresource="status")


def _condition(action: SetCondition) -> Object:
    return {
        "type": action.type,
        "status": "True" if action.status else "False",
        "reason": action.word,
        "message": action.message,
        "lastTransitionTime": (action.since or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
