"""``'%s of %d'.format([…])`` (cel-go ext/formatting.go): clauses, and how each of them writes a value.

Doubles are written as golang.org/x/text does for en_US: digits in groups, an infinity sign, exponents as superscripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from math import isinf, isnan
from typing import Any, NamedTuple

from webhook.cel.budget import Budget
from webhook.cel.costs import beyond
from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.library.convert import text_to_double
from webhook.cel.show import show_double
from webhook.cel.text import quote_go, to_utf8
from webhook.cel.times import show_duration, show_timestamp
from webhook.cel.values import INT_MAX, Duration, Timestamp, TypeValue, UInt, entries_of, type_name

_DEFAULT_PRECISION = 6
_LONGEST = 19
"""Digits of the largest int64."""
_LARGEST, _NO_VERB = 1_000_000, "%!(NOVERB)"
_MOST_DIGITS = 1_100
"""More than any double has behind its point."""
_SUPERSCRIPT = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_CLAUSE = re.compile(r"(?:\.([0-9]*))?(.)", re.DOTALL | re.ASCII)
_NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")

REFUSALS: Mapping[str, str] = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""What is said to a value of a type that a clause does not take; followed by ``, was given <type>``."""


class Clause(NamedTuple):
    """``%.2f``: which argument, which verb, how many digits."""

    position: int
    verb: str
    precision: int | None


class FormatError(EvaluationError):
    """A format text that cannot be read, or a value that its clause does not take."""

    def __init__(self, message: str, kind: str = "format") -> None:
        super().__init__(message, kind)


def read_clauses(text: str, arguments: int) -> Iterator[str | Clause]:
    """Take a format text apart; raises FormatError where a clause cannot be read or its argument is missing."""
    start, position = 0, 0
    while (percent := text.find("%", start)) >= 0:
        yield text[start:percent]
        if text[percent + 1 : percent + 2] == "%":
            yield "%"
            start = percent + 2
            continue
        if percent + 1 >= len(text):
            raise FormatError("unexpected end of string" if position < arguments else f"index {position} out of range")
        if position >= arguments:
            raise FormatError(f"index {position} out of range")
        clause, start = _read_clause(text, percent + 1, position)
        yield clause
        position += 1
    yield text[start:]


def _read_clause(text: str, start: int, position: int) -> tuple[Clause, int]:
    problem = "could not parse formatting clause: "
    match = _CLAUSE.match(text, start)
    if match is None:
        raise FormatError(f"{problem}error while parsing precision: could not find end of precision specifier")
    digits, verb = match[1], match[2]
    if digits is not None and (not digits or len(digits.lstrip("0")) > _LONGEST or int(digits.lstrip("0") or 0) > INT_MAX):
        reason = "value out of range" if digits else "invalid syntax"
        raise FormatError(
            f"{problem}error while parsing precision: error while converting precision to integer: "
            f'strconv.Atoi: parsing "{digits}": {reason}'
        )
    if verb not in REFUSALS:
        raise FormatError(f'{problem}unrecognized formatting clause "{chr(to_utf8(verb)[0])}"')
    return Clause(position, verb, None if digits is None else int(digits.lstrip("0") or 0)), match.end()


def _format(budget: Budget, text: str, arguments: list[Any]) -> str:
    parts: list[str] = []
    for piece in read_clauses(text, len(arguments)):
        if isinstance(piece, Clause):
            try:
                written = _WRITERS[piece.verb](budget, arguments[piece.position], piece)
            except EvaluationError as error:
                if error.kind != "format":
                    raise
                raise FormatError(f"error during formatting: {error.message}") from error
            budget.spend(beyond(len(written)))
            parts.append(written)
        else:
            parts.append(piece)
    return "".join(parts)


def _refuse(clause: Clause, value: Any) -> FormatError:
    return FormatError(f"{REFUSALS[clause.verb]}, was given {type_name(value)}")


def _write_text(budget: Budget, value: Any, clause: Clause) -> str:
    if type(value) is list:
        return _write_list(budget, value)
    if isinstance(value, Mapping):
        return _write_map(budget, value)
    plain = _plain(value)
    if plain is None:
        raise _refuse(clause, value)
    return plain


def _plain(value: Any) -> str | None:
    """Return what ``string(value)`` would be."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case str():
            return value
        case float():
            return show_double(value)
        case bytes():
            return _decode(value)
        case Timestamp():
            return show_timestamp(value)
        case Duration():
            return show_duration(value)
        case TypeValue():
            return value.name
        case _:
            return None


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        reason = "invalid UTF-8 in bytes, cannot convert to string"
        raise FormatError(f'could not convert argument "{reason}" to string') from None


def _write_list(budget: Budget, items: list[Any]) -> str:
    budget.spend(beyond(len(items)))
    return f"[{', '.join(_write_element(budget, item) for item in items)}]"


def _write_map(budget: Budget, entries: Mapping[Any, Any]) -> str:
    budget.spend(beyond(len(entries)))
    pairs = []
    for key, value in entries_of(entries):
        if type(key) not in (str, bool, int, UInt):
            raise FormatError(f"no formatting function for map key of type {type_name(key)}")
        pairs.append((_write_element(budget, key), _write_element(budget, value)))
    pairs.sort(key=lambda pair: to_utf8(pair[0]))
    return f"{{{', '.join(f'{key}:{value}' for key, value in pairs)}}}"


def _write_element(budget: Budget, value: Any) -> str:
    """Write a value within a list or a map, where text is in quotes and doubles have six digits."""
    match value:
        case str():
            budget.spend(beyond(len(value)))
            return quote_go(value)
        case bytes():
            return f"b{quote_go(_decode(value))}"
        case float():
            return f'"{show_double(value)}"' if isnan(value) or isinf(value) else f"{value:.6f}"
        case Timestamp():
            return f'timestamp("{show_timestamp(Timestamp(value.nanoseconds))}")'
        case Duration():
            return f'duration("{show_duration(value)}")'
        case list():
            budget.spend(1)  # below the first level nobody counts them, and they may be very many
            return _write_list(budget, value)
        case Mapping():
            budget.spend(1)
            return _write_map(budget, value)
        case _:
            return _write_other(value)


def _write_other(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        raise FormatError(f"no formatting function for {type_name(value)}")
    return plain


def _write_decimal(_: Budget, value: Any, clause: Clause) -> str:
    if type(value) not in (int, UInt):
        raise _refuse(clause, value)
    return str(int(value))


def _double(value: Any, clause: Clause) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in _NOT_NUMBERS:
        return text_to_double(value)
    raise _refuse(clause, value)


def _precision(clause: Clause) -> int | None:
    """Return the precision, None for one that x/text's printer takes for too large (internal/format/parser.go)."""
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    return None if precision // 10 > _LARGEST else precision


def _write_fixed(_: Budget, value: Any, clause: Clause) -> str:
    """Write a number as x/text does: the least number of digits is kept in a byte and the most in an int16 (message/print.go)."""
    number, precision = _double(value, clause), _precision(clause)
    if precision is None:
        return _NO_VERB
    if isnan(number) or isinf(number):
        return _write_special(number)
    if precision < 2**8:
        return f"{number or 0.0:,.{precision}f}"
    most = precision % 2**16
    exact = Decimal(number or 0.0) if most < 2**15 else Decimal(repr(number or 0.0))  # a negative most: what tells it from others
    whole, _point, digits = f"{exact:,.{min(most, _MOST_DIGITS)}f}".partition(".")
    digits = digits.rstrip("0").ljust(precision % 2**8, "0")
    return f"{whole}.{digits}" if digits else whole


def _write_scientific(_: Budget, value: Any, clause: Clause) -> str:
    """Write six digits; cel-go hands the precision to its printer as a width, which that keeps in a uint16, and so do we."""
    number, precision = _double(value, clause), _precision(clause)
    if precision is None:
        return _NO_VERB
    width = precision % 2**16
    if isnan(number) or isinf(number):
        return _write_special(number).rjust(width)
    mantissa, exponent = f"{number or 0.0:.{_DEFAULT_PRECISION}e}".split("e")
    return f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPT)}".rjust(width)  # noqa: RUF001 - x/text's sign


def _write_special(number: float) -> str:
    return "NaN" if isnan(number) else "∞" if number > 0 else "-∞"


def _write_binary(_: Budget, value: Any, clause: Clause) -> str:
    if type(value) not in (int, UInt, bool):
        raise _refuse(clause, value)
    return f"{int(value):b}"


def _write_octal(_: Budget, value: Any, clause: Clause) -> str:
    if type(value) not in (int, UInt):
        raise _refuse(clause, value)
    return f"{int(value):o}"


def _write_hex(budget: Budget, value: Any, clause: Clause) -> str:
    if type(value) in (int, UInt):
        written = f"{int(value):x}"
    elif type(value) in (str, bytes):
        budget.spend(beyond(len(value)))
        written = (value if type(value) is bytes else to_utf8(value)).hex()
    else:
        raise _refuse(clause, value)
    return written.upper() if clause.verb == "X" else written


_WRITERS: Mapping[str, Callable[[Budget, Any, Clause], str]] = {
    "s": _write_text,
    "d": _write_decimal,
    "f": _write_fixed,
    "e": _write_scientific,
    "b": _write_binary,
    "x": _write_hex,
    "X": _write_hex,
    "o": _write_octal,
}

OVERLOADS = (overload("(string).format(list(dyn)) -> string", _format, metered=True),)
