"""URLs as Go's net/url reads and writes them (net/url/url.go of Go 1.26), down to the words of its errors.

Python's urllib accepts nearly everything; a policy that trusts ``isURL`` must refuse what the API server refuses.
"""

from __future__ import annotations

import re
import string
from typing import Any, NamedTuple

from webhook.cel import types
from webhook.cel.errors import EvaluationError
from webhook.cel.networks import AddressError, parse_address
from webhook.cel.text import quote_go, to_utf8
from webhook.cel.values import Opaque

_LETTERS = string.ascii_letters + string.digits
_HOST = frozenset(_LETTERS + "!\"$&'()*+,-.:;<=>[]_~")
_PATH = frozenset(_LETTERS + "$&+,-./:;=@_~")
_QUERY = frozenset(_LETTERS + "-._~")
_USER = frozenset(_LETTERS + "$&+,-.;=_~")
_FRAGMENT = frozenset(_LETTERS + "!$&()*+,-./:;=?@_~")
_USER_INFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_KEPT_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@\[\]%/]*")
_KEPT_FRAGMENT = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@\[\]%/?]*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+\-.]*):")
_PORT = re.compile(r"(:[0-9]*)?")


class UrlError(ValueError):
    """Text that is no URL; its message is Go's."""


class _Parts(NamedTuple):
    scheme: str
    opaque: str
    user: str | None
    host: str
    path: str
    raw_path: str
    query: str | None
    omits_host: bool


class Url(Opaque):
    """A URL, taken apart."""

    __slots__ = ("fragment", "parts", "raw_fragment")
    cel_type = types.URL
    is_pointer = True

    def __init__(self, parts: _Parts, fragment: str, raw_fragment: str) -> None:
        self.parts, self.fragment, self.raw_fragment = parts, fragment, raw_fragment

    def equals(self, other: Any) -> bool:
        """Compare as text."""
        return str(self) == str(other)

    def __str__(self) -> str:
        parts = self.parts
        text = f"{parts.scheme}:" if parts.scheme else ""
        text += parts.opaque or self._hierarchy(has_scheme=bool(text))
        if parts.query is not None:
            text += f"?{parts.query}"
        return f"{text}#{self._escaped_fragment()}" if self.fragment else text

    def _hierarchy(self, *, has_scheme: bool) -> str:
        parts, text = self.parts, ""
        if (has_scheme or parts.host or parts.user is not None) and not (
            parts.omits_host and not parts.host and parts.user is None
        ):
            if parts.host or parts.path or parts.user is not None:
                text = "//"
            if parts.user is not None:
                text += f"{parts.user}@"
            text += _escape(parts.host, _HOST)
        path = self.escaped_path()
        if path and path[0] != "/" and parts.host:
            text += "/"
        if not text and not has_scheme and ":" in path.partition("/")[0]:
            text += "./"
        return text + path

    def _escaped_fragment(self) -> str:
        kept = self.raw_fragment and _KEPT_FRAGMENT.fullmatch(self.raw_fragment)
        return self.raw_fragment if kept else _escape(self.fragment, _FRAGMENT)

    def escaped_path(self) -> str:
        """Return the path as it was written, if that is one of its right spellings."""
        raw, path = self.parts.raw_path, self.parts.path
        if raw and _KEPT_PATH.fullmatch(raw) and _unescape(raw, "path") == path:
            return raw
        return "*" if path == "*" else _escape(path, _PATH)

    def host_and_port(self) -> tuple[str, str]:
        """Split the host, without the brackets of an IPv6 address."""
        host, colon, port = self.parts.host.rpartition(":")
        if not colon or not _PORT.fullmatch(f":{port}"):
            host, port = self.parts.host, ""
        return (host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host), port

    def query_values(self) -> dict[str, list[str]]:
        """Read the query; pairs that cannot be read are left out, as Go's ``Query`` does."""
        found: dict[str, list[str]] = {}
        for pair in (self.parts.query or "").split("&"):
            if ";" in pair or not pair:
                continue
            key, _, value = pair.partition("=")
            try:
                name, content = _unescape(key, "query"), _unescape(value, "query")
            except UrlError:
                continue
            found.setdefault(name, []).append(content)
        return found


def read_url(text: str) -> Url:
    """Read a URL as the API server's ``url()`` does; raises EvaluationError."""
    try:
        check_request_uri(text)
        body, _, fragment = text.partition("#")
        try:
            parts = _parse(body, via_request=False)
        except UrlError as error:
            raise _refused(body, error) from error
        try:
            plain = _unescape(fragment, "fragment")
        except UrlError as error:
            raise _refused(text, error) from error
        raw = fragment if _escape(plain, _FRAGMENT) != fragment else ""
        return Url(parts, plain, raw)
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}", "parse") from error


def check_request_uri(text: str) -> None:
    """Raise UrlError where Go's ``ParseRequestURI`` would refuse."""
    try:
        _parse(text, via_request=True)
    except UrlError as error:
        raise _refused(text, error) from error


def _refused(text: str, error: UrlError) -> UrlError:
    return UrlError(f"parse {quote_go(text)}: {error}")


def _parse(text: str, *, via_request: bool) -> _Parts:
    if any(character < " " or character == "\x7f" for character in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and via_request:
        raise UrlError("empty url")
    if text == "*":
        return _Parts("", "", None, "", "*", "", None, omits_host=False)
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme, rest = (match[1].lower(), text[match.end() :]) if match else ("", text)
    rest, mark, query_text = rest.partition("?")
    query = query_text if mark else None
    if mark and not query_text and "?" not in query_text:
        query = ""
    if not rest.startswith("/"):
        if scheme:
            return _Parts(scheme, rest, None, "", "", "", query, omits_host=False)
        if via_request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    return _parse_hierarchy(scheme, rest, query, via_request=via_request)


def _parse_hierarchy(scheme: str, rest: str, query: str | None, *, via_request: bool) -> _Parts:
    user, host, omits_host = None, "", False
    if (scheme or (not via_request and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _parse_authority(scheme, authority)
    elif scheme and rest.startswith("/"):
        omits_host = True
    path = _unescape(rest, "path")
    raw_path = "" if _escape(path, _PATH) == rest else rest
    return _Parts(scheme, "", user, host, path, raw_path, query, omits_host)


def _parse_authority(scheme: str, authority: str) -> tuple[str | None, str]:
    info, at, name = authority.rpartition("@")
    host = _parse_host(scheme, name)
    if not at:
        return None, host
    if not _USER_INFO.fullmatch(info):
        raise UrlError("net/url: invalid userinfo")
    user, colon, password = info.partition(":")
    written = _escape(_unescape(user, "user"), _USER)
    if colon:
        written += f":{_escape(_unescape(password, 'user'), _USER)}"
    return written, host


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _parse_literal(host)
    colon = host.find(":")
    if colon >= 0:
        last = host.rfind(":")
        if last != colon and scheme not in ("http", "https"):
            colon = last
        if not _PORT.fullmatch(host[colon:]):
            raise UrlError(f"invalid port {quote_go(host[colon:])} after host")
    return _unescape(host, "host")


def _parse_literal(host: str) -> str:
    close = host.rfind("]")
    if close < 0:
        raise UrlError("missing ']' in host")
    port = host[close + 1 :]
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {quote_go(port)} after host")
    name, percent, zone = host[1:close].partition("%25")
    plain = _unescape(name, "host") + (_unescape(percent + zone, "zone") if percent else "")
    try:
        address = parse_address(plain)
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from error
    if address.family == 4:
        raise UrlError("invalid IP-literal")
    return f"[{plain}]{port}"


def _unescape(text: str, mode: str) -> str:
    """Undo percent signs; raises UrlError for those that are not allowed in this part of a URL."""
    encoded = to_utf8(text)
    made, position = bytearray(), 0
    while position < len(encoded):
        byte = encoded[position]
        if byte == 0x25:
            made.append(_read_escape(encoded[position : position + 3], mode))
            position += 3
            continue
        if mode in ("host", "zone") and byte < 0x80 and chr(byte) not in _HOST:
            raise UrlError(f"invalid character {quote_go(chr(byte))} in host name")
        made.append(0x20 if byte == 0x2B and mode == "query" else byte)
        position += 1
    return made.decode(errors="replace")


def _read_escape(escape: bytes, mode: str) -> int:
    if not re.fullmatch(rb"%[0-9a-fA-F]{2}", escape):
        raise UrlError(f"invalid URL escape {quote_go(escape.decode(errors='replace'))}")
    value = int(escape[1:], 16)
    if escape != b"%25":
        if mode == "host" and value < 0x80:
            raise UrlError(f"invalid URL escape {quote_go(escape.decode())}")
        if mode == "zone" and value != 0x20 and chr(value) not in _HOST:
            raise UrlError(f"invalid URL escape {quote_go(escape.decode())}")
    return value


def _escape(text: str, kept: frozenset[str]) -> str:
    return "".join(chr(byte) if chr(byte) in kept else f"%{byte:02X}" for byte in to_utf8(text))
