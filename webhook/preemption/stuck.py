"""Why a group can never be whole again as it stands; nothing of this is told by Kubernetes itself (experiments 4, 9.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webhook.groups import Cause, is_job, node_of, why_waiting
from webhook.model.groups import PlannedGroup
from webhook.model.objects import metadata_of
from webhook.preemption.deadnodes import OUT_OF_SERVICE, death_of
from webhook.preemption.facts import GroupFacts
from webhook.preemption.rollcall import RollCall

REPAIR_SECONDS = 5.0
"""How long a quorum may be out of reach before it is called so: it follows the Job's status, which is about a second late."""
_NEVER_TOGETHER = ("SchedulerNameMismatch", "PriorityMismatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlock:
    """What holds a group for ever, and who ends it."""

    because: str
    way_out: str


def deadlock_of(facts: GroupFacts, roll: RollCall) -> Deadlock | None:
    """Return what holds a group for ever; None where time or Kubernetes still helps it."""
    return next((found for question in _QUESTIONS if (found := question(facts, roll)) is not None), None)


def out_of_reach_seconds(facts: GroupFacts, roll: RollCall) -> float | None:
    """Return in how many seconds (0: already) a quorum that cannot be met counts as such; None where it can be met."""
    if (facts.quorum or 0) <= roll.wanted or len(roll.working) >= roll.wanted:
        return None
    if not roll.bound:
        return 0.0
    return max(REPAIR_SECONDS - (facts.now - (facts.short_since or facts.now)).total_seconds(), 0.0)


def waiting_for(facts: GroupFacts, roll: RollCall) -> Cause | None:
    """Return what the members without a node wait for, as far as it can be known."""
    planned = facts.planned or PlannedGroup(template="", pod_group=facts.name, count=roll.wanted, min_count=facts.quorum)
    return why_waiting(planned, facts.pod_group, roll.unfinished)


def _out_of_reach(facts: GroupFacts, roll: RollCall) -> Deadlock | None:
    if out_of_reach_seconds(facts, roll) != 0:
        return None
    because = (
        f"PodGroup {facts.name} has minCount {facts.quorum}, and {facts.owner_named} will run no more than {roll.wanted} pods at "
        f"a time ({len(roll.succeeded)} have succeeded), so whoever waits now waits for ever."
    )
    if is_job(facts.owner or {}):
        return Deadlock(
            because=because, way_out=f"The controller lowers minCount to {max(roll.needed, 1)}, as the Job's status says."
        )
    return Deadlock(because=because, way_out=f"Lower minCount to {roll.wanted}, or start {facts.owner_named} again.")


def _crashing(facts: GroupFacts, roll: RollCall) -> Deadlock | None:
    for pod in roll.working:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            if ((container.get("state") or {}).get("waiting") or {}).get("reason") == "CrashLoopBackOff":
                because = (
                    f"A container of pod {metadata_of(pod).get('name')} ends again and again (CrashLoopBackOff): its own program "
                    "fails, nothing took it."
                )
                way_out = f"Read the container's log; {facts.owner_named} fails by its own limits if this goes on."
                return Deadlock(because=because, way_out=way_out)
    return None


def _undying(facts: GroupFacts, roll: RollCall) -> Deadlock | None:
    """Find a member that is to go from a dead node: no kubelet will ever say that it went."""
    for pod in roll.leaving:
        node = node_of(pod)
        dead = death_of(node, facts) if metadata_of(pod).get("deletionTimestamp") else None
        if dead is not None:
            because = f"Pod {metadata_of(pod).get('name')} was deleted, but {dead.message}, so nobody confirms that it ended."
            return Deadlock(because=because, way_out=f"Delete Node {node}, or taint it {OUT_OF_SERVICE} if the machine is off.")
    return None


def _mismatched(facts: GroupFacts, roll: RollCall) -> Deadlock | None:
    cause = waiting_for(facts, roll)
    if cause is None or cause.reason not in _NEVER_TOGETHER:
        return None
    return Deadlock(because=cause.message, way_out="Delete the workload, and create it again as said.")


_QUESTIONS: tuple[Callable[[GroupFacts, RollCall], Deadlock | None], ...] = (_out_of_reach, _crashing, _undying, _mismatched)
