"""Patterns that Python's own engine answers just as RE2 does, and in linear time: those of most labels and names.

They begin with ``^`` and are a row of ASCII characters and classes, each with a repetition or none. What may repeat has no
character in common with what may follow, so there is one way to read a text, and nothing is ever given back. Asking RE2 costs
five times as much, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

_PART = re.compile(
    r"(\\[.-]|[A-Za-z0-9_/:-]|\[-?(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_./:])+-?\])([*+?]|\{[0-9]{1,2}(?:,[0-9]{0,2})?\})?"
)
_PATTERN = re.compile(rf"\^((?:{_PART.pattern})+)(\$?)")
_RANGE = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")
_TIMES = {"": (1, 1), "*": (0, None), "+": (1, None), "?": (0, 1)}


class _Part(NamedTuple):
    characters: frozenset[str]
    least: int
    is_fixed: bool
    source: str


def compile_plain(pattern: str) -> re.Pattern[str] | None:
    """Return what ``match`` is asked of in place of RE2, for a pattern that RE2 compiles; None: RE2 it must be."""
    found = _PATTERN.fullmatch(pattern)
    if found is None:
        return None
    parts = [_read(*part.groups("")) for part in _PART.finditer(found[1])]
    if not all(part.is_fixed or _is_apart(part, parts[place:]) for place, part in enumerate(parts, 1)):
        return None
    return re.compile("".join(part.source for part in parts) + (r"\Z" if pattern.endswith("$") else ""))


def _read(characters: str, times: str) -> _Part:
    least, most = _TIMES[times] if times in _TIMES else _bounds(times)
    possessive = f"{characters}{times}+" if times else characters
    return _Part(_members(characters), least, least == most, possessive)


def _bounds(times: str) -> tuple[int, int | None]:
    low, comma, high = times.strip("{}").partition(",")
    return int(low), int(high or low) if high or not comma else None


def _members(characters: str) -> frozenset[str]:
    if not characters.startswith("["):
        return frozenset(characters[-1])
    inner = characters[1:-1]
    ranges = (chr(code) for first, last in _RANGE.findall(inner) for code in range(ord(first), ord(last) + 1))
    return frozenset(ranges).union(_RANGE.sub("", inner))


def _is_apart(part: _Part, rest: Sequence[_Part]) -> bool:
    """Tell whether a part has no character in common with what may come next: all up to the first that must come."""
    optional = [*takewhile(lambda other: other.least == 0, rest)]
    return all(part.characters.isdisjoint(other.characters) for other in rest[: len(optional) + 1])
