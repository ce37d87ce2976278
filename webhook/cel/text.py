"""Text as bytes. Go's strings are UTF-8; JSON may carry half of a surrogate pair, which is not, and Go reads as U+FFFD."""

from __future__ import annotations


def to_utf8(text: str) -> bytes:
    """Encode text; halves of surrogate pairs become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def quote_go(text: str) -> str:
    """Put text in quotes as Go's ``%q`` does: what does not print is escaped."""
    return f'"{"".join(map(_escape, text))}"'


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "�"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
