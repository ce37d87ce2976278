"""Regular expressions, by RE2: linear time whatever the pattern and the text, as in the API server.

google-re2 is called one level below its Python front, whose ``search`` costs seven times as much.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from webhook.cel.budget import Budget
from webhook.cel.costs import beyond
from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.library.regex_classes import with_classes_of_go
from webhook.cel.text import to_utf8

_UNANCHORED = re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001 - re2's front has no cheaper way to its own engine
_MISSING = (-1, -1)
_SCANNED_PER_UNIT, _FREE_MATCHES = 50_000, 1_000
"""What ``findAll`` does beyond its price: every match may read to the end of the text, and the API server counts one reading."""
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
"""``\\C``, which matches half a character: C++ knows it, Go refuses it."""


@lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern; raises EvaluationError. The cache is for patterns that an object brings."""
    options = re2.Options()
    options.log_errors = False
    if _ANY_BYTE.search(pattern):
        raise EvaluationError("error parsing regexp: invalid escape sequence: `\\C`", "parse")
    compiled = re2._re2.RE2(to_utf8(with_classes_of_go(pattern)), options)  # noqa: SLF001 - as above
    if not compiled.ok():
        raise EvaluationError(f"error parsing regexp: {compiled.error().decode('utf-8', 'replace')}", "parse")
    return compiled


def matches(compiled: Any, text: str) -> bool:
    """Tell whether a pattern matches somewhere in a text."""
    encoded = to_utf8(text)
    return bool(compiled.Match(_UNANCHORED, encoded, 0, len(encoded))[0] != _MISSING)


def find(compiled: Any, text: str) -> str:
    """Return the first match, or nothing."""
    encoded = to_utf8(text)
    begin, end = compiled.Match(_UNANCHORED, encoded, 0, len(encoded))[0]
    return encoded[begin:end].decode() if begin >= 0 else ""


def _compile(budget: Budget, pattern: str) -> Any:
    """Compile a pattern that is no constant; what a short one may stand for, such as ``a{1000}``, is paid for."""
    compiled = compile_pattern(pattern)
    budget.spend(beyond(compiled.ProgramSize()))
    return compiled


def _matches(budget: Budget, text: str, pattern: str) -> bool:
    return matches(_compile(budget, pattern), text)


def _find(budget: Budget, text: str, pattern: str) -> str:
    return find(_compile(budget, pattern), text)


def _find_all(budget: Budget, text: str, pattern: str, limit: int = -1) -> list[str]:
    return find_all(budget, _compile(budget, pattern), text, limit)


def find_all(budget: Budget, compiled: Any, text: str, limit: int = -1) -> list[str]:
    """Find all matches that do not overlap; an empty one right behind another does not count (Go's FindAllString)."""
    encoded = to_utf8(text)
    found: list[str] = []
    position, last = 0, -1
    while position <= len(encoded) and (limit < 0 or len(found) < limit):
        budget.spend(
            (len(found) > _FREE_MATCHES) + (len(encoded) - position) // _SCANNED_PER_UNIT
        )  # each may read all that is left
        begin, end = compiled.Match(_UNANCHORED, encoded, position, len(encoded))[0]
        if begin < 0:
            break
        if begin != end or begin != last:
            found.append(encoded[begin:end].decode())
        last = end
        position = end if end > begin else _next_character(encoded, end)
    return found


def _next_character(encoded: bytes, position: int) -> int:
    position += 1
    while position < len(encoded) and encoded[position] & 0xC0 == 0x80:
        position += 1
    return position


OVERLOADS = (
    overload("matches(string, string) -> bool", _matches, metered=True),
    overload("(string).matches(string) -> bool", _matches, metered=True),
    overload("(string).find(string) -> string", _find, metered=True),
    overload("(string).findAll(string) -> list(string)", _find_all, metered=True),
    overload("(string).findAll(string, int) -> list(string)", _find_all, metered=True),
)
