"""Whether the memory of a process grows: the mean of the last fifth of its time beside that of the second."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

WARM_UP_SECONDS = 10.0
"""From when a process is ready: it has loaded its policies and its caches by then. The first fifth after it does not count
either."""
LONG_ENOUGH_SECONDS = 45.0
"""A process that lived shorter after its warm-up is not judged: a fifth of that holds too few samples."""


@dataclass
class Memory:
    """Samples of each process, and from when they count."""

    _samples: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def begin(self, name: str) -> None:
        """Count from now on: the process is another than it was, or does something else."""
        self._samples.pop(name, None)

    def take(self, name: str, at: float, mib: float) -> None:
        self._samples[name].append((at, mib))

    def judged(self) -> dict[str, tuple[float, float]]:
        """Return the two means in MiB of each process that lived long enough."""
        found = {}
        for name, samples in self._samples.items():
            start, end = samples[0][0] + WARM_UP_SECONDS, samples[-1][0]
            if end - start >= LONG_ENOUGH_SECONDS:
                fifth = (end - start) / 5
                found[name] = (_mean(samples, start + fifth, start + 2 * fifth), _mean(samples, start + 4 * fifth, end))
        return found


def _mean(samples: list[tuple[float, float]], start: float, end: float) -> float:
    inside = [mib for at, mib in samples if start <= at <= end]
    return sum(inside) / len(inside)
