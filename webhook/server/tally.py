"""A counter for what is counted a dozen times in every review: numbers in a dict, made into samples when somebody scrapes.

``prometheus_client`` looks its child up and takes a lock at each count, which costs more than most policies do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric


class Tally:
    """Fits ``prometheus_client.registry.Collector``. To be counted in one thread only; whoever scrapes may be in another."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], *, registry: CollectorRegistry) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._counts: dict[tuple[str, ...], int] = {}
        self._since: dict[tuple[str, ...], float] = {}
        registry.register(self)

    def add(self, *labels: str) -> None:
        """Count one, under the values of all labels."""
        try:
            self._counts[labels] += 1
        except KeyError:
            self._since[labels] = time.time()
            self._counts[labels] = 1

    def add_all(self, several: Iterable[tuple[str, ...]]) -> None:
        """Count one under each of several sets of values."""
        counts = self._counts
        for labels in several:
            if labels in counts:
                counts[labels] += 1
            else:
                self.add(*labels)

    def collect(self) -> Iterator[Metric]:
        """Yield the samples, as a Counter does."""
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for labels, count in list(self._counts.items()):
            family.add_metric(labels, count, created=self._since[labels])
        yield family

    def describe(self) -> Iterator[Metric]:
        """Yield the name alone, so that the registry refuses another of the same."""
        yield CounterMetricFamily(self._name, self._documentation, labels=self._labels)
