"""Values of literals as they are written: numbers, text with its escapes, bytes (cel-go parser/unescape.go)."""

from __future__ import annotations

import re
from typing import Any

from webhook.cel import types
from webhook.cel.types import Type
from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_ESCAPE = re.compile(
    r"\\(?:[xX](?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<o>[0-3][0-7]{2})|(?P<c>.))", re.DOTALL
)
_BYTE_ESCAPE = re.compile(rb"\\(?:[xX](?P<x>[0-9a-fA-F]{2})|(?P<o>[0-3][0-7]{2})|(?P<c>.))", re.DOTALL)
_SIMPLE = dict(zip("abfnrtv\"'\\?`", "\a\b\f\n\r\t\v\"'\\?`", strict=True))


def _joined(text: str) -> str:
    """Take out the space that may stand behind the sign of a number."""
    return f"-{text[1:].lstrip()}" if text.startswith("-") else text


def read_int(text: str) -> int:
    """Read an int literal; raises ValueError out of the range of int64."""
    text = _joined(text)
    value = int(text, 16 if "x" in text else 10) if len(text) < 400 else INT_MAX + 1
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def read_uint(text: str) -> UInt:
    """Read a uint literal; raises ValueError out of the range of uint64."""
    digits = text[:-1]
    value = int(digits, 16 if "x" in digits else 10) if len(text) < 400 else -1
    if not 0 <= value <= UINT_MAX:
        raise ValueError("invalid uint literal")
    return UInt(value)


def read_double(text: str) -> float:
    """Read a double literal; raises ValueError where it is too large, as Go's ParseFloat does."""
    value = float(_joined(text))
    if value in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return value


def read_text(text: str) -> str:
    """Read a string literal with its quotes and prefix."""
    body, raw = _strip(text)
    return body if raw else _ESCAPE.sub(_unescape, body)


def read_bytes(text: str) -> bytes:
    r"""Read a bytes literal; ``\u`` is not allowed in it and ``\x`` is one byte, not one character."""
    body, raw = _strip(text[1:])
    if raw:
        return body.encode()
    if re.search(r"(?<!\\)(?:\\\\)*\\[uU]", body):
        raise ValueError("unable to unescape string")
    return _BYTE_ESCAPE.sub(_unescape_byte, body.encode())


def _strip(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    quotes = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    return body[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n"), raw


def _unescape(match: re.Match[str]) -> str:
    code = match["x"] or match["u"] or match["U"]
    if code or match["o"]:
        point = int(code, 16) if code else int(match["o"], 8)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise ValueError("invalid unicode code point")
        return chr(point)
    return _SIMPLE[match["c"]]


def _unescape_byte(match: re.Match[bytes]) -> bytes:
    if match["x"] or match["o"]:
        return bytes([int(match["x"], 16) if match["x"] else int(match["o"], 8)])
    return _SIMPLE[match["c"].decode("latin-1")].encode()


_READERS: dict[str, tuple[Any, Type]] = {
    "INT_LIT": (read_int, types.INT),
    "UINT_LIT": (read_uint, types.UINT),
    "FLOAT_LIT": (read_double, types.DOUBLE),
    "STRING_LIT": (read_text, types.STRING),
    "MLSTRING_LIT": (read_text, types.STRING),
    "BYTES_LIT": (read_bytes, types.BYTES),
    "BOOL_LIT": (lambda text: text == "true", types.BOOL),
    "NULL_LIT": (lambda _: None, types.NULL),
}


def read_literal(terminal: str, text: str) -> tuple[Any, Type]:
    """Return value and type of a literal by the name of its terminal; raises ValueError where it has no value."""
    read, type_ = _READERS[terminal]
    return read(text), type_
