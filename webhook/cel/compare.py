"""Equality and order of values: numbers compare across types, everything else only with its like."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.costs import beyond
from webhook.cel.errors import EvaluationError, Overrun, go_panic, no_operand, no_overload
from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Opaque, Optional, Timestamp, UInt, entries_of, go_name

_NUMBERS = frozenset({int, UInt, float})
_EXACT = frozenset({str, bool, bytes, type(None)})
_UNCOUNTED = 1_000
_ORDERED = frozenset({str, bool, bytes})


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """Tell whether two values are equal; values of different kinds are not, and that is no error."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS:
        return other in _NUMBERS and _order_numbers(left, right) == 0
    if kind in _EXACT:
        return kind is other and bool(left == right)
    if kind is list:
        return other is list and _equal_lists(left, right, budget)
    if kind is dict or isinstance(left, Mapping):
        return (other is dict or isinstance(right, Mapping)) and _equal_maps(left, right, budget)
    if isinstance(left, Opaque):
        return right is not None and _equal_opaque(left, right)
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.present != right.present:
            return False
        if left.present and right.value is None and isinstance(left.value, Opaque):
            raise no_overload()  # it is asked itself, and knows no null
        return not left.present or equal(left.value, right.value, budget)
    return bool(left == right)


def _equal_opaque(left: Opaque, right: Any) -> bool:
    if type(left) is not type(right):
        raise no_overload()
    return left.equals(right)


def _equal_elements(left: Any, right: Any, budget: Budget) -> bool:
    """Compare within a list or map. An error counts as equal there: cel-go goes on unless it gets a False (list.go, map.go).

    Lists and maps below the first level are not counted by the API server; they are here, as they may be very many.
    """
    if type(left) is list or type(left) is dict:
        budget.spend(1)
    try:
        return equal(left, right, budget)
    except Overrun:
        raise
    except EvaluationError:
        return True


def _equal_lists(left: list[Any], right: list[Any], budget: Budget) -> bool:
    if len(left) != len(right):
        return False
    return all(_equal_elements(one, other, budget) for one, other in zip(left, right, strict=True))


def _equal_maps(left: Mapping[Any, Any], right: Mapping[Any, Any], budget: Budget) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and _equal_elements(value, right[key], budget) for key, value in entries_of(left))


def contains(container: Any, value: Any, budget: Budget) -> bool:
    """Answer ``value in container`` for lists and for the keys of maps."""
    if type(container) is list:
        budget.spend(beyond(len(container)))
        if type(value) is str:  # to Python, too, text equals nothing but text
            return value in container
        return position_of(container, value, budget) >= 0
    if type(container) is dict:
        return bool(container) and type(_hashable(value)) is str and value in container
    if isinstance(container, Mapping):
        return _hashable(value) in container
    raise no_overload()


def _hashable(value: Any) -> Any:
    require_hashable(value)
    return value


def is_hashable(value: Any) -> bool:
    """Tell whether Go can hash a value, which it does with keys of maps and with members of sets."""
    return type(value) is not bytes and bool(getattr(value, "may_be_key", True))


def require_hashable(value: Any) -> None:
    """Raise the error that the API server makes of Go's panic over what cannot be hashed."""
    if not is_hashable(value):
        raise go_panic(f"hash of unhashable type {go_name(value)}")


def is_given(wanted: Mapping[Any, Any], activation: Mapping[str, Any], budget: Budget) -> bool:
    """Tell whether a map is part of an input. In Go those know that their keys are text; others look for anything.

    Only odd keys make that matter, so it is looked for when one comes, and large inputs cost more than in the API server.
    """
    seen = 0
    held: list[Any] = [value for value in activation.values() if type(value) is dict]
    while held:
        value = held.pop()
        if value is wanted:
            return True
        held.extend(item for item in (value.values() if type(value) is dict else value) if type(item) in (dict, list))
        seen += len(value)
        if seen > _UNCOUNTED:
            budget.spend(beyond(seen))
            seen = 0
    return False


def position_of(items: list[Any], value: Any, budget: Budget) -> int:
    """Return where a list first holds a value, -1 where it does not; what cannot be compared is not equal here."""
    for position, item in enumerate(items):
        try:
            if equal(value, item, budget):
                return position
        except Overrun:
            raise
        except EvaluationError:
            continue
    return -1


def is_key(value: Any) -> bool:
    """Tell whether a value can be looked up in a map at all."""
    return type(value) in (str, bool, int, UInt, float)


def require_ordered(value: Any) -> Any:
    """Return a value that has an order with others of its type; raises EvaluationError for the rest."""
    if type(value) in _NUMBERS or type(value) in _ORDERED or isinstance(value, Timestamp | Duration):
        return value
    raise no_overload()


def order(left: Any, right: Any, operator: str) -> int:
    """Return -1, 0 or 1; raises EvaluationError for what has no order, such as a NaN."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        placed = _order_numbers(left, right)
        if placed == 2:
            raise EvaluationError("NaN values cannot be ordered", "other")
        return placed
    if kind is other and (kind in _ORDERED):
        return _sign(left, right)
    if kind is other and isinstance(left, Timestamp | Duration):
        return _sign(left.nanoseconds, right.nanoseconds)
    if kind in _NUMBERS or kind in _ORDERED or isinstance(left, Timestamp | Duration):
        raise no_overload()
    raise no_operand(operator, left)


def _sign(left: Any, right: Any) -> int:
    return 1 if left > right else -1 if left < right else 0


def _order_numbers(left: Any, right: Any) -> int:
    """Compare numbers as cel-go does: a double and an integer meet as doubles, if in range (common/types/compare.go)."""
    if type(left) is float:
        if type(right) is not float:
            return _order_double(left, right)
    elif type(right) is float:
        swapped = _order_double(right, left)
        return swapped if swapped == 2 else -swapped
    if isnan(left) or isnan(right):
        return 2
    return _sign(left, right)


def _order_double(double: float, integer: int) -> int:
    if isnan(double):
        return 2
    low, high = (0, UINT_MAX) if type(integer) is UInt else (INT_MIN, INT_MAX)
    if double < float(low):
        return -1
    if double > float(high):
        return 1
    rounded = float(integer)
    return _sign(double, rounded)


def require_bool(value: Any) -> bool:
    """Return a bool; anything else is an error, as no other value counts as true or false."""
    if value is True or value is False:
        return bool(value)
    raise no_overload()
