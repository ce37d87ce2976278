"""Documents as plain JSON in one pass over libyaml's events: nearly every manifest, at hardly more than the events cost.

Nothing is decided here that ``nodes`` would decide differently: whatever is out of the ordinary (an anchor, an alias, a tag,
a merge key, a duplicate key, deep nesting, a number that JSON cannot say, what is no YAML at all) ends the reading, and it is
for ``nodes`` to take the file or to say what is wrong with it, and where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from webhook.policies.nodes import DEPTH_LIMIT, BrokenSource, key_text, open_events, source_text
from webhook.policies.scalars import Scalar, resolve_plain


class PlainDocument(NamedTuple):
    """One document of a file; ``number`` counts from 0, empty documents included."""

    number: int
    line: int
    value: Any
    item_lines: list[int]
    """Lines of the entries of ``items``, which is where a List has its objects."""


def read_plain(raw: bytes, path: str) -> list[PlainDocument] | None:
    """Return the documents of a YAML or JSON text that are not empty; None where ``read_documents`` must be asked."""
    try:
        return [document for document in _Reader(source_text(raw, path)).documents() if document.value is not None]
    except (_UnusualError, BrokenSource, yaml.YAMLError, ValueError):
        return None


class _UnusualError(Exception):
    """Something that is read strictly or not at all."""


class _Reader:
    """Reads values from events, without keeping more of them than that."""

    def __init__(self, text: str) -> None:
        self._next: Callable[[], Any] = open_events(text).get_event
        self._scalars: dict[str, Scalar] = {}
        self._keys: dict[str, str] = {}
        self._item_lines: list[int] = []

    def documents(self) -> Iterator[PlainDocument]:
        """Yield every document."""
        number = 0
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                root, self._item_lines = self._next(), []
                yield PlainDocument(number, root.start_mark.line + 1, self._value(root, 0), self._item_lines)
                number += 1

    def _value(self, event: Any, depth: int) -> Any:
        if event.anchor or depth > DEPTH_LIMIT:  # an alias has an anchor too
            raise _UnusualError
        kind = type(event)
        if kind is yaml.ScalarEvent:
            return self._scalar(event)
        if event.tag is not None:
            raise _UnusualError
        return self._mapping(depth) if kind is yaml.MappingStartEvent else self._sequence(depth)

    def _scalar(self, event: Any) -> Scalar:
        if event.tag is not None:
            raise _UnusualError
        text: str = event.value
        if not event.implicit[0]:
            return text
        try:
            return self._scalars[text]
        except KeyError:
            value = self._scalars[text] = resolve_plain(text)
            return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        following, keys, texts = self._next, self._keys, yaml.ScalarEvent
        while type(event := following()) is not yaml.MappingEndEvent:
            if type(event) is not texts or event.anchor or event.tag is not None:
                raise _UnusualError
            key = event.value
            if event.implicit[0]:
                key = keys.get(key) or self._key(event)
            if key in found:
                raise _UnusualError
            event = following()
            if key == "items" and not depth and type(event) is yaml.SequenceStartEvent:
                found[key] = self._items(event)
            else:
                found[key] = self._value(event, depth + 1)
        return found

    def _key(self, event: Any) -> str:
        text: str = event.value
        if text == "<<":
            raise _UnusualError
        key = self._keys[text] = key_text(event)
        return key

    def _sequence(self, depth: int) -> list[Any]:
        found = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            found.append(self._value(event, depth + 1))
        return found

    def _items(self, start: Any) -> list[Any]:
        """Read the entries of the document's ``items``, and note their lines."""
        if start.anchor or start.tag is not None:
            raise _UnusualError
        found = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            self._item_lines.append(event.start_mark.line + 1)
            found.append(self._value(event, 2))
        return found
