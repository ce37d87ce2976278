"""Kubernetes' named formats: ``format.dns1123Label().validate(x)`` (apiserver pkg/cel/library/format.go).

The messages are those of apimachinery pkg/util/validation and pkg/api/validate/content, as users know them from the API server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from webhook.cel import types
from webhook.cel.declare import overload
from webhook.cel.text import to_utf8
from webhook.cel.urls import UrlError, check_request_uri
from webhook.cel.values import NONE, Opaque, Optional

_DNS_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_1123}(\.{_DNS_1123})*"
_DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_DNS_1035_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_WORDS = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)


def _too_long(text: str, limit: int, unit: str = "characters") -> list[str]:
    """Check the length in bytes; the two packages of apimachinery have different words for it."""
    return [f"must be no more than {limit} {unit}"] if len(to_utf8(text)) > limit else []


def _regex_error(words: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def _is_match(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _label(text: str) -> list[str]:
    errors = _too_long(text, 63)
    if not _is_match(_DNS_1123, text):
        dotted = _is_match(_SUBDOMAIN, text)
        errors.append("must not contain dots" if dotted else _regex_error(_LABEL_WORDS, _DNS_1123, "my-name", "123-abc"))
    return errors


def _subdomain(text: str, unit: str = "characters") -> list[str]:
    errors = _too_long(text, 253, unit)
    if not _is_match(_SUBDOMAIN, text):
        errors.append(_regex_error(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com"))
    return errors


def _dns_1035(text: str) -> list[str]:
    errors = _too_long(text, 63)
    if not _is_match(_DNS_1035, text):
        errors.append(_regex_error(_DNS_1035_WORDS, _DNS_1035, "my-name", "abc-123"))
    return errors


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Check what comes before generated letters: a dash at the end is fine (apimachinery's maskTrailingDash)."""
    return lambda text: check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    expected = _regex_error(_KEY_WORDS, _KEY, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return [f"a valid label key {expected} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors: list[str] = []
    if len(parts) == 2:
        found = _subdomain(parts[0], "bytes") if parts[0] else ["must be non-empty"]
        errors += [f"prefix part {error}" for error in found]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {error}" for error in _too_long(name, 63, "bytes")]
    if not _is_match(_KEY, name):
        errors.append(f"name part {expected}")
    return errors


def _label_value(text: str) -> list[str]:
    errors = _too_long(text, 63, "bytes")
    if not _is_match(_VALUE, text):
        errors.append(_regex_error(_VALUE_WORDS, _VALUE, "MyValue", "my_value", "12345"))
    return errors


def _uri(text: str) -> list[str]:
    try:
        check_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    try:
        date(int(match[1]) or 4, int(match[2]), int(match[3]))  # year 0, which Go knows, was a leap year
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _check(message: str, is_right: Callable[[str], bool]) -> Callable[[str], list[str]]:
    return lambda text: [] if is_right(text) else [message]


class Format(Opaque):
    """A named format."""

    __slots__ = ("check", "name")
    cel_type = types.NAMED_FORMAT
    may_be_key = False

    def __init__(self, name: str, check: Callable[[str], list[str]]) -> None:
        self.name, self.check = name, check

    def equals(self, other: Any) -> bool:
        """Compare by name."""
        return bool(self.name == other.name)

    def __str__(self) -> str:
        return self.name


FORMATS: Mapping[str, Format] = {
    "dns1123Label": Format("DNS1123Label", _label),
    "dns1123Subdomain": Format("DNS1123Subdomain", _subdomain),
    "dns1035Label": Format("DNS1035Label", _dns_1035),
    "qualifiedName": Format("QualifiedName", _qualified_name),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(_label)),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(_subdomain)),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(_dns_1035)),
    "labelValue": Format("LabelValue", _label_value),
    "uri": Format("URI", _uri),
    "uuid": Format("uuid", _check("does not match the UUID format", lambda text: _UUID.fullmatch(text) is not None)),
    "byte": Format("byte", _check("invalid base64", lambda text: _BASE64.fullmatch(text) is not None)),
    "date": Format("date", _check("invalid date", _is_date)),
    "datetime": Format("datetime", _check("invalid datetime", _is_date_time)),
}


def _validate(format_: Format, text: str) -> Optional:
    errors = format_.check(text)
    return Optional(errors) if errors else NONE


def _named(name: str) -> Optional:
    return Optional(FORMATS[name]) if name in FORMATS else NONE


def _constant(format_: Format) -> Callable[[], Format]:
    return lambda: format_


OVERLOADS = (
    *(overload(f"format.{name}() -> format", _constant(format_)) for name, format_ in FORMATS.items()),
    overload("format.named(string) -> optional(format)", _named),
    overload("(format).validate(string) -> optional(list(string))", _validate),
)
