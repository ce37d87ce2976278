"""What planners ask the executor to do. Every action carries a sentence that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from webhook.model.objects import Object, ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """Bring an object to this state by server-side apply under our field manager."""

    object: Object
    reason: str
    is_new: bool = False
    """The object must not exist yet: it is created, and never taken over from somebody who was faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete an object, only if it still has this UID."""

    key: ObjectKey
    uid: str
    reason: str
    force: bool = False
    """Without grace: nobody is left who would confirm that the pod ended (a node that is gone)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Have a workload take its pods away, in one write; moot where somebody else suspended it first."""

    key: ObjectKey
    uid: str
    path: str
    """The boolean field that suspends, such as ``spec.suspend``."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """End a suspension of ours; moot where the field is somebody else's by now, or is false already."""

    key: ObjectKey
    uid: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuorum:
    """Set minCount where the quorum of a group is kept: on its PodGroup, or on a Job that Kubernetes groups itself."""

    key: ObjectKey
    """A PodGroup, or a Job."""
    uid: str
    min_count: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Evict a pod by the API, which asks its disruption budgets."""

    key: ObjectKey
    uid: str
    reason: str
    dry_run: bool = False
    """Only ask whether permissions and webhooks let it pass; about a whole group that proves nothing (KEP-5710)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCondition:
    """Write one condition into the status of a PodGroup, where tenants cannot write, or take it away."""

    key: ObjectKey
    uid: str
    type: str
    status: bool | None
    """None: take it away."""
    word: str = ""
    """The condition's reason, CamelCase."""
    message: str = ""
    since: datetime | None = None
    """Its lastTransitionTime."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Record an event on an object."""

    about: Object
    """The object the event is about; its apiVersion, kind, namespace, name and uid are used."""
    reason: str
    """CamelCase, the machine's word."""
    message: str
    """One sentence: the cause and the next step."""
    warning: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """Look at the same workload again after some seconds; nothing is to be done now."""

    after_seconds: float
    reason: str


Write: TypeAlias = Apply | Delete | Suspend | Resume | SetQuorum | Evict | SetCondition
"""What changes something in the cluster, and stops what follows it when it fails."""
PlannedAction: TypeAlias = Write | Tell | Recheck
