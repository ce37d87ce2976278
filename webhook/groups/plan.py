"""What the controller has to do so that a workload has its group objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from webhook.groups.names import is_record_of_its_own
from webhook.groups.native import is_job
from webhook.groups.objects import composite_object, pod_group_object, workload_name, workload_object
from webhook.groups.orphans import is_left_behind
from webhook.groups.paths import read_path
from webhook.groups.quorum import with_repaired_quorum
from webhook.groups.states import is_finished
from webhook.model.actions import Apply, PlannedAction, Recheck, Tell
from webhook.model.groups import SCHEDULING_GROUP, GroupPlan, PlannedGroup
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot

_RECHECK_SECONDS = 5.0
"""While a PodGroup of the same name is still going away: its finalizer waits for its pods (podgroup-protection)."""
_TAKEN_SECONDS = 30.0
"""While a PodGroup of somebody else has the name: its deletion tells us nothing, for it does not name our workload."""


def plan_group(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> tuple[PlannedAction, ...]:
    """Return what brings the Workload and PodGroups of one workload to the plan; nothing when they are.

    A group of no pods (parallelism 0) is left as it is, and not made yet: with a quorum of 1 the first pod that comes
    would start alone before the quorum has followed.
    """
    if metadata_of(owner).get("deletionTimestamp") or is_finished(owner):
        return ()
    lost = [group for group in plan.groups if not _is_stamped(owner, group)]
    if lost:
        return _tell_not_attached(owner, lost[0])
    if not any(group.count for group in plan.groups):
        return ()
    # The scheduler reads PodGroups only, so they come first: nothing about a Workload may keep pods waiting.
    return (
        *_plan_composites(owner, plan, snapshot),
        *_plan_pod_groups(owner, plan, snapshot),
        *_plan_workload(owner, plan, snapshot),
    )


def _plan_workload(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> Iterator[PlannedAction]:
    wanted = workload_object(owner, plan)
    found = snapshot.get(ObjectKey(SCHEDULING_GROUP, "Workload", metadata_of(owner)["namespace"], workload_name(plan)))
    if found is None:
        yield Apply(object=wanted, is_new=True, reason="The workload has no Workload object yet.")
    elif _is_owned(found, owner) and not plan.composites:  # a tree's is not kept up: nobody reads it
        yield from _plan_quorum(found, wanted, [group.template for group in plan.groups if group.count])


def _plan_composites(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> Iterator[PlannedAction]:
    for composite in plan.composites:  # nothing in them may change
        yield from _make(owner, composite_object(owner, plan, composite), snapshot)


def _plan_pod_groups(owner: Object, plan: GroupPlan, snapshot: Snapshot) -> Iterator[PlannedAction]:
    for group in plan.groups:
        if not group.count:
            continue
        wanted = pod_group_object(owner, plan, with_repaired_quorum(group, owner))
        actions = tuple(_make(owner, wanted, snapshot))
        found = snapshot.get(ObjectKey.of(wanted))
        yield from actions or _plan_quorum(found or {}, wanted, [group.template])


def _make(owner: Object, wanted: Object, snapshot: Snapshot) -> Iterator[PlannedAction]:
    """Plan an object that pods wait for, or say what is in its way; nothing where it is there and ours."""
    key = ObjectKey.of(wanted)
    found, called = snapshot.get(key), f"{key.kind} {key.name}"
    if found is None:
        yield Apply(object=wanted, is_new=True, reason=f"Pods wait for {called}, which does not exist yet.")
    elif metadata_of(found).get("deletionTimestamp") or (not _is_owned(found, owner) and is_left_behind(found, snapshot)):
        yield Recheck(after_seconds=_RECHECK_SECONDS, reason=f"{called} is being deleted.")
    elif not _is_owned(found, owner):
        yield _tell_taken(owner, called)
        yield Recheck(after_seconds=_TAKEN_SECONDS, reason=f"{called} belongs to somebody else.")


def _plan_quorum(found: Object, wanted: Object, templates: Collection[str]) -> Iterator[PlannedAction]:
    """Plan the quorum of a stored object: the only thing in it that may change, and so the only one that is applied.

    Server-side apply takes away what a manager stated once and states no more, and all else is immutable: an object
    stated whole would be refused for ever once the policy has left out a field of it. A gang stays a gang as well.
    """
    stored = found.get("spec") or {}
    if "podGroupTemplates" not in stored:
        before, after = _min_count(stored), _min_count(wanted["spec"])
        change: Object = {} if before is None or after is None else _gang(after)
        differs = before != after
    else:
        before_by_name = {str(each.get("name")): _min_count(each) for each in stored["podGroupTemplates"]}
        after_by_name = {str(each["name"]): _min_count(each) for each in wanted["spec"]["podGroupTemplates"]}
        counts = {name: count for name, count in before_by_name.items() if count is not None}
        moved = {name: after_by_name.get(name) or count for name, count in counts.items() if name in templates}
        change = {"podGroupTemplates": [{"name": name, **_gang(count)} for name, count in (counts | moved).items()]}
        differs = counts | moved != counts
    if change and differs:
        yield Apply(object={**wanted, "spec": change}, reason="The quorum follows the workload.")


def _gang(min_count: int) -> Object:
    return {"schedulingPolicy": {"gang": {"minCount": min_count}}}


def _is_stamped(owner: Object, group: PlannedGroup) -> bool:
    """Tell whether the stored templates still name the group: the API server drops the field when its gate is off."""
    if not group.paths:
        return True  # its pods are stamped one by one
    references = _references(owner, group)
    return bool(references) and all((ref or {}).get("podGroupName") == group.pod_group for ref in references)


def _references(owner: Object, group: PlannedGroup) -> list[Any]:
    return [ref for path in group.paths for ref in read_path(owner, f"{path}.spec.schedulingGroup")]


def _is_owned(obj: Object, owner: Object) -> bool:
    uid = metadata_of(owner)["uid"]
    return any(reference.get("uid") == uid for reference in metadata_of(obj).get("ownerReferences") or ())


def _min_count(holder: Object) -> int | None:
    """Return the quorum in a PodGroup's spec or a Workload's template; None for a basic group."""
    count = ((holder.get("schedulingPolicy") or {}).get("gang") or {}).get("minCount")
    return None if count is None else int(count)


def _tell_not_attached(owner: Object, group: PlannedGroup) -> tuple[PlannedAction, ...]:
    """Say why the pods are in no group of ours; nothing where the record was only copied along and means nothing."""
    named = [ref.get("podGroupName") for ref in _references(owner, group) if isinstance(ref, dict)]
    if named:
        message = (
            f"Its record speaks of PodGroup {group.pod_group}, but its pods name {', '.join(map(str, named))}, which somebody "
            "else wrote and which is left to them. Take the gangwarden.dev annotations off the workload."
        )
        return (Tell(about=owner, reason="GroupOfSomebodyElse", message=message),)
    if not is_record_of_its_own(owner):
        return ()
    why, remedy = (
        ("feature gate GenericWorkload is off there", "Turn the gate on")
        if is_job(owner)
        else ("the CustomResourceDefinition does not know it, or feature gate GenericWorkload is off", "Update the definition")
    )
    message = (
        f"Its pods were to join PodGroup {group.pod_group}, but the API server dropped spec.schedulingGroup: {why}. "
        f"The pods run ungrouped. {remedy} and create the workload again."
    )
    return (Tell(about=owner, reason="GroupNotAttached", message=message),)


def _tell_taken(owner: Object, called: str) -> Tell:
    return Tell(
        about=owner,
        reason="PodGroupNameTaken",
        message=(
            f"{called} exists but does not belong to this workload, so nothing of it was changed. "
            "Delete it, or create the workload again under a new name."
        ),
    )
