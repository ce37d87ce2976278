"""Functions of URLs (apiserver pkg/cel/library/urls.go)."""

from __future__ import annotations

from webhook.cel.budget import Budget
from webhook.cel.declare import overload
from webhook.cel.urls import Url, UrlError, check_request_uri, read_url


def _url(budget: Budget, text: str) -> Url:
    budget.spend_text(len(text))
    return read_url(text)


def _is_url(budget: Budget, text: str) -> bool:
    budget.spend_text(len(text))
    try:
        check_request_uri(text)
    except UrlError:
        return False
    return True


OVERLOADS = (
    overload("url(string) -> url", _url, metered=True),
    overload("(url).getScheme() -> string", lambda url: url.parts.scheme),
    overload("(url).getHost() -> string", lambda url: url.parts.host),
    overload("(url).getHostname() -> string", lambda url: url.host_and_port()[0]),
    overload("(url).getPort() -> string", lambda url: url.host_and_port()[1]),
    overload("(url).getEscapedPath() -> string", Url.escaped_path),
    overload("(url).getQuery() -> map(string, list(string))", Url.query_values),
    overload("isURL(string) -> bool", _is_url, metered=True),
)
