"""Fields, indexes and presence, exactly as cel-go's qualifiers do them (interpreter/attributes.go).

An optional anywhere on the way makes the rest of the way optional: ``a.?b.c`` is an optional, present when all of it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webhook.cel import structs
from webhook.cel.compare import is_key
from webhook.cel.errors import EvaluationError, Overrun, no_key
from webhook.cel.frames import BUDGET, Closure, Frame
from webhook.cel.show import show
from webhook.cel.structs import TypedObject
from webhook.cel.values import NONE, Optional, UInt, go_name, type_name


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
    if not fields:
        return start
    if len(fields) == 1:
        return read_field(start, fields[0])

    def run(frame: Frame) -> Any:
        value = origin = start(frame)
        try:
            for field in fields:
                value = value[field]
        except (KeyError, TypeError):
            return _follow(origin, fields, frame)
        return value

    return run


def read_field(operand: Closure, field: str) -> Closure:
    """Read one field."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        try:
            return value[field]
        except (KeyError, TypeError):
            return index(value, field)

    return run


def read_typed(operand: Closure, field: str) -> Closure:
    """Read a field of ``Object{…}`` or ``JSONPatch{…}``."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        return structs.read_field(value, field) if isinstance(value, TypedObject) else index(value, field)

    return run


def read_index(operand: Closure, key: Closure) -> Closure:
    """Read an element."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if value is NONE:  # cel-go leaves the rest of the way unevaluated
            return value
        return index(value, key(frame))

    return run


def follow_optionally(start: Closure, steps: list[tuple[Closure, bool]]) -> Closure:
    """Follow fields and indexes of which some, marked True, may be absent; only those that are there cost anything."""

    def run(frame: Frame) -> Any:
        value = start(frame)
        taken = 0
        try:
            for key, optional in steps:
                if value is not NONE:
                    value = index_optionally(value, key(frame)) if optional else index(value, key(frame))
                if value is NONE:
                    break
                taken += 1
        except Overrun:
            raise
        except EvaluationError:
            frame[BUDGET].spend(taken + 1)
            raise
        frame[BUDGET].spend(taken)
        return value

    return run


def test_field(operand: Closure, field: str) -> Closure:
    """Answer ``has(operand.field)``."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is dict:
            return field in value
        if isinstance(value, Optional):
            return value.present and find(value.value, field)[0]
        return find(value, field)[0]

    return run


def test_optional(operand: Closure, field: str) -> Closure:
    """Answer ``has(operand.field)`` of an operand that may be absent, and then costs nothing."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if not isinstance(value, Optional) or value.present:
            frame[BUDGET].spend(1)
        return find(value.value, field)[0] if isinstance(value, Optional) else find(value, field)[0]

    return run


def _follow(value: Any, fields: Sequence[str], frame: Frame) -> Any:
    """Follow fields step by step; raises EvaluationError where one is not there, and pays the steps behind it back."""
    taken = 0
    try:
        for taken, field in enumerate(fields, 1):  # noqa: B007 - counts
            value = index(value, field)
    except EvaluationError:
        frame[BUDGET].left += len(fields) - taken
        raise
    return value


def index(value: Any, key: Any) -> Any:
    """Return an element; raises EvaluationError where there is none."""
    if isinstance(value, Optional):
        return index_optionally(value, key)
    found, element = find(value, key)
    if found:
        return element
    if type(value) is list:
        raise EvaluationError(f"index out of bounds: {show(key)}", "out_of_range")
    raise no_key(show(key))


def index_optionally(value: Any, key: Any) -> Optional:
    """Return an element as an optional."""
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    found, element = find(value, key)
    return Optional(element) if found else NONE


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
