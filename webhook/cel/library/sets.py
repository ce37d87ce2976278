"""Sets as lists (cel-go ext/sets.go)."""

from __future__ import annotations

from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.compare import position_of
from webhook.cel.declare import overload


def _contains(budget: Budget, whole: list[Any], part: list[Any]) -> bool:
    return all(position_of(whole, item, budget) >= 0 for item in part)


def _intersects(budget: Budget, left: list[Any], right: list[Any]) -> bool:
    return any(position_of(right, item, budget) >= 0 for item in left)


def _equivalent(budget: Budget, left: list[Any], right: list[Any]) -> bool:
    return _contains(budget, left, right) and _contains(budget, right, left)


OVERLOADS = (
    overload("sets.contains(list(T), list(T)) -> bool", _contains, metered=True),
    overload("sets.equivalent(list(T), list(T)) -> bool", _equivalent, metered=True),
    overload("sets.intersects(list(T), list(T)) -> bool", _intersects, metered=True),
)
