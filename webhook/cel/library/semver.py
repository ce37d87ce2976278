"""Semantic versions (apiserver pkg/cel/library/semverlib.go over github.com/blang/semver/v4)."""

from __future__ import annotations

import re
from typing import Any

from webhook.cel import types
from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.text import quote_go
from webhook.cel.values import INT_MAX, UINT_MAX, Opaque

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9-]+", re.ASCII)


class Semver(Opaque):
    """A version; numeric parts of a pre-release come before words, and a release comes after its pre-releases."""

    __slots__ = ("build", "numbers", "pre")
    cel_type = types.SEMVER
    may_be_key = False

    def __init__(self, numbers: tuple[int, ...], pre: tuple[int | str, ...], build: tuple[str, ...]) -> None:
        self.numbers, self.pre, self.build = numbers, pre, build

    @property
    def rank(self) -> tuple[Any, ...]:
        """Return what versions are ordered by; the build does not count."""
        return self.numbers, not self.pre, tuple((type(part) is str, part) for part in self.pre)

    def equals(self, other: Any) -> bool:
        """Compare without the build."""
        return bool(self.rank == other.rank)

    def __str__(self) -> str:
        text = ".".join(map(str, self.numbers))
        text += f"-{'.'.join(map(str, self.pre))}" if self.pre else ""
        return text + (f"+{'.'.join(self.build)}" if self.build else "")


def _refused(why: str, text: str = "") -> EvaluationError:
    return EvaluationError(f"{why} {quote_go(text)}" if text else why, "parse")


def _read_number(text: str, name: str) -> int:
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax', "parse")
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name.lower()} number {quote_go(text)}", "parse")
    if len(text) > 1 and text[0] == "0":
        raise _refused(f"{name} number must not contain leading zeroes", text)
    return _read_uint(text)


def _read_uint(text: str) -> int:
    if len(text) > 20 or int(text) > UINT_MAX:
        raise EvaluationError(f"strconv.ParseUint: parsing {quote_go(text)}: value out of range", "parse")
    return int(text)


def _read_pre(text: str) -> int | str:
    if not text:
        raise _refused("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise _refused("Numeric PreRelease version must not contain leading zeroes", text)
        return _read_uint(text)
    if not _WORD.fullmatch(text):
        raise _refused("Invalid character(s) found in prerelease", text)
    return text


def _read_build(text: str) -> str:
    if not text:
        raise _refused("Build meta data is empty")
    if not _WORD.fullmatch(text):
        raise _refused("Invalid character(s) found in build meta data", text)
    return text


def _parse(text: str) -> Semver:
    if not text:
        raise _refused("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise _refused("No Major.Minor.Patch elements found")
    major, minor = _read_number(parts[0], "Major"), _read_number(parts[1], "Minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    number = _read_number(patch, "Patch")
    read_pre = tuple(_read_pre(part) for part in pre.split(".")) if dash else ()
    return Semver((major, minor, number), read_pre, tuple(_read_build(part) for part in build.split(".")) if plus else ())


def _normalize(text: str) -> str:
    """Drop a ``v`` and leading zeros, and fill up short versions."""
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[position] = short if short and short[0] in "0123456789" else f"0{short}"
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise _refused("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3] if len(parts) < 3 else parts)


def _semver(text: str, normalize: bool = False) -> Semver:
    return _parse(_normalize(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _compare(left: Semver, right: Semver) -> int:
    return (left.rank > right.rank) - (left.rank < right.rank)


def _signed(number: int) -> int:
    """Convert a uint64 to the int that Go's conversion makes of it."""
    return number if number <= INT_MAX else number - 2**64


OVERLOADS = (
    overload("semver(string) -> semver", _semver),
    overload("semver(string, bool) -> semver", _semver),
    overload("isSemver(string) -> bool", _is_semver),
    overload("isSemver(string, bool) -> bool", _is_semver),
    overload("(semver).isGreaterThan(semver) -> bool", lambda left, right: _compare(left, right) > 0),
    overload("(semver).isLessThan(semver) -> bool", lambda left, right: _compare(left, right) < 0),
    overload("(semver).compareTo(semver) -> int", _compare),
    overload("(semver).major() -> int", lambda version: _signed(version.numbers[0])),
    overload("(semver).minor() -> int", lambda version: _signed(version.numbers[1])),
    overload("(semver).patch() -> int", lambda version: _signed(version.numbers[2])),
)
