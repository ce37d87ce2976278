"""Operators on numbers, text, lists and times: int64 and uint64 overflow is an error, doubles follow IEEE 754."""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any

from webhook.cel.compare import order
from webhook.cel.declare import operator
from webhook.cel.errors import EvaluationError, no_operand, no_overload
from webhook.cel.times import MAX_SECONDS, MIN_SECONDS, SECOND, overflow
from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt


def _int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow", "overflow")


def _uint(value: int) -> UInt:
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow", "overflow")


def _duration(nanoseconds: int) -> Duration:
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise EvaluationError("duration overflow", "overflow")


def _timestamp(nanoseconds: int, origin: Timestamp) -> Timestamp:
    if MIN_SECONDS <= nanoseconds // SECOND <= MAX_SECONDS:
        return Timestamp(nanoseconds, origin.offset_seconds)
    raise overflow()


def add(left: Any, right: Any) -> Any:
    """Add numbers and times, join text, bytes and lists."""
    kind = type(left)
    if kind is not type(right):
        return _add_time(left, right)
    if kind is int:
        return _int(left + right)
    if kind in _JOINED:
        return left + right
    if kind is UInt:
        return _uint(int(left) + int(right))
    return _add_time(left, right)


def _add_time(left: Any, right: Any) -> Any:
    if type(left) is Duration and type(right) is Duration:
        return _duration(left.nanoseconds + right.nanoseconds)
    if type(left) is Timestamp and type(right) is Duration:
        return _timestamp(left.nanoseconds + right.nanoseconds, left)
    if type(left) is Duration and type(right) is Timestamp:
        return _timestamp(left.nanoseconds + right.nanoseconds, right)
    raise no_overload() if type(left) in _ADDABLE else no_operand("_+_", left)


_ADDABLE = (int, UInt, float, str, bytes, list, Duration, Timestamp)
_JOINED = (str, list, bytes, float)
_NUMBERS = (int, UInt, float)


def subtract(left: Any, right: Any) -> Any:
    """Subtract numbers and times."""
    kind, other = type(left), type(right)
    if kind is other and kind in _NUMBERS:
        return _int(left - right) if kind is int else left - right if kind is float else _uint(int(left) - int(right))
    if kind is Timestamp and other is Timestamp:
        difference = left.nanoseconds - right.nanoseconds
        return Duration(_int(difference))
    if kind is Timestamp and other is Duration:
        return _timestamp(left.nanoseconds + _int(-right.nanoseconds), left)  # it is negated there, which may overflow
    if kind is Duration and other is Duration:
        return _duration(left.nanoseconds - right.nanoseconds)
    raise no_overload() if kind in (*_NUMBERS, Timestamp, Duration) else no_operand("_-_", left)


def multiply(left: Any, right: Any) -> Any:
    """Multiply numbers of one type."""
    kind = type(left)
    if kind is not type(right) or kind not in _NUMBERS:
        raise no_overload() if kind in _NUMBERS else no_operand("_*_", left)
    return _int(left * right) if kind is int else left * right if kind is float else _uint(int(left) * int(right))


def divide(left: Any, right: Any) -> Any:
    """Divide numbers of one type; integers are cut towards zero."""
    kind = type(left)
    if kind is not type(right) or kind not in _NUMBERS:
        raise no_overload() if kind in _NUMBERS else no_operand("_/_", left)
    if kind is float:
        return _divide_double(left, right)
    if right == 0:
        raise EvaluationError("division by zero", "division_by_zero")
    quotient = abs(left) // abs(right)
    if kind is UInt:
        return UInt(quotient)
    return _int(quotient if (left < 0) == (right < 0) else -quotient)


def _divide_double(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or isnan(left):
        return nan
    return inf if (left > 0) == (str(right)[0] != "-") else -inf


def modulo(left: Any, right: Any) -> Any:
    """Return the remainder, with the sign of the left side."""
    kind = type(left)
    if kind is not type(right) or kind not in (int, UInt):
        raise no_overload() if kind in (int, UInt) else no_operand("_%_", left)
    if right == 0:
        raise EvaluationError("modulus by zero", "division_by_zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow", "overflow")
    rest = abs(left) % abs(right)
    return UInt(rest) if kind is UInt else -rest if left < 0 else rest


def negate(value: Any) -> Any:
    """Change the sign."""
    if type(value) is int:
        return _int(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return _duration(-value.nanoseconds)
    raise no_overload() if type(value) is bool else no_operand("-_", value)


def _same(name: str, *types: str) -> list[str]:
    return [f"{name}({type_}, {type_}) -> {type_}" for type_ in types]


def _orders(name: str) -> list[str]:
    numbers = ("int", "uint", "double")
    pairs = [(left, right) for left in numbers for right in numbers]
    pairs += [(type_, type_) for type_ in ("bool", "string", "bytes", "timestamp", "duration")]
    return [f"{name}({left}, {right}) -> bool" for left, right in pairs]


OPERATORS = (
    operator(
        add,
        [
            *_same("_+_", "bytes", "double", "duration"),
            "_+_(duration, timestamp) -> timestamp",
            "_+_(timestamp, duration) -> timestamp",
            *_same("_+_", "int", "list(A)", "string", "uint"),
        ],
    ),
    operator(
        subtract,
        [
            *_same("_-_", "double", "duration", "int"),
            "_-_(timestamp, duration) -> timestamp",
            "_-_(timestamp, timestamp) -> duration",
            *_same("_-_", "uint"),
        ],
    ),
    operator(multiply, _same("_*_", "double", "int", "uint")),
    operator(divide, _same("_/_", "double", "int", "uint")),
    operator(modulo, _same("_%_", "int", "uint")),
    operator(negate, ["-_(double) -> double", "-_(int) -> int"]),
    operator(lambda left, right: order(left, right, "_<_") < 0, _orders("_<_")),
    operator(lambda left, right: order(left, right, "_<=_") <= 0, _orders("_<=_")),
    operator(lambda left, right: order(left, right, "_>_") > 0, _orders("_>_")),
    operator(lambda left, right: order(left, right, "_>=_") >= 0, _orders("_>=_")),
)
