"""Operators that are more than a function of their arguments: they absorb errors, choose, or build literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.compare import contains, equal, is_given, is_hashable, order, require_hashable
from webhook.cel.costs import MEMBERSHIP, comparison_price, size_of
from webhook.cel.errors import EvaluationError, Overrun, no_overload
from webhook.cel.failing import FAILED, Price, fail_two
from webhook.cel.frames import ACTIVATION, BUDGET, Closure, Frame
from webhook.cel.show import show
from webhook.cel.values import Optional, make_map

SAME = frozenset({str, int, bool, type(None)})
"""Types that Python compares among themselves as CEL does."""


def charge(closure: Closure, units: int) -> Closure:
    """Build a node that pays for itself, because it is not evaluated whenever what surrounds it is."""

    def run(frame: Frame) -> Any:
        frame[BUDGET].spend(units)
        return closure(frame)

    return run


def chain(terms: list[Closure], *, stop: bool) -> Closure:
    """Build ``&&`` (stops at False) or ``||`` (stops at True): one term that decides makes up for errors in others."""
    go_on = not stop
    if len(terms) == 2:
        return _pair(terms[0], terms[1], stop=stop)

    def run(frame: Frame) -> bool:
        error: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
            except Overrun:
                raise
            except EvaluationError as caught:
                error = error or caught.bare()
                continue
            if value is stop:
                return not go_on
            if value is not go_on:
                error = error or no_overload()
        if error is not None:
            raise error.bare()
        return go_on

    return run


def _pair(first: Closure, second: Closure, *, stop: bool) -> Closure:
    """Build a chain of two, as most are, without a loop."""
    go_on = not stop

    def run(frame: Frame) -> bool:
        error: EvaluationError | None = None
        try:
            value = first(frame)
            if value is stop:
                return not go_on
            if value is not go_on:
                error = no_overload()
        except Overrun:
            raise
        except EvaluationError as caught:
            error = caught.bare()
        value = second(frame) if error is None else _decided(second, frame, error, stop=stop)
        if value is go_on or value is stop:
            return bool(value)
        raise no_overload()

    return run


def _decided(term: Closure, frame: Frame, error: EvaluationError, *, stop: bool) -> bool:
    """Return ``stop`` if the other term comes to it; otherwise raises the error of the first."""
    try:
        if term(frame) is stop:
            return bool(stop)
    except Overrun:
        raise
    except EvaluationError:
        pass
    raise error.bare()


def choose(test: Closure, then: Closure, otherwise: Closure) -> Closure:
    """Build ``test ? then : otherwise``."""

    def run(frame: Frame) -> Any:
        value = test(frame)
        if value is True:
            return then(frame)
        if value is False:
            return otherwise(frame)
        raise no_overload()

    return run


def negate(operand: Closure) -> Closure:
    """Build ``!operand``."""

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if value is True:
            return False
        if value is False:
            return True
        raise no_overload()

    return run


def operands(left: Closure, right: Closure, frame: Frame, price: Price | None = None) -> tuple[Any, Any]:
    """Evaluate both sides; ``price`` is what the operator costs by its arguments, for where one of them fails."""
    one = FAILED
    try:
        one = left(frame)
        return one, right(frame)
    except Overrun:
        raise
    except EvaluationError:
        fail_two(one, right, frame, price)
        raise


def equals(left: Closure, right: Closure) -> Closure:
    """Build ``left == right``."""

    def run(frame: Frame) -> bool:
        one, other = operands(left, right, frame)
        kind = type(one)
        if kind is type(other) and kind in SAME:
            if kind is str and len(one) > 10 < len(other):
                frame[BUDGET].spend(comparison_price(one, other) - 1)
            return bool(one == other)
        return equal_priced(one, other, frame[BUDGET])

    return run


def differs(left: Closure, right: Closure) -> Closure:
    """Build ``left != right``."""

    def run(frame: Frame) -> bool:
        one, other = operands(left, right, frame)
        return unequal(one, other, frame[BUDGET])

    return run


def equal_priced(left: Any, right: Any, budget: Budget) -> bool:
    """Compare, and pay for what is more than one unit of it."""
    price = comparison_price(left, right)
    if price > 1:
        budget.spend(price - 1)
    return equal(left, right, budget)


def unequal(left: Any, right: Any, budget: Budget) -> bool:
    """Compare; what cannot be compared differs: cel-go answers true unless it gets a True (interpretable.go, evalNe)."""
    try:
        return not equal_priced(left, right, budget)
    except Overrun:
        raise
    except EvaluationError:
        return True


def equals_constant(left: Closure, constant: Any) -> Closure:
    """Build ``left == constant`` for text, numbers, true, false and null."""
    kind = type(constant)
    if kind is str and len(constant) > 10:
        return equals(left, lambda _: constant)

    def run(frame: Frame) -> bool:
        value = left(frame)
        if type(value) is kind:
            return bool(value == constant)
        return equal(value, constant, frame[BUDGET])

    return run


def compare_constant(left: Closure, constant: int, name: str) -> Closure:
    """Build a comparison with an int."""
    python = COMPARISONS[name]

    def run(frame: Frame) -> bool:
        value = left(frame)
        if type(value) is int:
            return bool(python(value, constant))
        return bool(python(order(value, constant, name), 0))

    return run


def compare(left: Closure, right: Closure, name: str) -> Closure:
    """Build ``<``, ``<=``, ``>`` or ``>=``."""
    python = COMPARISONS[name]

    def run(frame: Frame) -> bool:
        one, other = operands(left, right, frame)
        if type(one) is int and type(other) is int:
            return bool(python(one, other))
        return bool(python(order(one, other, name), 0))

    return run


COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {"_<_": lt, "_<=_": le, "_>_": gt, "_>=_": ge}


def is_in(left: Closure, right: Closure) -> Closure:
    """Build ``left in right``."""

    def run(frame: Frame) -> bool:
        value, items = operands(left, right, frame)
        if not is_hashable(value) and type(items) is dict and is_given(items, frame[ACTIVATION], frame[BUDGET]):
            return False
        return contains(items, value, frame[BUDGET])

    return run


def is_in_list(left: Closure, right: Closure) -> Closure:
    """Build ``left in right`` where the right side is known to be a list: it costs as much as that is long."""

    def run(frame: Frame) -> bool:
        value, items = operands(left, right, frame, MEMBERSHIP.pay)
        frame[BUDGET].spend(size_of(items))
        return contains(items, value, frame[BUDGET])

    return run


def is_in_constants(left: Closure, items: list[Any]) -> Closure:
    """Build ``left in [constants]``, a set to cel-go; the left side of an empty one is not even looked at, as there."""
    if not items:
        return lambda _: False
    texts = frozenset(items) if all(type(item) is str for item in items) else None

    def run(frame: Frame) -> bool:
        value = left(frame)
        require_hashable(value)
        if texts is None:
            return contains(items, value, frame[BUDGET])
        return type(value) is str and value in texts

    return run


def make_list(items: list[Closure]) -> Closure:
    """Build a list literal."""
    return lambda frame: [item(frame) for item in items]


def make_optional_list(items: list[Closure], optional: tuple[bool, ...]) -> Closure:
    """Build a list literal that leaves out absent optionals."""

    def run(frame: Frame) -> list[Any]:
        made = []
        for item, may_miss in zip(items, optional, strict=True):
            value = item(frame)
            if may_miss:
                if not isinstance(value, Optional):
                    raise EvaluationError(
                        f"cannot initialize optional list element from non-optional value {show(value)}", "no_overload"
                    )
                if not value.present:
                    continue
                value = value.value
            made.append(value)
        return made

    return run


def make_map_literal(keys: list[Closure], values: list[Closure], optional: tuple[bool, ...]) -> Closure:
    """Build a map literal; the last of equal keys wins, and an absent optional takes its key away again."""

    def run(frame: Frame) -> Mapping[Any, Any]:
        entries: list[tuple[Any, Any]] = []
        for key, value, may_miss in zip(keys, values, optional, strict=True):
            name, made = key(frame), value(frame)
            require_hashable(name)
            if may_miss:
                if not isinstance(made, Optional):
                    raise EvaluationError(
                        f"cannot initialize optional entry '{show(name)}' from non-optional value {show(made)}", "no_overload"
                    )
                if not made.present:
                    entries = [entry for entry in entries if type(entry[0]) is not type(name) or entry[0] != name]
                    continue
                made = made.value
            entries.append((name, made))
        return make_map(entries)

    return run


def either(first: Closure, second: Closure, *, unwrap: bool) -> Closure:
    """Build ``first.or(second)``, or ``first.orValue(second)``: the second is looked at only when the first is absent."""

    def run(frame: Frame) -> Any:
        value = first(frame)
        if not isinstance(value, Optional):
            raise no_overload()
        if value.present:
            return value.value if unwrap else value
        return second(frame)

    return run
