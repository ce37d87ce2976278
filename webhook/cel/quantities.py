"""Kubernetes quantities: ``1.5Gi``, ``100m``, ``1e3`` (apimachinery pkg/api/resource/quantity.go).

A value is an exact number of billionths. Beside it stands what Go keeps for small ones, an int64 and a power of ten: whether
there is one decides about ``isInteger`` and ``asInteger``, and only in that way.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from webhook.cel import types
from webhook.cel.errors import EvaluationError, no_overload
from webhook.cel.values import INT_MAX, INT_MIN, Opaque

Format: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_PARTS = re.compile(r"([+-]?)0*+([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII)
"""Possessive, so that a long text that does not match takes linear time."""
_DECIMAL = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}
_BINARY_NAMES = {power: name for name, power in _BINARY.items()} | {0: ""}
_DIGITS = 18
"""Most decimal digits that Go trusts to fit an int64 (maxInt64Factors)."""
_LARGEST_EXPONENT = 2_000
"""Go would compute 10**exponent for any exponent; a number of more digits than this is an error here."""
_BILLION = 10**9
_SHORT = 32
_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class Small(NamedTuple):
    """``value * 10**scale``, with a value that fits in an int64."""

    value: int
    scale: int


class Quantity(Opaque):
    """A quantity. ``is_derived`` marks results of ``add`` and ``sub``: Go returns a pointer there, which is equal to nothing.

    ``decimals`` is the scale of Go's big decimal where there is no small value; only a double made of it depends on that.
    """

    __slots__ = ("decimals", "format", "is_derived", "nano", "small", "text")
    cel_type = types.QUANTITY
    is_pointer = True

    def __init__(
        self, nano: int, small: Small | None, format_: Format, *, text: str = "", is_derived: bool = False, decimals: int = 9
    ) -> None:
        self.nano, self.small, self.format, self.text, self.is_derived = nano, small, format_, text, is_derived
        self.decimals = decimals if small is None else -small.scale

    def equals(self, other: Any) -> bool:
        """Compare by value; raises EvaluationError for a result of ``add`` or ``sub`` on the right, as the API server does."""
        if other.is_derived:
            raise no_overload()
        return bool(self.nano == other.nano)

    def __str__(self) -> str:
        return self.text or _canonical(self)


def parse_quantity(text: str) -> Quantity:
    """Read a quantity; raises EvaluationError."""
    return parse_short(text) if len(text) <= _SHORT else _parse(text)


@lru_cache(maxsize=1024)
def parse_short(text: str) -> Quantity:
    """Read a quantity whose text is short enough to be kept: the containers of a job ask for the same few over and over."""
    return _parse(text)


def _parse(text: str) -> Quantity:
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise EvaluationError(_WRONG, "parse")
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    power, format_ = _read_suffix(suffix)
    whole = whole or "0"
    small = _read_small(whole, fraction, power, format_)
    if small is not None:
        value = -small.value if sign == "-" else small.value
        kept = _is_canonical(small.value, whole + fraction, small.scale, power, format_)
        nano = value * 10 ** (small.scale + 9)
        return Quantity(nano, Small(value, small.scale), format_, text=text if kept else "")
    if not any(character.isdigit() for character in text.removesuffix(suffix)):
        raise EvaluationError("unable to parse numeric part of quantity", "parse")
    return _read_large(sign, whole, fraction, power, format_)


def _read_suffix(suffix: str) -> tuple[int, Format]:
    """Return the power (of ten, or of two for binary ones) and the format."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return _BINARY[suffix], "BinarySI"
    if suffix[:1] in ("e", "E") and re.fullmatch(r"[+-]?0*[0-9]{1,19}", suffix[1:], re.ASCII):
        power = int(suffix[1:])
        if INT_MIN <= power <= INT_MAX:
            return (power + 2**31) % 2**32 - 2**31, "DecimalExponent"  # an int32 (suffix.go, interpret)
    raise EvaluationError("unable to parse quantity's suffix", "parse")


def _read_small(whole: str, fraction: str, power: int, format_: Format) -> Small | None:
    """Read what Go's fast path reads; None for what it leaves to big numbers."""
    if format_ == "BinarySI":
        if fraction or 15 - len(whole) - int(power * 3 / 10) - 1 < 0:
            return None
        value = int(whole) << power
        return Small(value, 0) if value <= INT_MAX else None
    scale = power - len(fraction)
    if len(whole) + len(fraction) > _DIGITS or scale < -9 or scale > _LARGEST_EXPONENT:
        return None
    return Small(int(whole + fraction), scale)


def _is_canonical(value: int, digits: str, scale: int, power: int, format_: Format) -> bool:
    if format_ == "BinarySI":
        return power % 10 == 0 and (value >> power) & 7 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _read_large(sign: str, whole: str, fraction: str, power: int, format_: Format) -> Quantity:
    number = int((whole + fraction)[:4_000] or "0")
    if len(whole) + len(fraction) > 4_000 or power > _LARGEST_EXPONENT:
        raise EvaluationError("quantities of thousands of digits are not supported", "range")
    if format_ == "BinarySI":
        nano = _round_up(number * 2**power * _BILLION, len(fraction))
        if nano > INT_MAX * _BILLION:
            return Quantity(INT_MAX * _BILLION * (-1 if sign == "-" else 1), None, format_, decimals=0)
        if 0 < nano < _BILLION:
            format_ = "DecimalSI"
    else:
        shift = power - len(fraction) + 9
        nano = number * 10**shift if shift >= 0 else _round_up(number, -shift)
    return Quantity(-nano if sign == "-" else nano, None, format_)


def _round_up(number: int, digits: int) -> int:
    """Divide by ``10**digits``; what is left over counts as one: who asks for a little gets a little."""
    if digits > 4_100:
        return 1 if number else 0
    scale: int = 10**digits
    return -(-number // scale)


def is_integer(quantity: Quantity) -> int | None:
    """Return the value as an int where Go's fast path can, else None: ``1000m`` is no integer to it."""
    if quantity.small is None or quantity.small.scale < 0:
        return None
    value = quantity.small.value * 10**quantity.small.scale
    return value if INT_MIN <= value <= INT_MAX else None


def approximate(quantity: Quantity) -> float:
    """Return a double near the value."""
    try:
        if quantity.small is None:
            value, scale = quantity.nano // 10 ** (9 - quantity.decimals), -quantity.decimals
        else:
            value, scale = quantity.small
        return float(value) if scale == 0 else float(value) * float(f"1e{scale}")
    except OverflowError:
        return float("inf") if quantity.nano > 0 else float("-inf")


def combine(left: Quantity, right: Quantity, sign: int) -> Quantity:
    """Add, or subtract where ``sign`` is -1."""
    format_ = right.format if left.nano == 0 else left.format
    small = _combine_small(left.small, right.small, sign) if left.small is not None and right.small is not None else None
    nano = left.nano + sign * right.nano if small is None else small.value * 10 ** (small.scale + 9)
    return Quantity(nano, small, format_, is_derived=True, decimals=max(left.decimals, right.decimals))


def _combine_small(left: Small, right: Small, sign: int) -> Small | None:
    added = sign * right.value if right.value != INT_MIN else INT_MIN  # which Go negates to itself (amount.go, Sub)
    if added == 0:
        return left
    if left.value == 0:
        return Small(added, right.scale)
    scale = min(left.scale, right.scale)
    first, second = left.value * 10 ** (left.scale - scale), added * 10 ** (right.scale - scale)
    if all(INT_MIN <= value <= INT_MAX for value in (first, second, first + second)):
        return Small(first + second, scale)
    return None


def _canonical(quantity: Quantity) -> str:
    """Write a quantity as the API server would (CanonicalizeBytes)."""
    nano, format_ = quantity.nano, quantity.format
    if nano == 0:
        return "0"
    if format_ == "BinarySI" and (abs(nano) < 1024 * _BILLION or nano % _BILLION):
        format_ = "DecimalSI"
    if format_ == "BinarySI":
        value, power = nano // _BILLION, 0
        while value % 1024 == 0:
            value, power = value // 1024, power + 10
        return f"{value}{_BINARY_NAMES.get(power, '')}"
    exponent = -9
    while nano % 10 == 0:
        nano, exponent = nano // 10, exponent + 1
    while exponent % 3:
        nano, exponent = nano * 10, exponent - 1
    if format_ == "DecimalSI":
        return f"{nano}{_DECIMAL_NAMES.get(exponent, '')}"
    return f"{nano}e{exponent}" if exponent else str(nano)
