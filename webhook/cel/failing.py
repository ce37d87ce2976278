"""What an evaluation still costs when a part of it has failed.

cel-go evaluates both sides of a call of two although the first one failed, and all turns of a ``map`` although the first one did:
their value is lost, their cost is not. Whoever skips them gives ``a.missing == costly || true`` a value, which the API server
stops. So what follows a failure is evaluated here too, for its cost, and for what ends the whole evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from webhook.cel.errors import EvaluationError, Overrun
from webhook.cel.frames import BUDGET, Closure, Frame

FAILED = object()
"""Stands for the value of a part that has none; prices count it as 1, as cel-go does errors."""

Price = Callable[..., None]
"""Takes what a call costs by its arguments from a budget, which comes first."""


def attempt(part: Closure, frame: Frame) -> Any:
    """Evaluate a part whose value no longer matters; returns ``FAILED`` where it fails too, raises Overrun."""
    try:
        return part(frame)
    except Overrun:
        raise
    except EvaluationError:
        return FAILED


def fail_two(left: Any, right: Closure, frame: Frame, price: Price | None = None) -> None:
    """Pay for what is left of a call of two one of whose arguments failed: the right one if ``left`` is ``FAILED``."""
    other = attempt(right, frame) if left is FAILED else FAILED
    if price is not None:
        price(frame[BUDGET], left, other)


def fail_call(values: list[Any], arguments: Sequence[Closure], frame: Frame, price: Price | None) -> None:
    """Pay for what is left of a call whose arguments have values up to one that failed."""
    if len(arguments) == 2:
        fail_two(values[0] if values else FAILED, arguments[1], frame, price)
    elif price is not None and len(values) == len(arguments) - 1:  # of three and more, cel-go counts the last one only
        price(frame[BUDGET], *values, FAILED)


def fail_turns(turns: Iterable[Any], filter_: Closure | None, body: Closure | None, kept: int, frame: Frame) -> None:
    """Go through the turns that are left of a loop that failed; a turn that the filter keeps costs ``kept``."""
    for _ in turns:
        if filter_ is not None:
            if attempt(filter_, frame) is not True:
                continue
            frame[BUDGET].spend(kept)
        if body is not None:
            attempt(body, frame)
