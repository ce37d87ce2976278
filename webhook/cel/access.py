"""Fields, indexes and presence, exactly as cel-go's attributes do them (interpreter/attributes.go).

A way is where it starts (a variable, or the value of anything that is no way) and its steps. An optional at the start opens it,
and so does an optional step: the rest of an open way may be absent, and its value is an optional. An optional that a plain step
comes upon is opaque: a field of it is not there. That is why a way is followed as a whole and not step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any

from webhook.cel import structs
from webhook.cel.budget import Budget
from webhook.cel.compare import is_key
from webhook.cel.errors import EvaluationError, Overrun, no_key
from webhook.cel.frames import BUDGET, Closure, Frame
from webhook.cel.show import show
from webhook.cel.structs import TypedObject
from webhook.cel.values import NONE, Optional, UInt, go_name, type_name


class StepKind(Enum):
    """What a step of a way does with its key."""

    PLAIN = auto()
    """``.field`` or ``[key]``: an error where there is none."""
    OPTIONAL = auto()
    """``.?field`` or ``[?key]``."""
    TEST = auto()
    """The last field within ``has()``: whether it is there; in an open way, what is there."""


Step = tuple[Closure, StepKind]


def read_variable(name: str) -> Closure:
    """Read a root variable."""

    def run(frame: Frame) -> Any:
        try:
            return frame[0][name]
        except KeyError:
            raise EvaluationError(f"no such attribute(s): {name}", "no_such_attribute") from None

    return run


def read_slot(slot: int) -> Closure:
    """Read a loop variable."""
    return lambda frame: frame[slot]


def read_fields(start: Closure, fields: Sequence[str]) -> Closure:
    """Follow fields, however many: the hot path of nearly every policy, so plain subscripts and no calls."""
    if len(fields) == 1:
        return _read_field(start, fields[0])

    def run(frame: Frame) -> Any:
        value = origin = start(frame)
        try:
            for field in fields:
                value = value[field]
        except (KeyError, TypeError):
            return _follow_paid(origin, [*map(plain_step, fields)], frame)
        return value

    return run


def _read_field(start: Closure, field: str) -> Closure:
    def run(frame: Frame) -> Any:
        value = start(frame)
        try:
            return value[field]
        except (KeyError, TypeError):
            return _follow_paid(value, [plain_step(field)], frame)

    return run


def plain_step(field: str) -> Step:
    """Return the step of a field."""
    return (lambda _: field), StepKind.PLAIN


def test_step(field: str) -> Step:
    """Return the step of a field that ``has()`` asks for."""
    return (lambda _: field), StepKind.TEST


def read_typed(operand: Closure, field: str) -> Closure:
    """Read a field of ``Object{…}`` or ``JSONPatch{…}``."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        return structs.read_field(value, field) if isinstance(value, TypedObject) else index(value, field)

    return run


def follow(start: Closure, steps: Sequence[Step]) -> Closure:
    """Follow steps that are paid for in advance; those that are not taken are paid back."""
    return lambda frame: _follow_paid(start(frame), steps, frame)


def follow_optionally(start: Closure, steps: Sequence[Step]) -> Closure:
    """Follow steps of which only those that are taken are paid for."""

    def run(frame: Frame) -> Any:
        taken, value = _follow(start(frame), steps, frame, len(steps))
        frame[BUDGET].spend(taken)
        return value

    return run


def is_there(way: Closure) -> Closure:
    """Answer ``has()`` of a way that ends in a test, by what following it comes to."""

    def run(frame: Frame) -> Any:
        value = way(frame)
        return value.present if type(value) is Optional else value

    return run


def pay_at_least_once(way: Closure, prepaid: int) -> Closure:
    """Follow a way of which so many steps were paid for in advance, and overrun where not one was taken."""

    def run(frame: Frame) -> Any:
        budget: Budget = frame[BUDGET]
        before = budget.left
        value = way(frame)
        if before - budget.left + prepaid <= 0:
            raise budget.overrun()
        return value

    return run


def test_field(start: Closure, fields: Sequence[str], field: str) -> Closure:
    """Follow plain fields up to one that ``has()`` asks for."""

    def run(frame: Frame) -> Any:
        value = origin = start(frame)
        try:
            for name in fields:
                value = value[name]
        except (KeyError, TypeError):
            value = None
        if type(value) is dict:
            return field in value
        return _follow_paid(origin, [*map(plain_step, fields), test_step(field)], frame)

    return run


def _follow_paid(value: Any, steps: Sequence[Step], frame: Frame) -> Any:
    taken, value = _follow(value, steps, frame, 0)
    frame[BUDGET].left += len(steps) - taken
    return value


def _follow(value: Any, steps: Sequence[Step], frame: Frame, due: int) -> tuple[int, Any]:
    """Return how many steps were taken, and the value; where that is an error, pays for those, of which ``due`` are not paid."""
    taken = 0
    try:
        is_open = isinstance(value, Optional)
        if is_open:
            if not value.present:
                return 0, value
            value = value.value
        for taken, (key, kind) in enumerate(steps, 1):
            is_open = is_open or kind is StepKind.OPTIONAL
            if is_open:
                found, value = find(value, key(frame))
                if not found:
                    return taken - 1, NONE
            elif kind is StepKind.TEST:
                value = find(value, key(frame))[0]
            else:
                value = index(value, key(frame))
    except Overrun:
        raise
    except EvaluationError:
        frame[BUDGET].spend(taken - len(steps) + due)
        raise
    return taken, Optional(value) if is_open else value


def index(value: Any, key: Any) -> Any:
    """Return an element; raises EvaluationError where there is none, as within an optional."""
    found, element = find(value, key)
    if found:
        return element
    if type(value) is list:
        raise EvaluationError(f"index out of bounds: {show(key)}", "out_of_range")
    raise no_key(show(key))


def find(value: Any, key: Any) -> tuple[bool, Any]:
    """Look for an element. What is neither list nor map has none; only a list asked for anything but a position is an error."""
    if not is_key(key):
        raise EvaluationError(f"invalid qualifier type: {go_name(key)}", "bad_index")
    if type(value) is list:
        position = _position(key)
        return (True, value[position]) if 0 <= position < len(value) else (False, None)
    if type(value) is dict:
        return (True, value[key]) if type(key) is str and key in value else (False, None)
    if isinstance(value, TypedObject):
        return key in value.fields, value.fields.get(key)
    if isinstance(value, Mapping):
        try:
            return True, value[key]
        except KeyError:
            return False, None
    return False, None


def _position(key: Any) -> int:
    if type(key) is int:
        return key
    if type(key) is UInt and key < 2**63:
        return int(key)
    if type(key) is float and key.is_integer() and -(2.0**63) <= key < 2.0**63:
        return int(key)
    if type(key) in (float, UInt):
        raise EvaluationError(f"unsupported index value {show(key)} in list", "bad_index")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list", "bad_index")
