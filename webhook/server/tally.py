"""A counter for what is counted a dozen times in every review: numbers in a dict, made into samples when somebody scrapes.

``prometheus_client`` looks its child up and takes a lock at each count, which costs more than most policies do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric

BUNDLES = 256
"""How many bundles are kept apart: one for each path, sort of request and policy set that reviews come to now."""


@dataclass(slots=True)
class _Bundle:
    """What is counted together again and again."""

    of: object
    """Held, so that no other object takes its identity."""
    several: Sequence[tuple[str, ...]]
    count: int = 0


@dataclass(frozen=True, slots=True)
class _Counts:
    """All numbers; one object, so that whoever scrapes sees nothing twice or not at all."""

    single: dict[tuple[str, ...], int] = field(default_factory=dict)
    bundles: dict[int, _Bundle] = field(default_factory=dict)

    def summed(self) -> dict[tuple[str, ...], int]:
        """Return the count of each set of values."""
        found = dict(self.single)
        for bundle in list(self.bundles.values()):
            count = bundle.count
            for labels in bundle.several:
                found[labels] = found.get(labels, 0) + count
        return found


class Tally:
    """Fits ``prometheus_client.registry.Collector``. To be counted in one thread only; whoever scrapes may be in another."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], *, registry: CollectorRegistry) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._counts = _Counts()
        self._since: dict[tuple[str, ...], float] = {}
        registry.register(self)

    def add(self, *labels: str) -> None:
        """Count one, under the values of all labels."""
        counts = self._counts.single
        try:
            counts[labels] += 1
        except KeyError:
            self._since.setdefault(labels, time.time())
            counts[labels] = 1

    def add_all(self, several: Iterable[tuple[str, ...]]) -> None:
        """Count one under each of several sets of values."""
        counts = self._counts.single
        for labels in several:
            if labels in counts:
                counts[labels] += 1
            else:
                self.add(*labels)

    def add_bundle(self, of: object, several: Callable[[], Sequence[tuple[str, ...]]]) -> None:
        """Count one under each of the sets of values that go with an object, which are asked for once."""
        bundle = self._counts.bundles.get(id(of))
        if bundle is None:
            bundle = self._bundle(of, several())
        bundle.count += 1

    def _bundle(self, of: object, several: Sequence[tuple[str, ...]]) -> _Bundle:
        if len(self._counts.bundles) >= BUNDLES:
            self._counts = _Counts(self._counts.summed())
        for labels in several:
            self._since.setdefault(labels, time.time())
        made = self._counts.bundles[id(of)] = _Bundle(of, several)
        return made

    def collect(self) -> Iterator[Metric]:
        """Yield the samples, as a Counter does."""
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for labels, count in self._counts.summed().items():
            family.add_metric(labels, count, created=self._since[labels])
        yield family

    def describe(self) -> Iterator[Metric]:
        """Yield the name alone, so that the registry refuses another of the same."""
        yield CounterMetricFamily(self._name, self._documentation, labels=self._labels)
