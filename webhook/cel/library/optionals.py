"""Optional values (cel-go cel/library.go, OptionalTypes version 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError, no_overload
from webhook.cel.structs import TypedObject
from webhook.cel.values import NONE, Duration, Optional, Timestamp


def _is_zero(value: Any) -> bool:
    if isinstance(value, Duration):
        return value.nanoseconds == 0
    if isinstance(value, Timestamp):
        return value.nanoseconds == _ZERO_TIME
    if isinstance(value, TypedObject):
        return not value.fields
    if value is None or type(value) in (bool, int, float, str, bytes, list, dict) or isinstance(value, int | Mapping):
        return not value
    return False


_ZERO_TIME = -62_135_596_800 * 1_000_000_000
"""Go's zero time is the first moment of year 1, not 1970."""


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference", "optional_none")
    return optional.value


def _unwrap(items: list[Any]) -> list[Any]:
    if not all(isinstance(item, Optional) for item in items):
        raise EvaluationError("value is not optional", "no_overload")
    return [item.value for item in items if item.present]


OVERLOADS = (
    overload("optional.of(V) -> optional(V)", Optional),
    overload("optional.ofNonZeroValue(V) -> optional(V)", lambda value: NONE if _is_zero(value) else Optional(value)),
    overload("optional.none() -> optional(V)", lambda: NONE),
    overload("(optional(V)).value() -> V", _value),
    overload("(optional(V)).hasValue() -> bool", lambda optional: optional.present),
    overload("(list(V)).first() -> optional(V)", lambda items: Optional(items[0]) if items else NONE),
    overload("(list(V)).last() -> optional(V)", lambda items: Optional(items[-1]) if items else NONE),
    overload("optional.unwrap(list(optional(V))) -> list(V)", _unwrap),
    overload("(list(optional(V))).unwrapOpt() -> list(V)", _unwrap),
    # The planner answers these itself; they are here for the checker.
    overload("(optional(V)).or(optional(V)) -> optional(V)", no_overload),
    overload("(optional(V)).orValue(V) -> V", no_overload),
    overload("_[_](optional(list(V)), int) -> optional(V)", no_overload),
    overload("_[_](optional(map(K, V)), K) -> optional(V)", no_overload),
    overload("_[?_](list(V), int) -> optional(V)", no_overload),
    overload("_[?_](optional(list(V)), int) -> optional(V)", no_overload),
    overload("_[?_](map(K, V), K) -> optional(V)", no_overload),
    overload("_[?_](optional(map(K, V)), K) -> optional(V)", no_overload),
)
