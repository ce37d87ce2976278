"""A restart and its traces in the status of a PodGroup: what the next leader knows of it.

The condition's reason is the step, its message a list of ``key=value`` and a sentence, so that ``kubectl describe`` shows it and
we can read it again. When a restart has ended the condition is False and stays: it counts restarts across leaders.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from webhook.groups import condition
from webhook.model.actions import SetCondition
from webhook.model.disruption import INTENT_CONDITION, Intent, LossCause, Past, RestartOutcome, Step
from webhook.model.objects import Object, ObjectKey, uid_of

DISRUPTED_CONDITION = "DisruptionTarget"
"""Kubernetes' own word, which kubectl prints with its reason whatever its status: it is taken away when it is not true."""
_BREAK = " | "
_ENDS = {
    RestartOutcome.WHOLE: "Restarted",
    RestartOutcome.ABANDONED: "Abandoned",
    RestartOutcome.FINISHED: "Finished",
    RestartOutcome.FAILED: "GivenUp",
}
"""What stands as the condition's reason after the end."""
_OUTCOMES = {word: outcome for outcome, word in _ENDS.items()}


@dataclass(frozen=True, slots=True)
class Trace:
    """What a PodGroup's condition tells: a restart under way, or the last one, or neither."""

    intent: Intent | None = None
    past: Past | None = None


def write_intent(pod_group: Object, intent: Intent) -> SetCondition:
    """Return the write that records how far a restart has come."""
    return SetCondition(
        key=ObjectKey.of(pod_group),
        uid=uid_of(pod_group),
        type=INTENT_CONDITION,
        status=True,
        word=intent.step.value,
        message=_encode(intent),
        since=intent.step_since,
        reason=f"restart {intent.id} is in step {intent.step.value}",
    )


def write_past(pod_group: Object, past: Past) -> SetCondition:
    """Return the write that records how a restart ended."""
    return SetCondition(
        key=ObjectKey.of(pod_group),
        uid=uid_of(pod_group),
        type=INTENT_CONDITION,
        status=False,
        word=_ENDS[past.outcome],
        message=_encode(past.intent),
        since=past.ended,
        reason=f"restart {past.intent.id} has ended",
    )


def forget_past(pod_group: Object) -> SetCondition:
    """Return the write that takes the record away: nothing was restarted yet."""
    return SetCondition(
        key=ObjectKey.of(pod_group),
        uid=uid_of(pod_group),
        type=INTENT_CONDITION,
        status=None,
        reason="no restart was needed",
    )


def write_disrupted(pod_group: Object, cause: LossCause | None, message: str, now: datetime) -> SetCondition:
    """Return the write that marks a PodGroup as disrupted, or takes the mark away where there is no cause."""
    return SetCondition(
        key=ObjectKey.of(pod_group),
        uid=uid_of(pod_group),
        type=DISRUPTED_CONDITION,
        status=None if cause is None else True,
        word="" if cause is None else cause.value,
        message=message,
        since=now,
        reason="the group has lost a member" if cause else "nothing disrupts the group any more",
    )


def read_trace(pod_group: Object) -> Trace:
    """Read a PodGroup's condition; what we could not have written is nothing."""
    found = condition(pod_group, INTENT_CONDITION)
    if found is None:
        return Trace()
    with suppress(KeyError, ValueError):
        since = _moment(str(found.get("lastTransitionTime")))
        if found.get("status") == "True":
            return Trace(intent=_decode(str(found["message"]), Step(found["reason"]), since))
        outcome = _OUTCOMES[str(found.get("reason"))]
        intent = _decode(str(found["message"]), Step.FORMING, since)
        return Trace(past=Past(intent=intent, outcome=outcome, ended=since))
    return Trace()


def is_marked_disrupted(pod_group: Object) -> bool:
    """Tell whether the PodGroup carries DisruptionTarget."""
    return condition(pod_group, DISRUPTED_CONDITION) is not None


def _encode(intent: Intent) -> str:
    parts = {
        "restart": intent.id,
        "attempt": intent.attempt,
        "total": intent.total,
        "owner": intent.owner_uid,
        "cause": intent.cause.value,
        "victim": intent.victim or "-",
        "began": intent.began.astimezone(UTC).isoformat(timespec="seconds"),
        "suspended": "us" if intent.suspended_by_us else "no",
    }
    return " ".join(f"{key}={value}" for key, value in parts.items()) + (f"{_BREAK}{intent.note}" if intent.note else "")


def _decode(message: str, step: Step, since: datetime) -> Intent:
    """Read what ``_encode`` wrote. Raises KeyError or ValueError."""
    head, _, note = message.partition(_BREAK)
    said = dict(part.split("=", 1) for part in head.split(" "))
    return Intent(
        id=said["restart"],
        step=step,
        owner_uid=said["owner"],
        cause=LossCause(said["cause"]),
        victim="" if said["victim"] == "-" else said["victim"],
        began=_moment(said["began"]),
        step_since=since,
        attempt=max(int(said["attempt"]), 1),
        total=max(int(said["total"]), 1),
        suspended_by_us=said["suspended"] == "us",
        note=note,
    )


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text} says no time zone")
    return found
