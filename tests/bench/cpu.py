"""CPU time of one call, and two calls measured in turns so that a busy moment hits both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

Call = Callable[[], object]
ROUND_SECONDS = 0.05
"""CPU time that one round of one call gets at least: far above the clock's grain, short enough for many turns."""


def in_turns(ours: Call, anchor: Call, *, rounds: int = 15) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the CPU microseconds per call of both, round by round."""
    counts = repetitions(ours), repetitions(anchor)
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            found[which].append(per_call((ours, anchor)[which], counts[which]))
    return tuple(found[0]), tuple(found[1])


def repetitions(call: Call) -> int:
    """Return how often a call is repeated in a round; this also warms it up."""
    count = 1
    while (spent := per_call(call, count) * count / 1e6) < ROUND_SECONDS / 4:
        count *= 4
    return max(1, round(count * ROUND_SECONDS / spent))


def per_call(call: Call, count: int) -> float:
    """Return the CPU microseconds per call of one round."""
    gc.collect()
    began = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - began) / count * 1e6
