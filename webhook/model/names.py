"""The API's rules for names, each as a test that returns what is wrong, or nothing.

Sources: apimachinery pkg/util/validation/validation.go; kubernetes pkg/apis/admissionregistration/validation.
"""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_QUALIFIED = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
        "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_VERSION = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")


def wrong_subdomain(name: str) -> str:
    """Test a DNS-1123 subdomain, which most objects' names are."""
    if len(name) <= 253 and _DNS_SUBDOMAIN.fullmatch(name):
        return ""
    return f'"{name}" is not a name: use lower case letters, digits, "-" and ".", at most 253, a letter or digit at both ends'


def wrong_label(name: str) -> str:
    """Test a DNS-1123 label."""
    if len(name) <= 63 and _DNS_LABEL.fullmatch(name):
        return ""
    return f'"{name}" is not a name: use lower case letters, digits and "-", at most 63, a letter or digit at both ends'


def wrong_path_segment(name: str) -> str:
    """Test what may stand in a URL path, the loosest rule of names."""
    bad = name in (".", "..") or "/" in name or "%" in name
    return f'"{name}" cannot be a name: "/", "%", "." and ".." are not allowed' if bad else ""


def wrong_qualified_name(name: str) -> str:
    """Test a label key or the name of a match condition."""
    prefix, slash, bare = name.rpartition("/")
    if len(bare) <= 63 and _QUALIFIED.fullmatch(bare) and (not slash or not wrong_subdomain(prefix)):
        return ""
    return f'"{name}" is not a qualified name: use letters, digits, "-", "_" and ".", at most 63, after an optional "domain/"'


def wrong_label_value(value: str) -> str:
    """Test a label value."""
    if not value or (len(value) <= 63 and _QUALIFIED.fullmatch(value)):
        return ""
    return f'"{value}" is not a label value: use letters, digits, "-", "_" and ".", at most 63, a letter or digit at both ends'


def wrong_identifier(name: str) -> str:
    """Test the name of a CEL variable."""
    return "" if _IDENTIFIER.fullmatch(name) and name not in _RESERVED else f'"{name}" must be a valid CEL identifier'


def wrong_api_version(api_version: str) -> str:
    """Test ``group/version`` or ``version``."""
    group, _, version = api_version.rpartition("/")
    good = _VERSION.fullmatch(version) and (not group or not wrong_subdomain(group))
    return "" if good else f'"{api_version}" is not an apiVersion: write "group/version", or "v1" for the core group'
