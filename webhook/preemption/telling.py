"""What is recorded of a group that loses members: events with one id on its workload, its PodGroup and its pods.

The scheduler's own trail is an event on a pod that is gone and a UID, and the PodGroup goes on saying Scheduled
(experiments 10.2, 10.3). So what was seen is told when it is seen, where people look unasked. The history is bounded: one
event at the begin of a restart and one at its end, on at most ``MOST_PODS`` pods, and no event for the steps between, which
the condition in the PodGroup's status shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from webhook.groups import node_of
from webhook.model.actions import Tell
from webhook.model.disruption import Health, Intent, Loss, LossCause, RestartOutcome
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Object, metadata_of
from webhook.model.snapshot import Snapshot

MOST_PODS = 16
"""A group may have thousands of pods, and each event is a write."""
_MOST_NAMES = 3
_PHRASES = {
    LossCause.PREEMPTED: "was preempted by the scheduler",
    LossCause.EVICTED: "was evicted",
    LossCause.TAINTED: "was deleted because of a NoExecute taint on its node",
    LossCause.DEVICE_TAINTED: "was deleted because a device of its claim is tainted",
    LossCause.COLLECTED: "was removed by pod garbage collection",
    LossCause.KUBELET: "was ended by the kubelet of its node",
    LossCause.NODE_GONE: "was on a node that is gone",
    LossCause.NODE_SILENT: "is on a node that reports nothing any more",
    LossCause.DELETED: "was deleted by somebody",
    LossCause.FAILED: "failed by itself",
    LossCause.UNSEEN: "is missing, and nobody saw it go",
}
_ENDS = {
    RestartOutcome.WHOLE: ("GroupRestarted", False),
    RestartOutcome.FINISHED: ("GroupRestartAbandoned", False),
    RestartOutcome.ABANDONED: ("GroupRestartAbandoned", True),
    RestartOutcome.FAILED: ("GroupRestartFailed", True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The objects that an event is recorded on."""

    owner: Object
    pod_group: Object
    members: tuple[Object, ...] = ()
    """Pods that are still there; of those that are gone the losses tell name and UID."""


def loss_sentence(loss: Loss, preemptor: str = "") -> str:
    """Say in one clause, without a full stop, what took a member, where, when and for whom."""
    where = f" (node {loss.node})" if loss.node else ""
    said = f", which says: {loss.message.rstrip('. ')}" if loss.message else ""
    return f"Pod {loss.pod}{where} {_PHRASES[loss.cause]}{_for_whom(loss, preemptor)} at {moment_text(loss.since)}{said}"


def tell_begun(about: About, intent: Intent, health: Health, *, preemptor: str = "") -> tuple[Tell, ...]:
    """Record that a restart begins. ``preemptor`` is who took the first member, as ``preemptor_name`` says it."""
    row = f", number {intent.attempt} in a row" if intent.attempt > 1 else ""
    sentence = (
        f"{_losses(about, health, intent, preemptor)}. {_others(health)} cannot go on without it, so the whole group is "
        f"restarted together (restart {intent.id}{row}).{_deadline(about.owner)}"
    )
    return _everywhere(about, health, "GroupRestarting", sentence)


def tell_held(about: About, health: Health, intent: Intent | None = None) -> tuple[Tell, ...]:
    """Record that a group needs a restart and why it gets none now."""
    return _everywhere(about, health, "GroupHeld", _with_way_out(health, intent))


def tell_stuck(about: About, health: Health) -> tuple[Tell, ...]:
    """Record that a group can never start as things are."""
    return _everywhere(about, health, "GroupStuck", _with_way_out(health, None))


def tell_lost(about: About, health: Health) -> tuple[Tell, ...]:
    """Record that a member is lost, of a group that is not restarted, or not yet."""
    return _everywhere(about, health, "GroupLostMember", _with_way_out(health, None))


def tell_taken(about: About, health: Health, *, preemptor: str = "") -> tuple[Tell, ...]:
    """Record that all members are gone: nothing is left in part, so nothing is done, and nobody else would say why."""
    first, *others = health.losses
    count = f" and {len(others)} more with it" if others else ""
    owner = f"{about.owner.get('kind')} {metadata_of(about.owner).get('name')}"
    sentence = (
        f"{loss_sentence(first, preemptor)}{count}. No member of the group holds a node any more; {owner} makes new ones, which "
        "start together when there is room for all."
    )
    return _tells(About(owner=about.owner, pod_group=about.pod_group), (), "GroupTaken", sentence, warning=True)


def tell_ended(
    about: About, intent: Intent, outcome: RestartOutcome, *, now: datetime, note: str = "", pods: bool = True
) -> tuple[Tell, ...]:
    """Record how a restart ended. ``note`` says what happened, or which step failed; without ``pods`` they are spared."""
    reason, warning = _ENDS[outcome]
    seconds = max(round((now - intent.began).total_seconds()), 0)
    ended = {
        RestartOutcome.WHOLE: f"All members run again, started together, {seconds} s after {intent.victim} was lost",
        RestartOutcome.FINISHED: "Nothing was left to restart: its work has ended, or it is being deleted",
        RestartOutcome.ABANDONED: "Somebody else changed it in the middle of the restart, so it is left as they want it",
        RestartOutcome.FAILED: f"The restart was given up after {seconds} s, in step {intent.step.value}",
    }[outcome]
    more = f": {note.rstrip('. ')}" if note else ""
    members = about.members if pods else ()
    spared = About(owner=about.owner, pod_group=about.pod_group, members=members)
    return _tells(spared, (), reason, f"{ended}{more} (restart {intent.id}).", warning=warning)


def preemptor_name(uid: str, snapshot: Snapshot, namespace: str) -> str:
    """Name the pod or group with this UID while it lives; of another namespace only that it is there.

    An event is read by whoever may read the namespace of the victim, who need not know what runs in others.
    """
    for group, kind in ((SCHEDULING_GROUP, "PodGroup"), ("", "Pod")):
        for obj in snapshot.list(group, kind):
            meta = metadata_of(obj)
            if uid and meta.get("uid") == uid:
                return f"{kind} {meta.get('name')}" if meta.get("namespace") == namespace else f"a {kind} of another namespace"
    return ""


def moment_text(at: datetime) -> str:
    """Write a moment as Kubernetes does, to the second."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _for_whom(loss: Loss, preemptor: str) -> str:
    if loss.cause is not LossCause.PREEMPTED or not (preemptor or loss.by):
        return ""
    return f" for {preemptor or 'a pod or group that is gone'}" + (f" (UID {loss.by})" if loss.by else "")


def _others(health: Health) -> str:
    """Name the others. How many held their nodes is known to whoever saw the loss, not to a leader that came after them."""
    return f"{health.bound} other members hold their nodes and" if health.losses else "The other members"


def _losses(about: About, health: Health, intent: Intent, preemptor: str) -> str:
    if not health.losses:
        node = next((node_of(pod) for pod in about.members if metadata_of(pod).get("name") == intent.victim), "")
        return f"Pod {intent.victim}{f' (node {node})' if node else ''} {_PHRASES[intent.cause]}"
    first, *others = health.losses
    names = ", ".join(loss.pod for loss in others[:_MOST_NAMES])
    more = f" and {len(others) - _MOST_NAMES} more" if len(others) > _MOST_NAMES else ""
    return loss_sentence(first, preemptor) + (f"; lost as well: {names}{more}" if others else "")


def _deadline(owner: Object) -> str:
    """Note what a resume does to a Job's deadline: status.startTime is set anew (pkg/controller/job/job_controller.go)."""
    seconds = (owner.get("spec") or {}).get("activeDeadlineSeconds")
    return f" Its activeDeadlineSeconds ({seconds}) begins anew when it is resumed." if seconds else ""


def _with_way_out(health: Health, intent: Intent | None) -> str:
    parts = [health.because.rstrip(". ") + ".", health.way_out and health.way_out.rstrip(". ") + "."]
    return " ".join(part for part in parts if part) + (f" (restart {intent.id})" if intent else "")


def _everywhere(about: About, health: Health, reason: str, message: str) -> tuple[Tell, ...]:
    return _tells(about, health.losses, reason, message, warning=True)


def _tells(about: About, losses: tuple[Loss, ...], reason: str, message: str, *, warning: bool) -> tuple[Tell, ...]:
    objects = (about.owner, about.pod_group, *_pods(about, losses))
    return tuple(Tell(about=obj, reason=reason, message=message, warning=warning) for obj in objects)


def _pods(about: About, losses: tuple[Loss, ...]) -> Iterator[Object]:
    """Yield the pods to tell it on, lost ones first, also those that are gone."""
    there = {str(metadata_of(pod).get("uid")): pod for pod in about.members}
    namespace = str(metadata_of(about.pod_group).get("namespace") or "")
    lost = {loss.uid: there.get(loss.uid) or _gone(loss, namespace) for loss in losses if loss.uid}
    yield from tuple((lost | there).values())[:MOST_PODS]


def _gone(loss: Loss, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": loss.pod, "namespace": namespace, "uid": loss.uid}}
