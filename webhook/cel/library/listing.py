"""List functions of cel-go's extension (ext/lists.go, version 3)."""

from __future__ import annotations

from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.compare import position_of
from webhook.cel.costs import LONGEST_RANGE
from webhook.cel.declare import operator, overload
from webhook.cel.errors import EvaluationError, no_operand, no_overload
from webhook.cel.library.sorting import sort_by_keys

_SORTABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_BATCH = 1_000


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    refusal = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise EvaluationError(f"{refusal}negative indexes not supported", "out_of_range")
    if start > end:
        raise EvaluationError(f"{refusal}start index must be less than or equal to end index", "out_of_range")
    if len(items) < end:
        raise EvaluationError(f"{refusal}list is length {len(items)}", "out_of_range")
    return items[start:end]


def _flatten(budget: Budget, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative", "other")
    made: list[Any] = []
    paid = 0

    def spread(inner: list[Any], depth: int) -> None:
        nonlocal paid
        for item in inner:
            if depth == 0 or type(item) is not list:
                made.append(item)
                continue
            more = len(item) if depth == 1 else 0
            if len(made) + more - paid >= _BATCH:  # the API server counts the elements of the outer list only
                budget.spend((len(made) + more - paid) // 10)
                paid = len(made) + more
            if depth == 1:
                made.extend(item)
            else:
                spread(item, depth - 1)

    spread(items, depth)
    return made


def _sort(items: Any) -> list[Any]:
    if type(items) is not list:
        raise no_operand("sort", items)
    return sort_by_keys(items, items)


def _range(size: int) -> list[int]:
    if size < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {size}", "out_of_range")
    if size > LONGEST_RANGE:
        raise EvaluationError(f"lists.range: size {size} exceeds maximum allowed ({LONGEST_RANGE})", "out_of_range")
    return list(range(size))


def _reverse(items: list[Any]) -> list[Any]:
    return items[::-1]


def _distinct(budget: Budget, items: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for item in items:
        if position_of(unique, item, budget) < 0:
            unique.append(item)
    return unique


OPERATORS = (operator(_sort, [f"(list({type_})).sort() -> list({type_})" for type_ in _SORTABLE]),)

OVERLOADS = (
    # The planner answers this itself, for the macro sortBy; it is here for the checker.
    *(overload(f"(list(T)).@sortByAssociatedKeys(list({type_})) -> list(T)", no_overload) for type_ in _SORTABLE),
    overload("(list(T)).slice(int, int) -> list(T)", _slice),
    overload("(list(list(T))).flatten() -> list(T)", _flatten, metered=True, any_elements=True),
    overload("(list(dyn)).flatten(int) -> list(dyn)", _flatten, metered=True, any_elements=True),
    overload("lists.range(int) -> list(int)", _range),
    overload("(list(T)).reverse() -> list(T)", _reverse),
    overload("(list(T)).distinct() -> list(T)", _distinct, metered=True),
)
