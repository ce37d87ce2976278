"""What the keeper sees and does, brought to the counters of its process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

from prometheus_client import CollectorRegistry

from webhook.model.disruption import GroupState, Health, LossCause, RestartOutcome
from webhook.model.objects import Object, ObjectKey
from webhook.preemption import StrandedTime, burning
from webhook.server import GroupMetrics

_UTC_NOW = partial(datetime.now, UTC)


class GroupRecorder:
    """Fits ``controller.Recorder``."""

    def __init__(
        self, registry: CollectorRegistry, *, leads: Callable[[], bool], clock: Callable[[], datetime] = _UTC_NOW
    ) -> None:
        self._clock = clock
        self._states: dict[ObjectKey, GroupState] = {}
        self._counts: Counter[GroupState] = Counter()
        self._stranded = StrandedTime()
        self._metrics = GroupMetrics(registry, stranded=lambda: self._stranded.settle(self._clock()), leads=leads)

    def looked(self, pod_group: ObjectKey, health: Health, members: Iterable[Object]) -> None:
        """Count the group under its state, and what it burns from now on."""
        self._stranded.look(pod_group, burning(health, members), self._clock())
        self._move(pod_group, health.state)

    def gone(self, pod_group: ObjectKey) -> None:
        """Count the group no longer."""
        self._stranded.look(pod_group, None, self._clock())
        self._move(pod_group, None)

    def restarted(self, cause: LossCause, outcome: RestartOutcome) -> None:
        """Count a restart that has ended."""
        self._metrics.restarted(cause, outcome)

    def stopped(self) -> None:
        """Count no group: another replica does."""
        self._states.clear()
        self._counts.clear()
        self._stranded.settle(self._clock())
        self._stranded.stop()
        self._metrics.groups(self._counts)

    def _move(self, pod_group: ObjectKey, state: GroupState | None) -> None:
        """Count a group where it is now: thousands are looked at in a second, and all of them need not be counted for it."""
        before = self._states.pop(pod_group, None)
        if state is not None:
            self._states[pod_group] = state
        if before is state:
            return
        if before is not None:
            self._counts[before] -= 1
        if state is not None:
            self._counts[state] += 1
        self._metrics.groups(self._counts)
