"""The function of mutation: keys as parts of a JSON pointer (apiserver pkg/cel/library/jsonpatch.go)."""

from __future__ import annotations

from webhook.cel.declare import overload


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


OVERLOADS = (overload("jsonpatch.escapeKey(string) -> string", _escape_key),)
