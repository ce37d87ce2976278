"""Macros at work. Errors of single elements are absorbed by ``all`` and ``exists`` where another element decides.

A loop that runs to its end is paid for before it starts, the others turn by turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.compare import require_bool
from webhook.cel.errors import EvaluationError, Overrun, no_overload
from webhook.cel.failing import FAILED, Price, fail_turns
from webhook.cel.frames import BUDGET, Closure, Frame
from webhook.cel.library.sorting import sort_by_keys
from webhook.cel.pricing import Rates
from webhook.cel.show import show
from webhook.cel.values import NONE, KeyedMap, Optional, entries_of, go_name, make_map, type_name

Slots = tuple[int, ...]
LoopParts = tuple[Closure, Slots, Closure | None, Rates]


def _elements(value: Any) -> Collection[Any]:
    """Return what a loop with one variable runs over: elements of a list, keys of a map."""
    if type(value) is list:
        return value
    if isinstance(value, Mapping):
        return value
    raise EvaluationError(f"got '{go_name(value)}', expected iterable type", "bad_range")


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return what a loop with two variables runs over: positions and elements, or keys and values."""
    if type(value) is list:
        return enumerate(value)
    if isinstance(value, Mapping):
        return entries_of(value)
    raise EvaluationError(f"unsupported comprehension range type: {go_name(value)}", "bad_range")


def _turns(slots: Slots, value: Any, frame: Frame) -> tuple[int, Iterator[Any]]:
    """Count the turns of a loop, and make what sets the loop variables for each and yields the first of them."""
    if len(slots) == 2:
        return len(value) if type(value) is list or isinstance(value, Mapping) else 0, _set_pairs(slots, _pairs(value), frame)
    items = _elements(value)
    return len(items), _set_items(slots[0], items, frame)


def _set_items(slot: int, items: Iterable[Any], frame: Frame) -> Iterator[Any]:
    for item in items:
        frame[slot] = item
        yield item


def _set_pairs(slots: Slots, pairs: Iterable[tuple[Any, Any]], frame: Frame) -> Iterator[Any]:
    for frame[slots[0]], frame[slots[1]] in pairs:
        yield frame[slots[0]]


def _paid(range_: Closure, slots: Slots, rates: Rates, frame: Frame) -> Iterator[Any]:
    """Return the turns of a loop that always runs to its end, paid for already."""
    count, turns = _turns(slots, range_(frame), frame)
    frame[BUDGET].spend(count * rates.each)
    return turns


def quantify(range_: Closure, slots: Slots, body: Closure, rates: Rates, *, stop: bool) -> Closure:
    """Build ``all`` (stops at False) or ``exists`` (stops at True)."""
    go_on = not stop

    def run(frame: Frame) -> bool:
        budget: Budget = frame[BUDGET]
        error: EvaluationError | None = None
        count, turns = _turns(slots, range_(frame), frame)
        for turn, _ in enumerate(turns, 1):
            budget.spend(rates.each)
            try:
                value = body(frame)
            except Overrun:
                raise
            except EvaluationError as caught:
                error = error or caught.bare()
                continue
            if value is stop:
                if turn < count:  # cel-go asks once more whether to go on
                    budget.spend(rates.check)
                return not go_on
            if value is not go_on:
                error = error or no_overload()
        if error is not None:
            raise error.bare()
        return go_on

    return run


def exists_one(range_: Closure, slots: Slots, body: Closure, rates: Rates) -> Closure:
    """Build ``exists_one``: no absorption, every element must have an answer."""

    def run(frame: Frame) -> bool:
        turns = _paid(range_, slots, rates, frame)
        found = 0
        try:
            for _ in turns:
                if require_bool(body(frame)):
                    found += 1
        except Overrun:
            raise
        except EvaluationError:
            frame[BUDGET].spend(found * rates.kept)
            fail_turns(turns, body, None, rates.kept, frame)
            raise
        frame[BUDGET].spend(found * rates.kept)
        return found == 1

    return run


def _filtered(turns: Iterable[Any], filter_: Closure | None, rates: Rates, frame: Frame) -> Iterator[Any]:
    """Yield the turns that a filter keeps."""
    if filter_ is None:
        yield from turns
        return
    budget: Budget = frame[BUDGET]
    for item in turns:
        if require_bool(filter_(frame)):
            budget.spend(rates.kept)
            yield item


def _collect(parts: LoopParts, make: Callable[[Iterator[Any], Frame], Any], after: Closure | None) -> Closure:
    """Build a loop that runs to its end, even if it fails: ``after`` is what cel-go evaluates of a turn that is lost already."""
    range_, slots, filter_, rates = parts

    def run(frame: Frame) -> Any:
        turns = _paid(range_, slots, rates, frame)
        try:
            return make(_filtered(turns, filter_, rates, frame), frame)
        except Overrun:
            raise
        except EvaluationError:
            fail_turns(turns, filter_, after, rates.kept, frame)
            raise

    return run


def transform(range_: Closure, slots: Slots, filter_: Closure | None, body: Closure, rates: Rates) -> Closure:
    """Build ``map`` and ``transformList``."""
    return _collect((range_, slots, filter_, rates), lambda turns, frame: [body(frame) for _ in turns], body)


def keep(range_: Closure, slots: Slots, body: Closure, rates: Rates) -> Closure:
    """Build ``filter``."""
    return _collect((range_, slots, body, rates), lambda turns, _: list(turns), None)


def transform_map(range_: Closure, slots: Slots, filter_: Closure | None, body: Closure, rates: Rates) -> Closure:
    """Build ``transformMap``: the keys stay (of a list: the positions)."""
    parts = (range_, slots, filter_, rates)
    return _collect(parts, lambda turns, frame: make_map([(key, body(frame)) for key in turns]), None)


def transform_entries(range_: Closure, slots: Slots, filter_: Closure | None, body: Closure, rates: Rates) -> Closure:
    """Build ``transformMapEntry``: every element becomes a map, and no key may come twice."""
    return _collect((range_, slots, filter_, rates), lambda turns, frame: merge_entries(body(frame) for _ in turns), body)


def merge_entries(maps: Iterable[Any]) -> Mapping[Any, Any]:
    """Make one map of many that have no key in common."""
    merged = KeyedMap(())
    for made in maps:
        if not isinstance(made, Mapping):
            raise no_overload("cel.@mapInsert", "map", type_name(made))
        for key, value in entries_of(made):
            if key in merged:
                raise EvaluationError(f"insert failed: key {show(key)} already exists", "duplicate_key")
            merged.insert(key, value)
    return make_map(list(merged.entries()))


def sort_by(range_: Closure, slots: Slots, body: Closure, rates: Rates, price: Price) -> Closure:
    """Build ``sortBy``."""

    def run(frame: Frame) -> list[Any]:
        turns: Iterable[Any] = ()
        try:
            items = range_(frame)
            turns = _paid(lambda _: items, slots, rates, frame)
            keys = [body(frame) for _ in turns]
        except Overrun:
            raise
        except EvaluationError:
            fail_turns(turns, None, body, 0, frame)
            price(frame[BUDGET], FAILED)
            raise
        price(frame[BUDGET], keys)
        if type(items) is not list:
            raise EvaluationError(f"got '{go_name(items)}', expected iterable type", "bad_range")
        return sort_by_keys(items, keys)

    return run


def optional_map(range_: Closure, slots: Slots, body: Closure, due: int | None, *, flat: bool) -> Closure:
    """Build ``optMap`` and ``optFlatMap``.

    cel-go evaluates the optional twice, once to look whether it is present; ``due`` is what its second time costs besides what
    the first one spent, None where the body does not ask for the value, so that there is no second time.
    """
    slot = slots[0]

    def run(frame: Frame) -> Any:
        budget: Budget = frame[BUDGET]
        before = budget.left
        value = range_(frame)
        if not isinstance(value, Optional):
            raise no_overload("hasValue", type_name(value))
        if not value.present:
            if flat:
                budget.spend(1)
            return NONE
        if due is not None:
            budget.spend(before - budget.left + due)
        frame[slot] = value.value
        made = body(frame)
        return made if flat else Optional(made)

    return run
