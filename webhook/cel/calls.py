"""Calls of library functions: the overload whose parameters fit the values answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webhook.cel.costs import Formula, search_price, size_of
from webhook.cel.declare import CLASSES, Function, Overload
from webhook.cel.errors import EvaluationError, Overrun, no_operand, no_overload
from webhook.cel.failing import FAILED, Price, fail_call, fail_two
from webhook.cel.frames import ACTIVATION, BUDGET, Closure, Frame
from webhook.cel.values import HostObject, type_name

_UNGUARDED = frozenset({"contains", "endsWith", "startsWith"})
"""Functions that look at their arguments themselves in cel-go, and have few words for it (decls.DisableTypeGuards)."""


def call(function: Function, fitting: tuple[Overload, ...], arguments: Sequence[Closure], formula: Formula | None) -> Closure:
    """Build the call of a function, given the overloads that the checker found to fit, and a price that depends on values.

    The price is paid before anything is done with the values, even a look at their types: cel-go counts calls that no overload
    takes, too.
    """
    price = None if formula is None else formula.pay
    if not function.takes(len(arguments)):
        return _call_any(function, arguments, None)
    if function.operator is not None:
        return _call_operator(function, arguments, price)
    if len(fitting) == 1:
        return _call_one(fitting[0], arguments, price)
    return _call_any(function, arguments, price)


def _values(arguments: Sequence[Closure], price: Price | None) -> Callable[[Frame], list[Any]]:
    """Build what evaluates and pays for the arguments of a call."""

    def run(frame: Frame) -> list[Any]:
        values: list[Any] = []
        try:
            for argument in arguments:
                values.append(argument(frame))  # noqa: PERF401 - what there is when one fails must be known
        except Overrun:
            raise
        except EvaluationError:
            fail_call(values, arguments, frame, price)
            raise
        if price is not None:
            price(frame[BUDGET], *values)
        return values

    return run


def search(answer: Callable[[Any, str], Any], text: Closure, pattern: Any, name: str, length: int) -> Closure:
    """Build a search for a pattern that is compiled already; ``length`` is that of its text."""

    def run(frame: Frame) -> Any:
        value = text(frame)
        frame[BUDGET].spend(search_price(size_of(value), length))
        if type(value) is not str:
            raise _mismatch(name, (value, ""))
        return answer(pattern, value)

    return run


def call_host(host: str, method: str, arguments: Sequence[Closure]) -> Closure:
    """Build the call of a host's method."""

    def run(frame: Frame) -> Any:
        target = frame[ACTIVATION].get(host)
        if not isinstance(target, HostObject):
            raise EvaluationError(f"'{host}' is not available here", "no_such_attribute")
        return target.call(method, tuple(argument(frame) for argument in arguments))

    return run


def _call_operator(function: Function, arguments: Sequence[Closure], price: Price | None) -> Closure:
    answer = function.operator
    assert answer is not None  # noqa: S101 - looked at by the caller
    if len(arguments) == 1 and price is None:
        (only,) = arguments
        return lambda frame: answer(only(frame))
    if len(arguments) == 2:
        return _call_two(answer, arguments[0], arguments[1], price)
    values = _values(arguments, price)
    return lambda frame: answer(*values(frame))


def _call_two(answer: Callable[..., Any], first: Closure, second: Closure, price: Price | None) -> Closure:
    """Build the call of an operator with two sides, as most are, without a list of values."""

    def run(frame: Frame) -> Any:
        left = FAILED
        try:
            left = first(frame)
            right = second(frame)
        except Overrun:
            raise
        except EvaluationError:
            fail_two(left, second, frame, price)
            raise
        if price is not None:
            price(frame[BUDGET], left, right)
        return answer(left, right)

    return run


def _call_one(chosen: Overload, arguments: Sequence[Closure], price: Price | None) -> Closure:
    """Build the call of the only overload that can fit; its arguments are checked all the same, as dyn may hide anything."""
    answer, metered, guards = chosen.run, chosen.metered, chosen.guards
    exact = [CLASSES.get(parameter) for parameter in chosen.parameters]
    if len(arguments) == 1 and not metered and price is None:
        (only,), (guard,) = arguments, guards

        def run_one(frame: Frame) -> Any:
            value = only(frame)
            if guard(value):
                return answer(value)
            raise _mismatch(chosen.function, (value,))

        return run_one
    if len(arguments) == 2 and None not in exact:
        return _call_pair(chosen, exact, arguments[0], arguments[1], price)
    read = _values(arguments, price)

    def run(frame: Frame) -> Any:
        values = read(frame)
        for guard, value in zip(guards, values, strict=True):
            if not guard(value):
                raise _mismatch(chosen.function, values)
        return answer(frame[BUDGET], *values) if metered else answer(*values)

    return run


def _call_pair(chosen: Overload, exact: Sequence[type | None], left: Closure, right: Closure, price: Price | None) -> Closure:
    """Build the call of an overload with two parameters of which each takes one class only."""
    answer, metered = chosen.run, chosen.metered
    left_class, right_class = exact

    def run_two(frame: Frame) -> Any:
        one = FAILED
        try:
            one = left(frame)
            other = right(frame)
        except Overrun:
            raise
        except EvaluationError:
            fail_two(one, right, frame, price)
            raise
        if price is not None:
            price(frame[BUDGET], one, other)
        if type(one) is left_class and type(other) is right_class:
            return answer(frame[BUDGET], one, other) if metered else answer(one, other)
        raise _mismatch(chosen.function, (one, other))

    return run_two


def _call_any(function: Function, arguments: Sequence[Closure], price: Price | None) -> Closure:
    candidates = [item for item in function.overloads if len(item.parameters) == len(arguments)]
    if len(arguments) == 1 and price is None and candidates:
        return _call_by_class(function, candidates, arguments[0])
    read = _values(arguments, price)

    def run(frame: Frame) -> Any:
        values = read(frame)
        for item in candidates:
            if all(guard(value) for guard, value in zip(item.guards, values, strict=True)):
                return item.run(frame[BUDGET], *values) if item.metered else item.run(*values)
        raise _mismatch(function.name, values)

    return run


def _call_by_class(function: Function, candidates: Sequence[Overload], argument: Closure) -> Closure:
    """Build a call with one argument: its class mostly decides, and looking that up is quicker than asking every guard."""
    known = by_class(function, 1)

    def run(frame: Frame) -> Any:
        value = argument(frame)
        answer = known.get(type(value))
        if answer is not None:
            return answer(value)
        for item in candidates:
            if item.guards[0](value):
                return item.run(frame[BUDGET], value) if item.metered else item.run(value)
        raise _mismatch(function.name, (value,))

    return run


def by_class(function: Function, count: int) -> Mapping[type, Callable[..., Any]]:
    """Map the class of an only argument to what answers for it, as far as one class is all that matters."""
    return {
        CLASSES[item.parameters[0]]: item.run
        for item in function.overloads
        if len(item.parameters) == count == 1 and item.parameters[0] in CLASSES and not item.metered
    }


def dispatch(function: Function, count: int) -> Callable[..., Any]:
    """Make a function of values that finds the overload which takes them."""
    candidates = [item for item in function.overloads if len(item.parameters) == count]

    def run(*values: Any) -> Any:
        for item in candidates:
            if all(guard(value) for guard, value in zip(item.guards, values, strict=True)):
                return item.run(*values)
        raise _mismatch(function.name, values)

    return run


def _mismatch(function: str, values: Sequence[Any]) -> EvaluationError:
    if function in _UNGUARDED:
        return no_overload()
    if function == "matches" and values:
        return no_operand(function, values[0])
    return no_overload(function, *[type_name(value) for value in values])
