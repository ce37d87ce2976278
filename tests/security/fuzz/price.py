"""What an input may cost: CPU as a multiple of a fixed piece of work, by its size, so that neither load nor machine decides.

Time on the wall is never asked. What does not end at all the kernel ends, after CPU seconds that no honest input comes near.
"""

from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = 20_000
TRIES = 3
PIECES, PIECES_PER_KIB = 400.0, 100.0
"""What any input may cost, and each KiB of it, in pieces of work of about a millisecond. Judging a review by all shipped policies
takes some ten under the fuzzer's instruments, compiling one policy twenty a KiB; an input of 64 KiB that costs its square takes
thousands of times that."""


class TooDearError(AssertionError):
    """An input costs more than its size explains."""


def piece() -> float:
    """Return the CPU seconds of the fixed piece of work, now."""
    begun = time.thread_time()
    total = 0
    for number in range(ROUNDS):
        total += number & 7
    return time.thread_time() - begun


class Price:
    """Bounds what inputs cost."""

    def __init__(self) -> None:
        self._piece = min(piece() for _ in range(5))
        self.dearest = 0.0
        """What the dearest input so far took of what it may."""

    def check(self, run: Callable[[bytes], None], data: bytes) -> None:
        """Run an input; raises TooDearError if it costs too much each time it is tried, beside the piece measured anew."""
        share = _cost(run, data) / self._piece / allowed(len(data))
        for _ in range(TRIES - 1):
            if share <= 1:
                break
            self._piece = max(self._piece, piece())
            share = min(share, _cost(run, data) / self._piece / allowed(len(data)))
        self.dearest = max(self.dearest, share)
        if share > 1:
            raise TooDearError(
                f"{len(data)} bytes cost {share:.1f} times what they may ({allowed(len(data)):.0f} pieces of work)"
            )


def allowed(size: int) -> float:
    """Return how many pieces of work an input of this size may cost."""
    return PIECES + PIECES_PER_KIB * size / 1024


def _cost(run: Callable[[bytes], None], data: bytes) -> float:
    begun = time.thread_time()
    run(data)
    return time.thread_time() - begun
