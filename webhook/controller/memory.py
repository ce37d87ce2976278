"""What the keeper remembers of groups in a time of leading.

While we lead nobody else writes a restart's traces, so what is remembered here is newer than what the watch has brought back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from webhook.controller.told import Told
from webhook.model.disruption import Intent, Past
from webhook.model.groups import PlannedGroup
from webhook.model.objects import Object, ObjectKey
from webhook.preemption import Begun, read_trace


@dataclass(slots=True)
class Remembered:
    """One group."""

    intent: Intent | None = None
    past: Past | None = None
    is_inherited: bool = False
    """What is under way was begun by another leader."""
    version: int = 0
    """Of the workload when we last suspended or resumed it: what the watch says of an earlier one is over."""
    probed: int = 0
    """Version of the workload for which it was asked whether its suspension is one of ours that nobody remembers."""
    short_since: datetime | None = None
    planned: tuple[object, PlannedGroup | None] = (None, None)
    """For which version of workload and policies, and what its policy asked for then."""


class Memory:
    """What is remembered of all groups."""

    def __init__(self) -> None:
        self._groups: dict[ObjectKey, Remembered] = {}
        self._begun: deque[tuple[datetime, str, str]] = deque()
        self.told = Told()

    def of(self, pod_group: Object) -> Remembered:
        """Return what is known of a group; of one that is new here, what its condition tells.

        A PodGroup that somebody deleted and that was made anew under its name carries on what was under way.
        """
        key = ObjectKey.of(pod_group)
        found = self._groups.get(key)
        if found is None:
            trace = read_trace(pod_group)
            found = self._groups[key] = Remembered(intent=trace.intent, past=trace.past, is_inherited=trace.intent is not None)
        return found

    def forget(self, key: ObjectKey) -> None:
        """Forget a group that is not ours, or whose workload is gone."""
        self._groups.pop(key, None)

    def under_way(self, namespace: str) -> Collection[ObjectKey]:
        """Return the groups of a namespace that have a restart under way or wait for one."""
        return tuple(key for key, found in self._groups.items() if key.namespace == namespace and found.intent is not None)

    def note_begun(self, at: datetime, namespace: str, owner_uid: str) -> None:
        """Remember that a restart was begun."""
        self._begun.append((at, namespace, owner_uid))

    def begun(self, namespace: str, owner_uid: str, *, now: datetime, window_seconds: float) -> Begun:
        """Return when restarts were begun lately."""
        while self._begun and now - self._begun[0][0] > timedelta(seconds=window_seconds):
            self._begun.popleft()
        return Begun(
            in_namespace=tuple(at for at, where, _ in self._begun if where == namespace),
            of_owner=tuple(at for at, _, whose in self._begun if whose == owner_uid),
        )
