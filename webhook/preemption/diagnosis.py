"""How one group is and why, in one sentence with the next step: health, refined by what events of others say.

Codes and next steps are those of the one table (``groups.catalogue``); here they are only chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from webhook.groups import Cause, is_job, is_suspended, is_true
from webhook.groups.catalogue import CATALOGUE
from webhook.model.disruption import GroupState, Health, Intent
from webhook.model.objects import Object, metadata_of
from webhook.model.stories import Diagnosis
from webhook.preemption.facts import GroupFacts
from webhook.preemption.foreign import is_held_down
from webhook.preemption.happenings import Happening
from webhook.preemption.health import judge_health
from webhook.preemption.moments import latest
from webhook.preemption.rollcall import RollCall, call_roll
from webhook.preemption.steps import since_restart
from webhook.preemption.stuck import waiting_for
from webhook.preemption.telling import loss_sentence, moment_text

_LONGEST_BACKOFF = timedelta(seconds=600)
"""Of the Job controller after failed pods (job_controller.go, MaxJobPodFailureBackOff)."""
_QUIET = frozenset({"Running", "Forming", "Finished", "Suspended", "NotLooked", "JobBackOff"})
"""Codes that nobody has to act on."""
_STARTING = timedelta(seconds=5)
"""A group that has waited for less is only about to start."""


def diagnose(facts: GroupFacts, events: Sequence[Happening], name_of: Callable[[str], str]) -> Diagnosis:
    """Diagnose one group. ``events`` are those of its objects; ``name_of`` names who has a UID, empty where nobody does."""
    health = _with_preemptor(judge_health(facts), events)
    roll = call_roll(since_restart(facts))
    match health.state:
        case GroupState.FINISHING:
            return _diagnosis(facts, health, "Finished", _sentence(health))
        case GroupState.RESTARTING:
            return _diagnosis(facts, health, "GroupRestarting", _restart_sentence(facts.intent, health))
        case GroupState.HELD:
            return _diagnosis(facts, health, "GroupHeld", _sentence(health))
        case GroupState.LOST_A_MEMBER:
            return _lost(facts, health, roll, name_of)
        case GroupState.STUCK:
            waits = waiting_for(facts, roll)
            code = waits.reason if waits and health.because.startswith(waits.message[:40]) else "GroupStuck"
            return _diagnosis(facts, health, code, _sentence(health))
        case GroupState.FORMING:
            return _forming(facts, health, roll, events, name_of)
        case GroupState.WHOLE:
            return _diagnosis(facts, health, "Running", health.because)


def missing_group(name: str, cause: Cause) -> Diagnosis:
    """Diagnose a group whose PodGroup does not exist."""
    return Diagnosis(
        pod_group=name,
        state=GroupState.FORMING.value,
        code=cause.reason,
        cause=cause.message,
        next_step=CATALOGUE[cause.reason].next_step,
        is_finding=True,
    )


def ungrouped(because: str, code: str = "NotGrouped", *, is_finding: bool = False, next_step: str = "") -> Diagnosis:
    """Diagnose what is in no group; ``next_step`` stands for what the catalogue says of the code."""
    told = next_step or CATALOGUE[code].next_step
    return Diagnosis(pod_group="", state="", code=code, cause=because, next_step=told, is_finding=is_finding)


def _diagnosis(facts: GroupFacts, health: Health, code: str, cause: str, *, next_step: str = "") -> Diagnosis:
    known = CATALOGUE[code].next_step
    return Diagnosis(
        pod_group=facts.name,
        state=health.state.value,
        code=code,
        cause=cause,
        next_step=next_step or known,
        is_finding=code not in _QUIET,
    )


def _sentence(health: Health) -> str:
    return " ".join(part for part in (health.because, health.way_out) if part)


def _restart_sentence(intent: Intent | None, health: Health) -> str:
    if intent is None:
        return _sentence(health)
    victim = intent.victim or "a member"
    return f"{health.because} It began at {moment_text(intent.began)}, when {victim} was lost ({intent.cause.value})."


def _lost(facts: GroupFacts, health: Health, roll: RollCall, name_of: Callable[[str], str]) -> Diagnosis:
    first = health.losses[0]
    others = f" {len(roll.working)} of {roll.wanted} members go on without making progress." if roll.working else ""
    who = name_of(first.by) if first.by else ""
    cause = f"{loss_sentence(first, who)}.{others}"
    next_step = f"{health.way_out} {CATALOGUE[first.cause.value].next_step}".strip()
    return _diagnosis(facts, health, first.cause.value, cause, next_step=next_step)


def _forming(
    facts: GroupFacts, health: Health, roll: RollCall, events: Sequence[Happening], name_of: Callable[[str], str]
) -> Diagnosis:
    before = _taken_before(facts, events, name_of)
    if is_held_down(facts) or is_suspended(facts.owner or {}):
        return _diagnosis(facts, health, "Suspended", health.because)
    if not roll.unfinished and (pause := _pause(facts, roll, events)):
        return _diagnosis(facts, health, "JobBackOff", before + pause)
    waits = waiting_for(facts, roll)
    if roll.bound and roll.waiting and not _was_started(facts):
        cause = (
            f"{roll.bound} of {roll.wanted} members have nodes and {len(roll.waiting)} wait, though the group was never started "
            "as a whole"
        )
        if _has_waited(facts, roll):
            return _diagnosis(facts, health, "BoundInPart", f"{cause}.")
    if waits is None:
        code = "NotLooked" if roll.waiting and _has_waited(facts, roll) else "Forming"
        return _diagnosis(facts, health, code, before + health.because)
    code, cause = _refined(waits, facts, events)
    return _diagnosis(facts, health, code, before + cause)


def _refined(waits: Cause, facts: GroupFacts, events: Sequence[Happening]) -> tuple[str, str]:
    """Say more of what a group waits for than its own objects tell."""
    if waits.reason == "GroupUnschedulable" and (facts.pod_group.get("spec") or {}).get("schedulingConstraints"):
        return "NoDomain", waits.message
    if waits.reason != "QuorumNotReached":
        return waits.reason, waits.message
    refused = max((one for one in events if one.reason == "FailedCreate"), key=lambda one: one.at, default=None)
    if refused is not None:
        code = "QuotaExceeded" if "exceeded quota" in refused.text else "PodsRefused"
        return code, f"{waits.message.partition('. ')[0]}; the others are refused: {refused.text.rstrip('. ')}."
    return waits.reason, waits.message


def _pause(facts: GroupFacts, roll: RollCall, events: Sequence[Happening]) -> str:
    """Say until when the Job controller makes no pods, of a Job that lost all it had; empty where that is not why."""
    taken = [event.at for event in events if event.preemptor and _is_after_start(event, facts)]
    ended = latest((*(loss.since for loss in roll.losses), *taken))
    if ended is None or not is_job(facts.owner or {}) or facts.now - ended >= _LONGEST_BACKOFF:
        return ""
    until = moment_text(ended + _LONGEST_BACKOFF)
    return f"All members were lost, the last at {moment_text(ended)}; the Job makes new ones by {until} at the latest."


def _taken_before(facts: GroupFacts, events: Sequence[Happening], name_of: Callable[[str], str]) -> str:
    """Say that the scheduler took the group down, as long as its event tells: nothing else of the group does."""
    taken = max((one for one in events if one.preemptor and _is_after_start(one, facts)), key=lambda one: one.at, default=None)
    if taken is None or taken.preemptor is None:
        return ""
    uid, _ = taken.preemptor
    who = taken.related or name_of(uid) or f"a pod or group that is gone (UID {uid})"
    return f"The scheduler preempted it for {who} at {moment_text(taken.at)}, and it waits to start again. "


def _is_after_start(event: Happening, facts: GroupFacts) -> bool:
    """Tell whether an event is of this PodGroup's time and not of an earlier one's of the same workload."""
    created = str(metadata_of(facts.pod_group).get("creationTimestamp") or "")
    return not created or moment_text(event.at) >= created


def _with_preemptor(health: Health, events: Sequence[Happening]) -> Health:
    """Add to losses the preemptor that only the scheduler's event names."""
    by = {event.uid: event.preemptor[0] for event in events if event.preemptor}
    return replace(health, losses=tuple(replace(loss, by=loss.by or by.get(loss.uid, "")) for loss in health.losses))


def _was_started(facts: GroupFacts) -> bool:
    return is_true(facts.pod_group, "PodGroupInitiallyScheduled")


def _has_waited(facts: GroupFacts, roll: RollCall) -> bool:
    return all(moment_text(facts.now - _STARTING) >= _created(pod) for pod in roll.waiting)


def _created(pod: Object) -> str:
    return str(metadata_of(pod).get("creationTimestamp") or "")
