"""Whether a group is at its end: then nothing is to be kept together any more, whatever takes its members."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.groups import is_draining_queue, is_finished, is_job
from webhook.model.objects import Object, metadata_of
from webhook.preemption.facts import GroupFacts
from webhook.preemption.rollcall import RollCall

_ENDING = ("FailureTarget", "SuccessCriteriaMet")
"""Conditions by which the Job controller says that it takes the rest away (KEP-3329, KEP-3998)."""


def endings(facts: GroupFacts, roll: RollCall) -> Iterator[str]:
    """Yield the reasons why a group is at its end, each as a sentence."""
    if metadata_of(facts.pod_group).get("deletionTimestamp"):
        yield f"PodGroup {facts.name} is being deleted."
    space = facts.namespace or {}
    if metadata_of(space).get("deletionTimestamp") or (space.get("status") or {}).get("phase") == "Terminating":
        yield f"Namespace {facts.namespace_name} is being deleted."
    if facts.owner is not None:
        yield from _of_owner(facts.owner, facts.owner_named, roll)
        if not roll.wanted and _has_to_run(facts):
            yield f"All members that {facts.owner_named} has to run have ended."
    elif facts.is_owner_followed:
        yield f"{facts.owner_named} is gone."


def _of_owner(owner: Object, name: str, roll: RollCall) -> Iterator[str]:
    if metadata_of(owner).get("deletionTimestamp"):
        yield f"{name} is being deleted."
    if is_finished(owner):
        yield f"{name} has ended."
    conditions: list[Object] = (owner.get("status") or {}).get("conditions") or []
    for condition in conditions:
        if condition.get("type") in _ENDING and condition.get("status") == "True":
            yield f"{name} is about to end ({condition.get('reason')})."
    if is_draining_queue(owner, succeeded=len(roll.succeeded)):
        yield f"A member of the work queue {name} has succeeded, so no other is replaced any more."


def _has_to_run(facts: GroupFacts) -> bool:
    """Tell whether the workload is to have pods at all; with none it waits for somebody to say how many."""
    owner = facts.owner or {}
    if is_job(owner):
        return bool((owner.get("spec") or {}).get("parallelism", 1))
    return facts.planned is None or facts.planned.count > 0
