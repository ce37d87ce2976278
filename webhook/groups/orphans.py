"""Group objects that outlived their workload: those nobody collects, and those that somebody is about to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from webhook.groups.states import age_seconds, members_of
from webhook.model.actions import Delete, PlannedAction
from webhook.model.groups import MANAGED_BY, MANAGED_BY_LABEL, OWNER_UID_LABEL, SCHEDULING_GROUP
from webhook.model.objects import Kind, Object, ObjectKey, labels_of, metadata_of
from webhook.model.snapshot import Snapshot


def plan_orphans(snapshot: Snapshot, *, now: datetime, grace_seconds: float) -> tuple[PlannedAction, ...]:
    """Return deletions of our objects whose workload is gone and whose pods have ended.

    Deleting a Job with ``--cascade=orphan`` strips the owner references, and nothing native ever collects a PodGroup.
    """
    return tuple(
        Delete(
            key=ObjectKey.of(obj),
            uid=str(metadata_of(obj)["uid"]),
            reason="Its workload is gone and none of its pods is unfinished.",
        )
        for kind in ("PodGroup", "CompositePodGroup", "Workload")
        for obj in snapshot.list(SCHEDULING_GROUP, kind)
        if _is_orphan(obj, snapshot, now=now, grace_seconds=grace_seconds)
    )


def is_left_behind(pod_group: Object, snapshot: Snapshot) -> bool:
    """Tell whether the workload of a group of ours is gone, so that the garbage collector is about to take the group.

    So it is when a Job was deleted and created again at once with all that was in it.
    """
    uid, meta = labels_of(pod_group).get(OWNER_UID_LABEL), metadata_of(pod_group)
    made_for = next((one for one in meta.get("ownerReferences") or () if uid and one.get("uid") == uid), None)
    if made_for is None:
        return False
    kind = Kind.parse(str(made_for.get("apiVersion")), str(made_for.get("kind")))
    found = snapshot.get(ObjectKey(kind.group, kind.kind, str(meta.get("namespace") or ""), str(made_for.get("name"))))
    return found is None or metadata_of(found).get("uid") != uid


def _is_orphan(obj: Object, snapshot: Snapshot, *, now: datetime, grace_seconds: float) -> bool:
    meta = metadata_of(obj)
    if labels_of(obj).get(MANAGED_BY_LABEL) != MANAGED_BY or meta.get("ownerReferences") or meta.get("deletionTimestamp"):
        return False
    return age_seconds(obj, now) >= grace_seconds and not any(_held_by(obj, snapshot))


def _held_by(obj: Object, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the pods of a group, or the groups of a group of groups, that still need it."""
    meta = metadata_of(obj)
    if obj.get("kind") != "CompositePodGroup":
        yield from members_of(meta["name"], meta["namespace"], snapshot)
        return
    for group in snapshot.list(SCHEDULING_GROUP, "PodGroup", namespace=meta["namespace"]):
        if (group.get("spec") or {}).get("parentCompositePodGroupName") == meta["name"]:
            yield group
