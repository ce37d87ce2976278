"""Conversions between types: ``int(x)``, ``string(x)``, … (cel-go common/types/*.go, ConvertToType)."""

from __future__ import annotations

import re
from functools import lru_cache
from math import isnan
from typing import Any

from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError
from webhook.cel.show import show_double
from webhook.cel.times import (
    MAX_SECONDS,
    MIN_SECONDS,
    SECOND,
    overflow,
    parse_duration,
    parse_timestamp,
    show_duration,
    show_timestamp,
)
from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt

_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SAFE_DIGITS = 19
"""So many decimal digits and less fit an int64."""
_UINT = re.compile(r"[0-9]+", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?", re.ASCII)
_HEX_DOUBLE = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++", re.ASCII)
"""Possessive throughout: what gives nothing back takes linear time, also where a long text does not match in the end."""
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


def _failed(type_: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{type_}'", "conversion")


def _identity(value: Any) -> Any:
    return value


def text_to_int(text: str) -> int:
    """Read a decimal int."""
    if len(text) < _SAFE_DIGITS and text.isascii() and text.isdigit():
        return int(text)
    if len(text) > 400 or not _INT.fullmatch(text) or not INT_MIN <= int(text) <= INT_MAX:
        raise _failed("int")
    return int(text)


def _text_to_uint(text: str) -> UInt:
    if len(text) > 400 or not _UINT.fullmatch(text) or int(text) > UINT_MAX:
        raise _failed("uint")
    return UInt(text)


def text_to_double(text: str) -> float:
    """Read a double as Go's ParseFloat does: no blanks, no underscores, an infinity only by its name."""
    if "_" in text:
        text = _drop_underscores(text)
    word = text.lstrip("+-").lower()
    if len(text) - len(word) <= 1 and word in ("inf", "infinity"):
        return float(text)
    if word == "nan" and len(text) == 3:
        return float("nan")
    if _HEX_DOUBLE.fullmatch(text):
        return _finite(text, float.fromhex)
    if not _DOUBLE.fullmatch(text):
        raise _failed("double")
    return _finite(text, float)


def _drop_underscores(text: str) -> str:
    """Take out underscores that stand between digits; others leave no number."""
    digit = "[0-9a-fA-FxX]" if text.lstrip("+-")[:2] in ("0x", "0X") else "[0-9]"
    return re.sub(f"(?<={digit})_(?={digit})", "", text)


def _finite(text: str, read: Any) -> float:
    try:
        value = float(read(text))
    except OverflowError:
        value = float("inf")
    if value in (float("inf"), float("-inf")):
        raise _failed("double")
    return value


def _double_to_int(value: float) -> int:
    if isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow", "overflow")
    return int(value)


def _double_to_uint(value: float) -> UInt:
    if isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow", "overflow")
    return UInt(value)


def _uint_to_int(value: UInt) -> int:
    if value > INT_MAX:
        raise EvaluationError("integer overflow", "overflow")
    return int(value)


def _int_to_uint(value: int) -> UInt:
    if value < 0:
        raise EvaluationError("unsigned integer overflow", "overflow")
    return UInt(value)


def _int_to_timestamp(value: int) -> Timestamp:
    if not MIN_SECONDS <= value <= MAX_SECONDS:
        raise overflow()
    return Timestamp(value * SECOND)


def _bytes_to_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string", "conversion") from None


def _text_to_bool(text: str) -> bool:
    if text not in _TRUE and text not in _FALSE:
        raise _failed("bool")
    return text in _TRUE


def _text_to_duration(text: str) -> Duration:
    found = parse_duration(text)
    if found is None:
        raise _failed("google.protobuf.Duration")
    return found


def _text_to_timestamp(text: str) -> Timestamp:
    found = parse_timestamp(text)
    if found is None:
        raise _failed("google.protobuf.Timestamp")
    return found


OVERLOADS = (
    overload("bool(bool) -> bool", _identity),
    overload("bool(string) -> bool", _text_to_bool),
    overload("bytes(bytes) -> bytes", _identity),
    overload("bytes(string) -> bytes", lambda text: text.encode()),
    overload("double(double) -> double", _identity),
    overload("double(int) -> double", float),
    overload("double(string) -> double", text_to_double),
    overload("double(uint) -> double", float),
    overload("duration(duration) -> duration", _identity),
    overload("duration(string) -> duration", _text_to_duration),
    overload("dyn(A) -> dyn", _identity),
    overload("int(int) -> int", _identity),
    overload("int(double) -> int", _double_to_int),
    overload("int(duration) -> int", lambda duration: duration.nanoseconds),
    overload("int(string) -> int", text_to_int, kept=lru_cache(maxsize=1024)(text_to_int)),
    overload("int(timestamp) -> int", lambda timestamp: timestamp.nanoseconds // SECOND),
    overload("int(uint) -> int", _uint_to_int),
    overload("string(string) -> string", _identity),
    overload("string(bool) -> string", lambda value: "true" if value else "false"),
    overload("string(bytes) -> string", _bytes_to_text),
    overload("string(double) -> string", show_double),
    overload("string(duration) -> string", show_duration),
    overload("string(int) -> string", str),
    overload("string(timestamp) -> string", show_timestamp),
    overload("string(uint) -> string", lambda value: str(int(value))),
    overload("timestamp(timestamp) -> timestamp", _identity),
    overload("timestamp(int) -> timestamp", _int_to_timestamp),
    overload("timestamp(string) -> timestamp", _text_to_timestamp),
    overload("uint(uint) -> uint", _identity),
    overload("uint(double) -> uint", _double_to_uint),
    overload("uint(int) -> uint", _int_to_uint),
    overload("uint(string) -> uint", _text_to_uint),
)
