"""Text functions (cel-go ext/strings.go, version 2). Positions count code points, as Python's do."""

from __future__ import annotations

from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.show import show

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What Go's unicode.IsSpace calls white space; Python's strip also takes \\x1c to \\x1f."""
_QUOTED = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
)


def _out_of_range(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}", "out_of_range")


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


def _index_of(budget: Budget, text: str, part: str, offset: int = 0) -> int:
    budget.spend_text(len(text))
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def _last_index_of(budget: Budget, text: str, part: str) -> int:
    budget.spend_text(len(text))
    return text.rfind(part)


def _last_index_from(budget: Budget, text: str, part: str, offset: int) -> int:
    budget.spend_text(len(text))
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _lower(budget: Budget, text: str) -> str:
    budget.spend_text(len(text))
    return text.translate(_LOWER)


def _upper(budget: Budget, text: str) -> str:
    budget.spend_text(len(text))
    return text.translate(_UPPER)


def _replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    """Replace; what it will make is paid for before it is made, as the result may be the product of two lengths."""
    budget.spend_text(len(text))
    times = text.count(old)
    if limit >= 0:
        times = min(times, limit)
    budget.spend_text(times * len(new))
    return text.replace(old, new, limit) if limit != 0 else text


def _split(budget: Budget, text: str, separator: str, limit: int = -1) -> list[str]:
    """Split as Go does: an empty separator splits between characters, a limit keeps the rest in the last part."""
    budget.spend_text(len(text))
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    budget.spend(len(text))
    parts = list(text)
    return parts if limit < 0 or limit >= len(parts) else [*parts[: limit - 1], text[limit - 1 :]]


def _substring(budget: Budget, text: str, start: int) -> str:
    budget.spend_text(len(text))
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_range(budget: Budget, text: str, start: int, end: int) -> str:
    budget.spend_text(len(text))
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}", "out_of_range")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _trim(budget: Budget, text: str) -> str:
    budget.spend_text(len(text))
    return text.strip(_SPACE)


def _join(budget: Budget, items: list[Any], separator: str = "") -> str:
    """Join; the sum of lengths is paid for first, as a list may hold one long text a thousand times."""
    budget.spend(len(items))
    for item in items:
        if type(item) is not str:
            raise EvaluationError(f"join: invalid input: {show(item)}", "no_overload")
    budget.spend_text(sum(map(len, items)) + len(separator) * len(items))
    return separator.join(items)


def quote(budget: Budget, text: str) -> str:
    """Put text in quotes, with what needs it escaped."""
    budget.spend_text(len(text))
    return f'"{text.translate(_QUOTED)}"'


OVERLOADS = (
    overload("(string).charAt(int) -> string", _char_at),
    overload("(string).indexOf(string) -> int", _index_of, metered=True),
    overload("(string).indexOf(string, int) -> int", _index_of, metered=True),
    overload("(string).lastIndexOf(string) -> int", _last_index_of, metered=True),
    overload("(string).lastIndexOf(string, int) -> int", _last_index_from, metered=True),
    overload("(string).lowerAscii() -> string", _lower, metered=True),
    overload("(string).replace(string, string) -> string", _replace, metered=True),
    overload("(string).replace(string, string, int) -> string", _replace, metered=True),
    overload("(string).split(string) -> list(string)", _split, metered=True),
    overload("(string).split(string, int) -> list(string)", _split, metered=True),
    overload("(string).substring(int) -> string", _substring, metered=True),
    overload("(string).substring(int, int) -> string", _substring_range, metered=True),
    overload("(string).trim() -> string", _trim, metered=True),
    overload("(string).upperAscii() -> string", _upper, metered=True),
    overload("(list(string)).join() -> string", _join, metered=True),
    overload("(list(string)).join(string) -> string", _join, metered=True),
    overload("strings.quote(string) -> string", quote, metered=True),
)
