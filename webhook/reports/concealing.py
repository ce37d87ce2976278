"""Keep the data of Secrets out of reports: those go to logs of CI systems, to artifacts and to other people's screens.

A message may quote a value, as the API server's own errors do to whoever sent it, and JSON shows patched objects whole.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from webhook.model.objects import Kind, Object
from webhook.model.results import Result

HIDDEN = "(hidden)"
_SECRET = Kind("", "v1", "Secret")
_PART = 3
"""Shorter values are hidden where they stand alone: within other text they are everywhere by chance."""


def concealed(results: Iterable[Result]) -> Iterator[Result]:
    """Yield the results, those about Secrets without what is secret in them."""
    for result in results:
        yield _concealed(result) if Kind.of(result.object) == _SECRET else result


def _concealed(result: Result) -> Result:
    words = sorted(_words(result.object), key=len, reverse=True)  # the longest first: one may be a part of another
    return replace(
        result,
        finding=replace(result.finding, message=_without(result.finding.message, words)),
        patch=_without(result.patch, words),
        patched=_without(result.patched, words),
    )


def _words(secret: Object) -> set[str]:
    """Return the values of a Secret, in every form in which a message may quote them."""
    found: set[str] = set()
    for name in ("data", "stringData"):
        values = secret.get(name)
        for value in values.values() if isinstance(values, dict) else ():
            found |= _forms(value) if isinstance(value, str) else set()
    return found - {""}


def _forms(value: str) -> set[str]:
    forms = {value}
    with suppress(ValueError):  # no base64, or bytes that are no text
        forms.add(base64.b64decode(value, validate=True).decode())
    return forms | {json.dumps(one, ensure_ascii=ascii_only)[1:-1] for one in tuple(forms) for ascii_only in (True, False)}


def _without(value: Any, words: list[str]) -> Any:
    match value:
        case str():
            for word in words:
                value = value.replace(word, HIDDEN) if len(word) >= _PART or value == word else value
            return value
        case dict():
            return {key: _without(item, words) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_without(item, words) for item in value)
        case _:
            return value
