"""How much an evaluation may cost: a counter of steps and a look at the clock through a callable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from webhook.cel.errors import Overrun

_LOOK_EVERY = 1_000
"""Steps between two looks at the clock. A step is at most about a microsecond, a look about as much, so this costs
nothing and an expired evaluation still ends within milliseconds."""

CHARACTERS_PER_STEP = 10
"""Cost of walking through text: cel-go charges 0.1 units for a character (common/overloads, StringTraversalCostFactor)."""


def never() -> bool:
    """Say that no deadline applies."""
    return False


class Budget:
    """A mutable counter that one evaluation, or many in a row, draw from. Not to be shared between threads."""

    __slots__ = ("_look_at", "expired", "left", "limit")

    def __init__(self, steps: int, expired: Callable[[], bool] = never) -> None:
        self.limit = steps
        self.left = steps
        self.expired = expired
        self._look_at = steps

    @property
    def spent(self) -> int:
        """Count the steps taken so far."""
        return self.limit - self.left

    def spend(self, steps: int) -> None:
        """Take ``steps`` from what is left; raises ``Overrun`` of kind ``cost`` or ``deadline``."""
        self.left -= steps
        if self.left < self._look_at:
            self._look()

    def spend_text(self, characters: int) -> None:
        """Take the price of walking through text."""
        self.spend(1 + characters // CHARACTERS_PER_STEP)

    def meter(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items, and pay for each before it is used: for loops that may outlast what is left."""
        for item in items:
            self.spend(1)
            yield item

    def _look(self) -> None:
        if self.left < 0:
            raise Overrun("operation cancelled: actual cost limit exceeded", "cost")
        if self.expired():
            raise Overrun("operation interrupted: deadline exceeded", "deadline")
        self._look_at = self.left - _LOOK_EVERY
