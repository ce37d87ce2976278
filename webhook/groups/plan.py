"""What the controller has to do so that a workload has its group objects, and for those that lost their workload."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from webhook.groups.objects import pod_group_object, workload_name, workload_object
from webhook.groups.paths import read_path
from webhook.model.actions import Apply, Delete, PlannedAction, Recheck, Tell
from webhook.model.groups import MANAGED_BY, MANAGED_BY_LABEL, SCHEDULING_GROUP, GroupPlan, PlannedGroup
from webhook.model.objects import Object, ObjectKey, labels_of, metadata_of
from webhook.model.snapshot import Snapshot

_RECHECK_SECONDS = 5.0
"""While a PodGroup of the same name is still going away: its finalizer waits for its pods (podgroup-protection)."""


def plan_group(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> tuple[PlannedAction, ...]:
    """Return what brings the Workload and PodGroups of one workload to the plan; nothing when they are."""
    if metadata_of(owner).get("deletionTimestamp") or is_finished(owner):
        return ()
    lost = [group for group in plan.groups if not _is_stamped(owner, group)]
    if lost:
        return (_tell_not_attached(owner, lost[0]),)
    return (*_plan_workload(owner, plan, snapshot), *_plan_pod_groups(owner, plan, snapshot))


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
        for kind in ("PodGroup", "Workload")
        for obj in snapshot.list(SCHEDULING_GROUP, kind)
        if _is_orphan(obj, snapshot, now=now, grace_seconds=grace_seconds)
    )


def is_finished(workload: Object) -> bool:
    """Tell whether a Job has ended: its Complete or Failed condition is True."""
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(c.get("type") in ("Complete", "Failed") and c.get("status") == "True" for c in conditions)


def members_of(pod_group: str, namespace: str, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the pods that name a PodGroup and have not ended, as the scheduler counts them."""
    for pod in snapshot.list("", "Pod", namespace=namespace):
        named = ((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName")
        if named == pod_group and not has_ended(pod):
            yield pod


def has_ended(pod: Object) -> bool:
    """Tell whether a pod is Succeeded or Failed; the scheduler has forgotten it then (its informer filters them)."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _plan_workload(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> Iterator[PlannedAction]:
    wanted = workload_object(owner, plan)
    found = snapshot.get(ObjectKey(SCHEDULING_GROUP, "Workload", metadata_of(owner)["namespace"], workload_name(plan)))
    if found is None:
        yield Apply(object=wanted, is_new=True, reason="The workload has no Workload object yet.")
    elif _is_owned(found, owner) and _min_counts(found) != _min_counts(wanted):
        yield Apply(object=_with_min_counts(found, wanted), reason="The quorum follows the workload.")


def _plan_pod_groups(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> Iterator[PlannedAction]:
    namespace = metadata_of(owner)["namespace"]
    for group in plan.groups:
        wanted = pod_group_object(owner, plan, group)
        found = snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, group.pod_group))
        if found is None:
            reason = f"Pods wait for PodGroup {group.pod_group}, which does not exist yet."
            yield Apply(object=wanted, is_new=True, reason=reason)
        elif not _is_owned(found, owner):
            yield _tell_taken(owner, group)
        elif metadata_of(found).get("deletionTimestamp"):
            yield Recheck(after_seconds=_RECHECK_SECONDS, reason=f"PodGroup {group.pod_group} is being deleted.")
        elif _min_counts(found) != _min_counts(wanted):
            yield Apply(object=_with_min_counts(found, wanted), reason="The quorum follows the workload.")


def _is_stamped(owner: Object, group: PlannedGroup) -> bool:
    """Tell whether the stored templates still name the group: the API server drops the field when its gate is off."""
    references = [ref for path in group.paths for ref in read_path(owner, f"{path}.spec.schedulingGroup")]
    return bool(references) and all((ref or {}).get("podGroupName") == group.pod_group for ref in references)


def _is_owned(obj: Object, owner: Object) -> bool:
    uid = metadata_of(owner)["uid"]
    return any(reference.get("uid") == uid for reference in metadata_of(obj).get("ownerReferences") or ())


def _is_orphan(obj: Object, snapshot: Snapshot, *, now: datetime, grace_seconds: float) -> bool:
    meta = metadata_of(obj)
    if labels_of(obj).get(MANAGED_BY_LABEL) != MANAGED_BY or meta.get("ownerReferences") or meta.get("deletionTimestamp"):
        return False
    age = (now - datetime.fromisoformat(str(meta["creationTimestamp"]))).total_seconds()
    return age >= grace_seconds and not any(members_of(meta["name"], meta["namespace"], snapshot))


def _gangs(obj: Object) -> list[Object]:
    """Return the gang policies inside a Workload or PodGroup, in order; basic groups give an empty mapping."""
    spec = obj.get("spec") or {}
    holders = spec.get("podGroupTemplates") or [spec]
    return [(holder.get("schedulingPolicy") or {}).get("gang") or {} for holder in holders]


def _min_counts(obj: Object) -> list[int | None]:
    return [gang.get("minCount") for gang in _gangs(obj)]


def _with_min_counts(found: Object, wanted: Object) -> Object:
    """Return what to apply: the stored object's fields with the wanted quorum, for all else in it is immutable."""
    stored, spec = found.get("spec") or {}, dict(wanted["spec"])
    kept = {key: stored[key] for key in spec if key in stored and key not in ("schedulingPolicy", "podGroupTemplates")}
    if "podGroupTemplates" in spec:
        kept["podGroupTemplates"] = [
            {**old, "schedulingPolicy": new["schedulingPolicy"]}
            for old, new in zip(stored.get("podGroupTemplates") or (), spec["podGroupTemplates"], strict=False)
        ]
    else:
        kept["schedulingPolicy"] = spec["schedulingPolicy"]
    return {**wanted, "spec": kept}


def _tell_not_attached(owner: Object, group: PlannedGroup) -> Tell:
    return Tell(
        about=owner,
        reason="GroupNotAttached",
        message=(
            f"Its pods were to join PodGroup {group.pod_group}, but the API server dropped spec.schedulingGroup: feature gate "
            "GenericWorkload is off there. The pods run ungrouped. Turn the gate on and create the workload again."
        ),
    )


def _tell_taken(owner: Object, group: PlannedGroup) -> Tell:
    return Tell(
        about=owner,
        reason="PodGroupNameTaken",
        message=(
            f"PodGroup {group.pod_group} exists but does not belong to this workload, so nothing of it was changed. "
            "Delete that PodGroup, or create the workload again under a new name."
        ),
    )
