"""Text functions (cel-go ext/strings.go, version 2). Positions count code points, as Python's do."""

from __future__ import annotations

from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.costs import beyond, walk
from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.show import show

_BATCH = 1_000
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


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_from(text: str, part: str, offset: int) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _lower(text: str) -> str:
    return text.translate(_LOWER)


def _upper(text: str) -> str:
    return text.translate(_UPPER)


def _replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    """Replace. The result may be the product of two lengths, which the API server does not count: we do, before it is made."""
    times = text.count(old) if limit < 0 else min(text.count(old), limit)
    budget.spend(beyond(max(times * len(new) - 2 * len(text), 0)))
    return text.replace(old, new, limit) if limit != 0 else text


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Split as Go does: an empty separator splits between characters, a limit keeps the rest in the last part."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    parts = list(text)
    return parts if limit < 0 or limit >= len(parts) else [*parts[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}", "out_of_range")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_SPACE)


def _join(budget: Budget, items: list[Any], separator: str = "") -> str:
    """Join; the result is paid for first, as a list may hold one long text a thousand times."""
    length, paid = len(separator) * max(len(items) - 1, 0), 0
    for start in range(0, len(items), _BATCH):
        for item in items[start : start + _BATCH]:
            if type(item) is not str:
                budget.spend(1)
                raise EvaluationError(f"join: invalid input: {show(item)}", "no_overload")
            length += len(item)
        budget.spend(walk(2 * length) - paid + (start > 0))
        paid = walk(2 * length)
    return separator.join(items)


def quote(text: str) -> str:
    """Put text in quotes, with what needs it escaped."""
    return f'"{text.translate(_QUOTED)}"'


OVERLOADS = (
    overload("(string).charAt(int) -> string", _char_at),
    overload("(string).indexOf(string) -> int", _index_of),
    overload("(string).indexOf(string, int) -> int", _index_of),
    overload("(string).lastIndexOf(string) -> int", _last_index_of),
    overload("(string).lastIndexOf(string, int) -> int", _last_index_from),
    overload("(string).lowerAscii() -> string", _lower),
    overload("(string).replace(string, string) -> string", _replace, metered=True),
    overload("(string).replace(string, string, int) -> string", _replace, metered=True),
    overload("(string).split(string) -> list(string)", _split),
    overload("(string).split(string, int) -> list(string)", _split),
    overload("(string).substring(int) -> string", _substring),
    overload("(string).substring(int, int) -> string", _substring_range),
    overload("(string).trim() -> string", _trim),
    overload("(string).upperAscii() -> string", _upper),
    overload("(list(string)).join() -> string", _join, metered=True),
    overload("(list(string)).join(string) -> string", _join, metered=True),
    overload("strings.quote(string) -> string", quote),
)
