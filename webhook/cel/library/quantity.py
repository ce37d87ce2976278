"""Functions of quantities (apiserver pkg/cel/library/quantity.go)."""

from __future__ import annotations

from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.quantities import Quantity, Small, approximate, combine, is_integer, parse_quantity, parse_short


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except EvaluationError as error:
        return error.kind == "range"
    return True


def _as_integer(quantity: Quantity) -> int:
    value = is_integer(quantity)
    if value is None:
        raise EvaluationError("cannot convert value to integer", "overflow")
    return value


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.nano > right.nano) - (left.nano < right.nano)


def _from_int(value: int) -> Quantity:
    return Quantity(value * 10**9, Small(value, 0), "DecimalExponent")


OVERLOADS = (
    overload("quantity(string) -> quantity", parse_quantity, kept=parse_short),
    overload("isQuantity(string) -> bool", _is_quantity),
    overload("sign(quantity) -> int", lambda quantity: (quantity.nano > 0) - (quantity.nano < 0)),
    overload("(quantity).isGreaterThan(quantity) -> bool", lambda left, right: left.nano > right.nano),
    overload("(quantity).isLessThan(quantity) -> bool", lambda left, right: left.nano < right.nano),
    overload("(quantity).compareTo(quantity) -> int", _compare),
    overload("(quantity).asApproximateFloat() -> double", approximate),
    overload("(quantity).asInteger() -> int", _as_integer),
    overload("(quantity).isInteger() -> bool", lambda quantity: is_integer(quantity) is not None),
    overload("(quantity).add(quantity) -> quantity", lambda left, right: combine(left, right, 1)),
    overload("(quantity).add(int) -> quantity", lambda left, right: combine(left, _from_int(right), 1)),
    overload("(quantity).sub(quantity) -> quantity", lambda left, right: combine(left, right, -1)),
    overload("(quantity).sub(int) -> quantity", lambda left, right: combine(left, _from_int(right), -1)),
)
