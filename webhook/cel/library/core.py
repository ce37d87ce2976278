"""The rest of the language's own functions: sizes, types, search in text, and the parts of times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import contains
from typing import Any

from webhook.cel.declare import Overload, operator, overload
from webhook.cel.errors import no_operand, no_overload
from webhook.cel.structs import TypedObject
from webhook.cel.times import Civil, civil, read_offset
from webhook.cel.values import Duration, Timestamp, TypeValue, type_name

_SIZED = frozenset({str, list, dict, bytes})


def size(value: Any) -> int:
    """Count code points, bytes, elements or keys."""
    if type(value) in _SIZED or isinstance(value, Mapping):
        return len(value)
    raise no_operand("size", value)


def type_of(value: Any) -> TypeValue:
    """Return the type of a value. The API server's objects of mutation all have the type ``type`` (pkg/cel/mutation)."""
    return TypeValue("type" if isinstance(value, TypedObject) else type_name(value))


def _part(name: str, read: Callable[[Civil], int]) -> Iterable[Overload]:
    """Declare a calendar field of a timestamp, in UTC and in a zone."""
    yield overload(f"(timestamp).{name}() -> int", lambda moment: read(civil(moment, 0)))
    yield overload(f"(timestamp).{name}(string) -> int", lambda moment, zone: read(civil(moment, read_offset(zone, moment))))


def _cut(duration: Duration, nanoseconds: int) -> int:
    whole = abs(duration.nanoseconds) // nanoseconds
    return -whole if duration.nanoseconds < 0 else whole


def _milliseconds(timestamp: Timestamp) -> int:
    return timestamp.nanoseconds % 1_000_000_000 // 1_000_000


def _zoned_milliseconds(timestamp: Timestamp, zone: str) -> int:
    read_offset(zone, timestamp)
    return _milliseconds(timestamp)


OPERATORS = (
    operator(
        size,
        [
            f"{form} -> int"
            for type_ in ("bytes", "list(A)", "map(A, B)", "string")
            for form in (f"size({type_})", f"({type_}).size()")
        ],
    ),
    operator(type_of, ["type(A) -> type(A)"]),
)

OVERLOADS = (
    # The planner answers these itself; they are here for the checker.
    overload("_?_:_(bool, A, A) -> A", no_overload),
    overload("!_(bool) -> bool", no_overload),
    overload("_==_(A, A) -> bool", no_overload),
    overload("_!=_(A, A) -> bool", no_overload),
    overload("@in(A, list(A)) -> bool", no_overload),
    overload("@in(A, map(A, B)) -> bool", no_overload),
    overload("cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", no_overload),
    overload("_[_](list(A), int) -> A", no_overload),
    overload("_[_](map(A, B), A) -> B", no_overload),
    overload("(string).contains(string) -> bool", contains),
    overload("(string).endsWith(string) -> bool", str.endswith),
    overload("(string).startsWith(string) -> bool", str.startswith),
    *_part("getFullYear", lambda moment: moment.year),
    *_part("getMonth", lambda moment: moment.month - 1),
    *_part("getDayOfYear", lambda moment: moment.day_of_year),
    *_part("getDayOfMonth", lambda moment: moment.day - 1),
    *_part("getDate", lambda moment: moment.day),
    *_part("getDayOfWeek", lambda moment: moment.weekday),
    *_part("getHours", lambda moment: moment.hour),
    overload("(duration).getHours() -> int", lambda duration: _cut(duration, 3_600_000_000_000)),
    *_part("getMinutes", lambda moment: moment.minute),
    overload("(duration).getMinutes() -> int", lambda duration: _cut(duration, 60_000_000_000)),
    *_part("getSeconds", lambda moment: moment.second),
    overload("(duration).getSeconds() -> int", lambda duration: _cut(duration, 1_000_000_000)),
    overload("(timestamp).getMilliseconds() -> int", _milliseconds),
    overload("(timestamp).getMilliseconds(string) -> int", _zoned_milliseconds),
    overload("(duration).getMilliseconds() -> int", lambda duration: _cut(duration, 1_000_000)),
)
