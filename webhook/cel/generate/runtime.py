"""What generated code calls where a value is not what nearly all values are.

Whatever these cannot answer, they leave: any exception but ``Overrun`` makes the program start again with its closures, which
know every error and every price. So nothing here, and nothing in generated code, makes an error of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from webhook.cel.access import find as find_element
from webhook.cel.budget import LOOK_EVERY, Budget
from webhook.cel.errors import Overrun
from webhook.cel.library.arithmetic import add
from webhook.cel.values import INT_MAX, INT_MIN, Optional, entries_of


class Leave(Exception):  # noqa: N818 - no error of an expression: its closures take over
    """Something that generated code does not do."""


ABSENT = object()
"""What an optional is that holds nothing, as long as nobody asks for an optional."""


def keys(value: Any) -> list[Any]:
    """Return what a loop with one variable runs over where it is no list."""
    if isinstance(value, Mapping):
        return list(value)
    raise Leave


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return what a loop with two variables runs over where it is no list."""
    if isinstance(value, Mapping):
        return list(entries_of(value))
    raise Leave


def renew(budget: Budget, cost: int, margin: int) -> int:
    """Look at budget and clock; returns up to which cost no look is needed. ``margin`` of the cost may yet be paid back."""
    if cost > budget.left + margin:
        raise budget.overrun()
    if budget.expired():
        raise Overrun("operation interrupted: deadline exceeded", "deadline")
    return min(cost + LOOK_EVERY, budget.left + margin)


def room(budget: Budget, items: list[Any], cost: int, turn: int, margin: int) -> tuple[Iterable[Any], int]:
    """Return as many of a loop's items as it can pay for, plus one, and up to which cost no look is needed.

    A loop that wants to go on after the last of a cut iterator has spent too much; it will be told at the next look.
    """
    renew(budget, cost, margin)
    left = budget.left + margin
    turns = (left - cost) // turn
    if turns < len(items):
        return islice(items, turns + 1), -1
    return items, min(cost + len(items) * turn + LOOK_EVERY, left)


def left_after(items: list[Any], last: Any) -> int:
    """Count the items after the first that is this very object."""
    for count, item in enumerate(items, 1):
        if item is last:
            return len(items) - count
    raise Leave


def find(value: Any, key: Any) -> Any:
    """Return an element, or ``ABSENT``; what an optional means depends on where it stands, which is left."""
    if type(value) is Optional:
        raise Leave
    found, element = find_element(value, key)
    return element if found else ABSENT


def open_optional(value: Any) -> Any:
    """Return what an optional holds, or ``ABSENT``."""
    if type(value) is not Optional:
        raise Leave
    return value.value if value.present else ABSENT


def is_true(value: Any) -> bool:
    """Return a bool; whatever is none is left."""
    if value is True:
        return True
    if value is False:
        return False
    raise Leave


def checked(value: int) -> int:
    """Return an int that an int64 can hold."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise Leave


def plus(left: Any, right: Any) -> Any:
    """Add what are not two ints; joined text and lists have other prices, if long."""
    if type(left) in (str, bytes, list) and type(left) is type(right) and len(left) + len(right) > 1_000:
        raise Leave
    return add(left, right)
