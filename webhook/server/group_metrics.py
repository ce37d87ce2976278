"""Count what the controller keeps and does, beside the counters of admission and in the same registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from webhook.model.disruption import GroupState, LossCause, RestartOutcome

Stranded = Mapping[tuple[str, str], float]
"""Resource seconds so far, by resource and cause."""


class GroupMetrics:
    """The counters of a process that looks after groups.

    ``stranded`` is asked at each scrape, so that a group which nobody looks at counts up to now; its totals may only grow.
    """

    def __init__(self, registry: CollectorRegistry, *, stranded: Callable[[], Stranded], leads: Callable[[], bool]) -> None:
        self._stranded = stranded
        self._counted: dict[tuple[str, str], float] = {}
        registry.register(_Before(self._settle))  # first, for a registry is read in the order of registration
        self._groups = Gauge("gangwarden_groups", "Groups that are looked after, by their state.", ["state"], registry=registry)
        self._restarts = Counter(
            "gangwarden_group_restarts_total",
            "Restarts of whole groups that have ended, by what took the first member and by how they ended.",
            ["cause", "outcome"],
            registry=registry,
        )
        self._seconds = Counter(
            "gangwarden_stranded_resource_seconds_total",
            "What members asked of their nodes while their group could make no progress, in resource units times seconds.",
            ["resource", "cause"],
            registry=registry,
        )
        leader = Gauge("gangwarden_leader", "Whether this process leads (1) or stands by (0).", registry=registry)
        leader.set_function(lambda: float(leads()))
        self.groups({})

    def groups(self, counts: Mapping[GroupState, int]) -> None:
        """Set how many groups are in which state; a state that is not named has none."""
        for state in GroupState:
            self._groups.labels(state=state.value).set(counts.get(state, 0))

    def restarted(self, cause: LossCause, outcome: RestartOutcome) -> None:
        """Count a restart that has ended."""
        self._restarts.labels(cause=cause.value, outcome=outcome.value).inc()

    def _settle(self) -> None:
        for place, total in self._stranded().items():
            resource, cause = place
            self._seconds.labels(resource=resource, cause=cause).inc(max(total - self._counted.get(place, 0.0), 0.0))
            self._counted[place] = total


class _Before(Collector):
    """Brings values up to date before the others are read, and has none of its own."""

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle

    def describe(self) -> Iterable[Metric]:
        """Return nothing, at the time of registration as well."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Bring values up to date."""
        self._settle()
        return ()
