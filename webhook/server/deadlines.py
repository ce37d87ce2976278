"""Read how long the API server waits, so that our answer comes before it gives up.

It adds ``?timeout=10s`` to each call (apiserver pkg/admission/plugin/webhook/validating/dispatcher.go, ``r.Timeout``),
in Go's notation for durations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

SHARE = 0.8  # the rest is for the network and for writing the answer
_USUAL_LENGTH = 32  # an API server always says the same; strangers choose what is longer
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(h|ms|m|s|us|µs|ns)")
_DURATION = re.compile(rf"(?:{_PART.pattern}){{1,6}}")


@lru_cache(maxsize=64)
def _parsed(text: str) -> float | None:
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text)) if _DURATION.fullmatch(text) else None


def parse_duration(text: str) -> float | None:
    """Return the seconds of a Go duration such as ``1m30s``; None for anything else."""
    return _parsed(text) if len(text) <= _USUAL_LENGTH else _parsed.__wrapped__(text)


class Deadline:
    """A moment. Called, it tells whether it has passed."""

    __slots__ = ("_clock", "_end")

    def __init__(self, clock: Callable[[], float], end: float) -> None:
        self._clock, self._end = clock, end

    def __call__(self) -> bool:
        """Tell whether the moment has passed."""
        return self._clock() >= self._end

    def left(self) -> float:
        """Return the seconds until then; none left is 0."""
        return max(self._end - self._clock(), 0.0)


def deadline_of(clock: Callable[[], float], limit_seconds: float, timeout: str) -> Deadline:
    """Return the end of a review that begins now: our own limit or the caller's, whichever ends first.

    ``clock`` must go on while the event loop is busy, for a review may be decided inside of it.
    """
    asked = parse_duration(timeout)
    seconds = min(limit_seconds, asked * SHARE) if asked else limit_seconds
    return Deadline(clock, clock() + seconds)
