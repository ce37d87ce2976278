"""What planners ask the executor to do. Every action carries a sentence that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
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


PlannedAction: TypeAlias = Apply | Delete | Tell | Recheck
