"""Kubernetes' list functions (apiserver pkg/cel/library/lists.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.compare import equal, order, position_of, require_ordered
from webhook.cel.declare import Overload, overload
from webhook.cel.errors import EvaluationError, Overrun
from webhook.cel.library.arithmetic import add
from webhook.cel.values import Duration, UInt

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _is_sorted(items: list[Any]) -> bool:
    for item in items[:1]:
        require_ordered(item)
    for position in range(1, len(items)):
        require_ordered(items[position])
        try:
            if order(items[position - 1], items[position], "_<_") > 0:
                return False
        except EvaluationError:  # cel-go goes on unless it gets a 1
            continue
    return True


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        total = zero
        for item in items:
            total = add(total, item)
        return total

    return run


def _extreme(name: str, replaces: int) -> Callable[[list[Any]], Any]:
    """Build ``min`` (the next one replaces a larger one) and ``max``."""

    def run(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list", "empty_list")
        best = require_ordered(items[0])
        for item in items[1:]:
            require_ordered(item)
            try:
                if order(best, item, "_<_") == replaces:
                    best = item
            except EvaluationError:  # as above
                continue
        return best

    return run


def _index_of(budget: Budget, items: list[Any], value: Any) -> int:
    return position_of(items, value, budget)


def _last_index_of(budget: Budget, items: list[Any], value: Any) -> int:
    found = position_of(items[::-1], value, budget)
    return len(items) - 1 - found if found >= 0 else -1


def _includes(budget: Budget, target: Any, value: Any) -> bool:
    if type(target) is list:
        return position_of(target, value, budget) >= 0
    try:
        return equal(target, value, budget)
    except Overrun:
        raise
    except EvaluationError:
        return False


def _for_each(name: str, result: str, run: Callable[..., Any]) -> Iterable[Overload]:
    for type_ in _COMPARABLE:
        yield overload(f"(list({type_})).{name}() -> {result or type_}", run)


OVERLOADS = (
    *_for_each("isSorted", "bool", _is_sorted),
    overload("(list(int)).sum() -> int", _sum(0)),
    overload("(list(uint)).sum() -> uint", _sum(UInt(0))),
    overload("(list(double)).sum() -> double", _sum(0.0)),
    overload("(list(duration)).sum() -> duration", _sum(Duration(0))),
    *_for_each("max", "", _extreme("max", -1)),
    *_for_each("min", "", _extreme("min", 1)),
    overload("(list(A)).indexOf(A) -> int", _index_of, metered=True),
    overload("(list(A)).lastIndexOf(A) -> int", _last_index_of, metered=True),
    overload("(dyn).includes(dyn) -> bool", _includes, metered=True, stored_only=True),
)
