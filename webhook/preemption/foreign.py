"""Whose hands a workload is in, and so by which means its group may be restarted, if by any."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webhook.groups import foreign_manager, foreign_system, is_cron_jobs, is_suspended, read_path
from webhook.model.objects import Kind, Object, annotations_of, controller_of, labels_of, metadata_of
from webhook.preemption.facts import GroupFacts

_KUEUE = "kueue.x-k8s.io/"
_KUEUE_MARKS = (f"{_KUEUE}queue-name", f"{_KUEUE}prebuilt-workload-name", f"{_KUEUE}pod-group-name")
_WITHOUT_SUSPEND = frozenset(
    {
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("apps", "StatefulSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("", "Pod"),
    }
)
"""Kinds that have no such field: a definition prunes what it does not know, so the write would seem to succeed."""


class Means(StrEnum):
    """How the members of a group may be taken down."""

    SUSPEND = "Suspend"
    EVICT = "Evict"
    NOTHING = "Nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """What we may do to a workload, and why not more."""

    means: Means
    because: str = ""
    """A clause that begins with the workload's side: ``Kueue suspends and resumes it (label …)``; empty with SUSPEND."""


def hand_on(facts: GroupFacts) -> Hand:
    """Return by which means a group may be restarted.

    One that another controller runs is only reported: its pods may be anywhere. One that somebody else suspends and resumes
    is never suspended by us; its members can still be evicted, as every drain does.
    """
    owner = facts.owner
    if owner is None:
        return Hand(means=Means.NOTHING, because="its workload is not known")
    paths = facts.planned.paths if facts.planned is not None else ("spec.template",)
    other = foreign_manager(owner) or foreign_system(owner, paths)
    if other:
        return Hand(means=Means.NOTHING, because=f"another system runs it: {other}")
    suspender = _suspender(owner, facts)
    return Hand(means=Means.EVICT, because=suspender) if suspender else Hand(means=Means.SUSPEND)


def is_held_down(facts: GroupFacts) -> bool:
    """Tell whether the workload is suspended now, by whomever."""
    owner, path = facts.owner or {}, facts.spec.suspend_path
    return is_suspended(owner) or (bool(path) and any(value is True for value in read_path(owner, path)))


def _suspender(owner: Object, facts: GroupFacts) -> str:
    marks = [mark for mark in _KUEUE_MARKS if mark in labels_of(owner) or mark in annotations_of(owner)]
    if marks or any(str(one.get("apiVersion", "")).startswith(_KUEUE) for one in metadata_of(owner).get("ownerReferences") or ()):
        return f"Kueue suspends and resumes it ({marks[0] if marks else 'its owner is a Workload of Kueue'})"
    above = controller_of(owner)
    if above is not None and not is_cron_jobs(owner):
        return f"{above.get('kind')} {above.get('name')} controls it"
    if not facts.spec.suspend_path:
        return "its policy says restart: {evict: {}}"
    kind = Kind.of(owner)
    return f"a {kind.kind} cannot be suspended" if (kind.group, kind.kind) in _WITHOUT_SUSPEND else ""
