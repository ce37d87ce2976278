"""Functions of URLs (apiserver pkg/cel/library/urls.go)."""

from __future__ import annotations

from webhook.cel.declare import overload
from webhook.cel.urls import Url, UrlError, check_request_uri, read_url


def _is_url(text: str) -> bool:
    try:
        check_request_uri(text)
    except UrlError:
        return False
    return True


OVERLOADS = (
    overload("url(string) -> url", read_url),
    overload("(url).getScheme() -> string", lambda url: url.parts.scheme),
    overload("(url).getHost() -> string", lambda url: url.parts.host),
    overload("(url).getHostname() -> string", lambda url: url.host_and_port()[0]),
    overload("(url).getPort() -> string", lambda url: url.host_and_port()[1]),
    overload("(url).getEscapedPath() -> string", Url.escaped_path),
    overload("(url).getQuery() -> map(string, list(string))", Url.query_values),
    overload("isURL(string) -> bool", _is_url),
)
