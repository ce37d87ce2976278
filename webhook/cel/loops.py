"""Macros at work. Errors of single elements are absorbed by ``all`` and ``exists`` where another element decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.compare import require_bool
from webhook.cel.errors import EvaluationError, Overrun, no_overload
from webhook.cel.frames import BUDGET, Closure, Frame
from webhook.cel.library.sorting import sort_by_keys
from webhook.cel.show import show
from webhook.cel.values import NONE, Optional, entries_of, go_name, make_map, type_name

_UNMETERED = 1_000
"""Longest list that is paid for after the loop instead of at every element."""

Slots = tuple[int, ...]


def _elements(value: Any, budget: Budget) -> Iterable[Any]:
    """Return what a loop with one variable runs over: elements of a list, keys of a map."""
    if type(value) is not list:
        if not isinstance(value, Mapping):
            raise EvaluationError(f"got '{go_name(value)}', expected iterable type", "bad_range")
        value = list(value)
    return budget.meter(value) if len(value) > _UNMETERED else value


def _paid(value: Any, budget: Budget) -> Iterable[Any]:
    """Return what a loop that always runs to its end runs over, paid for already, or at every element if there are many."""
    items = _elements(value, budget)
    if type(items) is list:
        budget.spend(len(items))
    return items


def _pairs(value: Any, budget: Budget) -> Iterator[tuple[Any, Any]]:
    """Return what a loop with two variables runs over: positions and elements, or keys and values."""
    if type(value) is list:
        return enumerate(budget.meter(value))
    if isinstance(value, Mapping):
        return iter(list(budget.meter(entries_of(value))))
    raise EvaluationError(f"unsupported comprehension range type: {go_name(value)}", "bad_range")


def quantify(range_: Closure, slots: Slots, body: Closure, *, stop: bool) -> Closure:
    """Build ``all`` (stops at False) or ``exists`` (stops at True)."""
    if len(slots) == 2:
        return _quantify_pairs(range_, slots, body, stop=stop)
    slot = slots[0]
    go_on = not stop

    def run(frame: Frame) -> bool:
        budget = frame[BUDGET]
        error: EvaluationError | None = None
        count = 0
        for count, frame[slot] in enumerate(_elements(range_(frame), budget), 1):  # noqa: B020 - sets a slot
            try:
                value = body(frame)
            except Overrun:
                raise
            except EvaluationError as caught:
                error = error or caught
                continue
            if value is go_on:
                continue
            if value is stop:
                budget.spend(count)
                return not go_on
            error = error or no_overload()
        budget.spend(count)
        if error is not None:
            raise error
        return go_on

    return run


def _quantify_pairs(range_: Closure, slots: Slots, body: Closure, *, stop: bool) -> Closure:
    first, second = slots
    go_on = not stop

    def run(frame: Frame) -> bool:
        error: EvaluationError | None = None
        for frame[first], frame[second] in _pairs(range_(frame), frame[BUDGET]):  # noqa: B020 - sets slots
            try:
                value = body(frame)
            except Overrun:
                raise
            except EvaluationError as caught:
                error = error or caught
                continue
            if value is stop:
                return not go_on
            if value is not go_on:
                error = error or no_overload()
        if error is not None:
            raise error
        return go_on

    return run


def _walk(range_: Closure, slots: Slots, frame: Frame) -> Iterator[Any]:
    """Set the loop variables and yield the first of them, for loops that run to the end."""
    budget = frame[BUDGET]
    if len(slots) == 2:
        for frame[slots[0]], frame[slots[1]] in _pairs(range_(frame), budget):  # noqa: B020 - sets slots
            yield frame[slots[0]]
        return
    slot = slots[0]
    for item in _paid(range_(frame), budget):
        frame[slot] = item
        yield item


def exists_one(range_: Closure, slots: Slots, body: Closure) -> Closure:
    """Build ``exists_one``: no absorption, every element must have an answer."""
    return lambda frame: sum(require_bool(body(frame)) for _ in _walk(range_, slots, frame)) == 1


def transform(range_: Closure, slots: Slots, filter_: Closure | None, body: Closure) -> Closure:
    """Build ``map`` and ``transformList``."""
    slot = slots[0]

    def run(frame: Frame) -> list[Any]:
        if filter_ is not None:
            return [body(frame) for _ in _walk(range_, slots, frame) if require_bool(filter_(frame))]
        if len(slots) == 2:
            return [body(frame) for _ in _walk(range_, slots, frame)]
        return [body(frame) for frame[slot] in _paid(range_(frame), frame[BUDGET])]

    return run


def keep(range_: Closure, slots: Slots, body: Closure) -> Closure:
    """Build ``filter``."""
    slot = slots[0]

    def run(frame: Frame) -> list[Any]:
        items = _paid(range_(frame), frame[BUDGET])
        return [frame[slot] for frame[slot] in items if require_bool(body(frame))]

    return run


def transform_map(range_: Closure, slots: Slots, filter_: Closure | None, body: Closure) -> Closure:
    """Build ``transformMap``: the keys stay (of a list: the positions)."""

    def run(frame: Frame) -> Mapping[Any, Any]:
        walk = _walk(range_, slots, frame)
        return make_map([(key, body(frame)) for key in walk if filter_ is None or require_bool(filter_(frame))])

    return run


def transform_entries(range_: Closure, slots: Slots, filter_: Closure | None, body: Closure) -> Closure:
    """Build ``transformMapEntry``: every element becomes a map, and no key may come twice."""

    def run(frame: Frame) -> Mapping[Any, Any]:
        entries: list[tuple[Any, Any]] = []
        seen: set[tuple[str, Any]] = set()
        for _ in _walk(range_, slots, frame):
            if filter_ is not None and not require_bool(filter_(frame)):
                continue
            made = body(frame)
            if not isinstance(made, Mapping):
                raise no_overload("cel.@mapInsert", "map", type_name(made))
            for key, value in entries_of(made):
                identity = ("bool" if type(key) is bool else "", key)
                if identity in seen:
                    raise EvaluationError(f"insert failed: key {show(key)} already exists", "duplicate_key")
                seen.add(identity)
                entries.append((key, value))
        return make_map(entries)

    return run


def sort_by(range_: Closure, slots: Slots, body: Closure) -> Closure:
    """Build ``sortBy``."""

    def run(frame: Frame) -> list[Any]:
        items = range_(frame)
        if type(items) is not list:
            raise EvaluationError(f"got '{go_name(items)}', expected iterable type", "bad_range")
        keys = [body(frame) for _ in _walk(lambda _: items, slots, frame)]
        return sort_by_keys(frame[BUDGET], items, keys)

    return run


def optional_map(range_: Closure, slots: Slots, body: Closure, *, flat: bool) -> Closure:
    """Build ``optMap`` and ``optFlatMap``."""
    slot = slots[0]

    def run(frame: Frame) -> Any:
        value = range_(frame)
        if not isinstance(value, Optional):
            raise no_overload("hasValue", type_name(value))
        if not value.present:
            return NONE
        frame[slot] = value.value
        made = body(frame)
        return made if flat else Optional(made)

    return run
