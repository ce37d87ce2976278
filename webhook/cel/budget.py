"""How much an evaluation may cost: a counter in the API server's units, and a look at the clock through a callable."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.errors import Overrun

LOOK_EVERY = 1_000
"""Units between two looks at the clock. A unit takes less than a tenth of a microsecond, a look about half a one, so this costs
nothing and an expired evaluation still ends within milliseconds."""


DEFAULT_UNITS = 1_000_000
"""Budget of an evaluation that was given none: the API server's limit for one expression (apiserver pkg/apis/cel/config.go)."""


def never() -> bool:
    """Say that no deadline applies."""
    return False


class Budget:
    """A mutable counter that one evaluation, or many in a row, draw from. Not to be shared between threads.

    What is read while an expression waits for it, such as a lazy variable, needs a budget of its own.
    """

    __slots__ = ("expired", "left", "limit", "look_at")

    def __init__(self, units: int, expired: Callable[[], bool] = never) -> None:
        self.limit = units
        self.left = units
        """Units that may still be spent; negative once too many were."""
        self.look_at = units - LOOK_EVERY if units > LOOK_EVERY else 0
        """Where ``left`` is below this, ``look`` must be called."""
        self.expired = expired

    def refill(self, units: int) -> None:
        """Begin anew with so many units, once whatever drew from it has ended."""
        self.limit = self.left = units
        self.look_at = units - LOOK_EVERY if units > LOOK_EVERY else 0

    @property
    def spent(self) -> int:
        """Count what was spent so far, in the API server's cost units."""
        return self.limit - self.left

    def spend(self, units: int) -> None:
        """Take units from what is left; raises ``Overrun`` of kind ``cost`` or ``deadline``."""
        self.left -= units
        if self.left < self.look_at:
            self.look()

    def look(self) -> None:
        """Raise ``Overrun`` if nothing is left or time is up; called every thousand units."""
        if self.left < 0:
            raise self.overrun()
        if self.expired():
            raise Overrun("operation interrupted: deadline exceeded", "deadline")
        self.look_at = max(self.left - LOOK_EVERY, 0)

    def overrun(self) -> Overrun:
        """Make the error of an evaluation that may cost too much, whose budget is then gone."""
        self.left = min(self.left, -1)
        return Overrun("operation cancelled: actual cost limit exceeded", "cost")
