"""What took a member: facts only, never an announcement.

A DisruptionTarget condition alone is none: where somebody vetoes the scheduler's delete, the pod carries it for ever and runs
on (experiments 10.4). It counts together with a deletion, with a failure, or once the pod is gone.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from webhook.groups import condition, has_ended, is_true, node_of
from webhook.model.disruption import Loss, LossCause
from webhook.model.objects import Object, labels_of, metadata_of
from webhook.preemption.deadnodes import DeadNode
from webhook.preemption.moments import asked_to_go, created, latest, moment

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_BY_KUBELET = re.compile(
    r"Evicted|NodeShutdown|Shutdown|Terminated|NodeLost|NodeAffinity|Preempting|OutOf\w+|UnexpectedAdmissionError"
)
"""status.reason of pods that the kubelet ends or refuses (pkg/kubelet/eviction, nodeshutdown, lifecycle, preemption): not
every one of these ways sets DisruptionTarget. ``DeadlineExceeded`` is the pod's own limit and stays its own failure."""
_SURVIVED = timedelta(minutes=5)
"""After a disruption that is real a pod ends within its grace period, or carries a deletionTimestamp."""
_AT_ONCE = timedelta(seconds=1)
"""A pod that the kubelet refuses fails at once. Later than the members that were created with it: none of them replaces it."""
_CLOCKS_APART = timedelta(seconds=2)
"""How far kubelets' clocks are behind the API server's at most, for this."""
_PREEMPTOR = re.compile(r"[Pp]reempted by (?:pod|podgroup|compositepodgroup) ([0-9a-fA-F-]{8,})")


def loss_of(pod: Object, dead: DeadNode | None) -> Loss | None:
    """Return how a member that is still there was lost; None while it works, waits or has succeeded.

    ``dead`` says why nothing runs on its node any more, if so.
    """
    phase = _phase(pod)
    if phase == "Succeeded":
        return None
    if phase == "Failed" or metadata_of(pod).get("deletionTimestamp"):
        return _as_written(pod)
    return None if dead is None else _loss(pod, dead.cause, dead.since, dead.message)


def loss_of_gone(last: Object, now: datetime) -> Loss | None:
    """Return how a pod was lost that exists no more, by what was last seen of it; None where it had succeeded or had no node."""
    if _phase(last) == "Succeeded" or not node_of(last):
        return None
    written = _as_written(last)
    return _loss(last, written.cause, asked_to_go(last) or (written.since if has_ended(last) else now), written.message)


def preemptor_in(text: str) -> str:
    """Return the UID of the preemptor from the message of the scheduler's event ``Preempted``; empty where it names none.

    The condition on the pod does not name it (pkg/scheduler/framework/preemption/executor.go).
    """
    found = _PREEMPTOR.search(text)
    return found[1] if found else ""


def _as_written(pod: Object) -> Loss:
    status = pod.get("status") or {}
    target = _disruption_target(pod)
    if target is not None and not _was_survived(target, pod):
        cause = _named(str(target.get("reason") or ""))
        since = moment(target.get("lastTransitionTime")) or asked_to_go(pod) or _ended(pod)
        return _loss(pod, cause, since, str(target.get("message") or ""))
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    if _BY_KUBELET.fullmatch(reason):
        return _loss(pod, LossCause.KUBELET, _ended(pod), f"{reason}: {message}" if message else reason)
    if _phase(pod) == "Failed" and not _was_stopped(pod):
        return _loss(pod, LossCause.FAILED, _ended(pod), f"{reason} {message}".strip() or _exit_of(pod))
    return _loss(pod, LossCause.DELETED, asked_to_go(pod) or created(pod), "")


def _was_stopped(pod: Object) -> bool:
    """Tell whether a pod failed because it was deleted: few programs end well on SIGTERM. Two clocks wrote the two times."""
    asked = asked_to_go(pod)
    return asked is not None and _ended(pod) >= asked - _CLOCKS_APART


def _loss(pod: Object, cause: LossCause, since: datetime, message: str) -> Loss:
    meta = metadata_of(pod)
    return Loss(
        pod=str(meta.get("name")),
        uid=str(meta.get("uid")),
        cause=cause,
        since=since,
        message=message,
        node=node_of(pod),
        by=preemptor_in(message),
        index=str(labels_of(pod).get(INDEX_LABEL) or ""),
        created=created(pod),
    )


def _named(reason: str) -> LossCause:
    """Return the cause of a DisruptionTarget reason; one that we do not know is somebody's deletion."""
    known = {cause.value: cause for cause in LossCause}
    return known.get(reason, LossCause.DELETED)


def _disruption_target(pod: Object) -> Object | None:
    return condition(pod, "DisruptionTarget") if is_true(pod, "DisruptionTarget") else None


def _was_survived(target: Object, pod: Object) -> bool:
    """Tell whether a pod failed long after a disruption that was announced and vetoed: then nothing took it."""
    announced, ended = moment(target.get("lastTransitionTime")), latest(moment(one.get("finishedAt")) for one in _terminated(pod))
    is_deleted = bool(metadata_of(pod).get("deletionTimestamp"))
    return not is_deleted and announced is not None and ended is not None and ended - announced > _SURVIVED


def _ended(pod: Object) -> datetime:
    """Return when a pod ended: when its last container did; where nobody wrote that, just after it was created."""
    written = latest(moment(one.get("finishedAt")) for one in _terminated(pod)) or asked_to_go(pod)
    return written or created(pod) + _AT_ONCE


def _exit_of(pod: Object) -> str:
    for one in _terminated(pod):
        if one.get("exitCode"):
            return f"exit code {one['exitCode']}" + (f" ({one['reason']})" if one.get("reason") else "")
    return ""


def _terminated(pod: Object) -> list[Object]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    states = [(one.get("state") or {}).get("terminated") for one in statuses]
    return [state for state in states if state]


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")
