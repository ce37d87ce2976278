"""Why a group does not start, in one sentence with the next step.

The scheduler says nothing about most of these: a missing PodGroup, a missing quorum and a gated member leave no
condition and no event (scheduling_queue.go, gangscheduling.go PreEnqueue in 1.37.2), so we read the objects and tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webhook.groups.states import is_true, node_of
from webhook.model.groups import PlannedGroup
from webhook.model.objects import Object, metadata_of

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"


@dataclass(frozen=True, slots=True)
class Cause:
    """What a group waits for; ``reason`` is the machine's word, ``message`` the sentence for people."""

    reason: str
    message: str


def why_waiting(group: PlannedGroup, pod_group: Object | None, members: Sequence[Object]) -> Cause | None:
    """Return what keeps a group from starting; None when it has started or nothing is known to be wrong.

    ``members`` are the pods that name the group and have neither Succeeded nor Failed: what the scheduler counts.
    """
    return next(_causes(group, pod_group, members), None)


def _causes(group: PlannedGroup, pod_group: Object | None, members: Sequence[Object]) -> Iterator[Cause]:
    waiting = [pod for pod in members if not node_of(pod)]
    if pod_group is None:
        if members:
            yield _missing(group, len(members))
        return
    if not waiting and (_has_started(pod_group, members) or len(members) >= _quorum(pod_group)):
        return  # what is missing has ended: at the end of every Job there are fewer members than its quorum
    yield from _gated(waiting)
    yield from _mismatched(pod_group, members)
    yield from _short(group, pod_group, members)
    yield from _unschedulable(pod_group, waiting)


def _has_started(pod_group: Object, members: Sequence[Object]) -> bool:
    """Tell whether the group was scheduled once: the condition never goes back, but a PodGroup made anew has none."""
    return is_true(pod_group, INITIALLY_SCHEDULED) or any(node_of(pod) for pod in members)


def _missing(group: PlannedGroup, count: int) -> Cause:
    return Cause(
        "PodGroupMissing",
        f"{count} pods wait because PodGroup {group.pod_group} does not exist. Gangwarden's controller creates it; "
        "if this stays, look at the controller's log and its Lease.",
    )


def _gated(waiting: Sequence[Object]) -> Iterator[Cause]:
    for pod in waiting:
        gates = (pod.get("spec") or {}).get("schedulingGates")
        if gates:
            yield Cause(
                "MemberGated",
                f"Pod {metadata_of(pod).get('name')} carries scheduling gate {gates[0].get('name')}, and one gated member holds "
                "back the whole group. It starts when whoever set the gate removes it.",
            )


def _mismatched(pod_group: Object, members: Sequence[Object]) -> Iterator[Cause]:
    """Source: schedule_one_podgroup.go in 1.37.2, whose check of the whole group fails over and over without an end."""
    name, spec = metadata_of(pod_group).get("name"), pod_group.get("spec") or {}
    schedulers = {(pod.get("spec") or {}).get("schedulerName", "default-scheduler") for pod in members}
    if len(schedulers) > 1:
        yield Cause(
            "SchedulerNameMismatch",
            f"The pods of group {name} name different schedulers ({', '.join(sorted(schedulers))}); a group is only scheduled as "
            "a whole by one. Give all its pod templates the same schedulerName.",
        )
    priority = spec.get("priority", 0)
    for pod in members:
        own = (pod.get("spec") or {}).get("priority", 0)
        if own != priority:
            yield Cause(
                "PriorityMismatch",
                f"Pod {metadata_of(pod).get('name')} has priority {own} but group {name} has {priority}, frozen when the group "
                "was created. Give both the same priorityClassName and create the workload again.",
            )


def _short(group: PlannedGroup, pod_group: Object, members: Sequence[Object]) -> Iterator[Cause]:
    quorum = _quorum(pod_group)
    if len(members) < quorum:
        yield Cause(
            "QuorumNotReached",
            f"The group starts when {quorum} pods exist at the same time; {len(members)} of {group.count} do. Look for what "
            "keeps the others from being created: completions below the quorum, a ResourceQuota, or an admission webhook; pods "
            "that have ended do not count.",
        )


def _unschedulable(pod_group: Object, waiting: Sequence[Object]) -> Iterator[Cause]:
    for condition in (pod_group.get("status") or {}).get("conditions") or ():
        if waiting and condition.get("type") == INITIALLY_SCHEDULED and condition.get("status") == "False":
            key = _topology_key(pod_group)
            place = f" within one {key}" if key else ""
            yield Cause(
                "GroupUnschedulable",
                f"The scheduler found no room for the whole group{place}, so none of it runs: {condition.get('message', '')}",
            )


def _topology_key(pod_group: Object) -> str:
    """Return the label key within one value of which the group must stay; the API allows one."""
    topology = ((pod_group.get("spec") or {}).get("schedulingConstraints") or {}).get("topology") or ()
    return str(topology[0].get("key") or "") if topology else ""


def _quorum(pod_group: Object) -> int:
    gang = ((pod_group.get("spec") or {}).get("schedulingPolicy") or {}).get("gang") or {}
    return int(gang.get("minCount", 1))
