"""How Go prints numbers and values: the texts of error messages, ``string()`` and ``string.format`` depend on it."""

from __future__ import annotations

from math import isnan
from typing import Any

from webhook.cel.values import UInt


def show(value: Any) -> str:
    """Print a key or an index as Go's ``%v`` does."""
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float:
        return show_double(value)
    if type(value) is UInt:
        return str(int(value))
    return str(value)


def show_double(value: float) -> str:
    """Print a double as Go's ``FormatFloat(f, 'g', -1, 64)``: shortest digits, an exponent below 1e-4 and from 1e6 on."""
    if isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = f"{value!r}".partition("e")
    digits, power = _decompose(mantissa, int(exponent or 0))
    sign = "-" if value < 0 or mantissa.startswith("-") else ""
    if digits == "0":
        return f"{sign}0"
    if power < -4 or power >= 6:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole, part = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def _decompose(mantissa: str, exponent: int) -> tuple[str, int]:
    """Return the significant digits and the power of ten of the first one."""
    whole, _, part = mantissa.lstrip("-").partition(".")
    digits = (whole + part).lstrip("0")
    power = exponent + len(whole) - 1 - (len(whole + part) - len((whole + part).lstrip("0")))
    return digits.rstrip("0") or "0", power
