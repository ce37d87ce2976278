"""YAML and JSON as trees in which everything knows its line, read strictly and within bounds.

Built on libyaml's events: its own composer would expand aliases without limit and let the last of two equal keys win.
What a scalar means is in ``scalars``; JSON files are read as the YAML that they (nearly) are, for the sake of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from webhook.policies.scalars import Scalar, resolve_plain

DEPTH_LIMIT = 100
"""Deepest nesting. Kubernetes objects stay below 20, schemas in CRDs below 60; the API server's decoder takes 10,000."""
ALIAS_LIMIT = 10_000
"""Nodes that all aliases of a document may stand for. Anchors are rare in manifests; a bomb needs millions."""
_PREFIX = "tag:yaml.org,2002:"
_SURROGATES = re.compile(r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

try:
    from yaml import CSafeLoader as _Parser
except ImportError:  # a pyyaml built without libyaml: slower, the same events
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]  # the two have the same event interface


class BrokenSource(Exception):  # noqa: N818 - becomes a PolicyError or an InputError, depending on who must mend it
    """A text that cannot be read, with the place of the first thing wrong in it."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Node(NamedTuple):
    """A value with its place; ``value`` is a scalar, a list of nodes, or a mapping of nodes by key."""

    value: Any
    line: int
    column: int
    end_line: int = 0
    style: str = ""
    """Of a scalar: ``|``, ``>``, ``'``, ``"`` or empty for plain."""
    keys: dict[str, tuple[int, int]] = {}  # noqa: RUF012 - of a NamedTuple, and never written to
    """Of a mapping: line and column of each key."""
    size: int = 1
    """How many nodes this one holds, itself included."""

    def plain(self) -> Any:
        """Return the value as plain JSON."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value


class Document(NamedTuple):
    """One document of a file; ``number`` counts from 0, empty documents included."""

    path: str
    number: int
    root: Node
    lines: list[str]


def read_documents(raw: bytes, path: str) -> Iterator[Document]:
    """Yield the documents of a YAML or JSON text that are not empty; raises BrokenSource at the first thing wrong."""
    text = source_text(raw, path)
    lines = text.split("\n")
    composer = _Composer(text, lines)
    for index, root in enumerate(composer.documents()):
        if root.value is not None:
            yield Document(path, index, root, lines)


def text_pieces(node: Node, lines: list[str]) -> tuple[tuple[int, int, int], ...]:
    """Return (offset, line, column) of each source line of a text, so that an offset in it can be shown in the file."""
    text, block = node.value, node.style in ("|", ">")
    found = [] if block else [(0, node.line, node.column + (1 if node.style else 0))]
    if node.end_line <= node.line and not block:
        return tuple(found)
    cursor = 0
    for number in range(node.line + 1, min(node.end_line, len(lines)) + 1):
        content = lines[number - 1].strip()
        content = content if block else content.rstrip("'\"")
        at = text.find(content, cursor) if content else -1
        if at >= 0:
            found.append((at, number, len(lines[number - 1]) - len(lines[number - 1].lstrip()) + 1))
            cursor = at + len(content)
    return tuple(found)


def open_events(text: str) -> _Parser:
    """Return the parser that yields the events of a text; raises YAMLError for a character that YAML forbids."""
    return _Parser(text)


def source_text(raw: bytes, path: str) -> str:
    """Return the text of a file as YAML; raises BrokenSource where it is not UTF-8."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenSource("the file is not UTF-8 text", raw.count(b"\n", 0, error.start) + 1) from error
    if not path.endswith(".json"):
        return text

    def join(found: re.Match[str]) -> str:  # YAML has no surrogate pairs
        return f"{found[0]}" if not found[1] else chr(0x10000 + ((int(found[1], 16) & 0x3FF) << 10) + (int(found[2], 16) & 0x3FF))

    return _SURROGATES.sub(join, text)


class _Composer:
    """Builds nodes from libyaml's events."""

    def __init__(self, text: str, lines: list[str]) -> None:
        self._text, self._lines = text, lines
        self._anchors: dict[str, Node] = {}
        self._aliased = 0
        try:
            self._parser = open_events(text)
        except yaml.YAMLError as error:  # a character that YAML forbids
            raise self._broken(error) from error

    def documents(self) -> Iterator[Node]:
        """Yield the root of every document."""
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors, self._aliased = {}, 0
                yield self._node(self._next(), 0)

    def _next(self) -> Any:
        try:
            return self._parser.get_event()
        except yaml.YAMLError as error:
            raise self._broken(error) from error

    def _node(self, event: Any, depth: int) -> Node:
        if depth > DEPTH_LIMIT:
            raise _at(event, f"nested deeper than {DEPTH_LIMIT} levels")
        match event:
            case yaml.AliasEvent():
                return self._alias(event)
            case yaml.ScalarEvent():
                node = _scalar(event)
            case yaml.SequenceStartEvent():
                node = self._sequence(event, depth)
            case _:
                node = self._mapping(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            raise _at(event, f"alias *{event.anchor} has no anchor before it")
        self._aliased += node.size
        if self._aliased > ALIAS_LIMIT:
            raise _at(event, f"aliases stand for more than {ALIAS_LIMIT} values: refused as a possible alias bomb")
        return node

    def _sequence(self, start: Any, depth: int) -> Node:
        items = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        line, column = _place(start)
        return Node(items, line, column, size=1 + sum(item.size for item in items))

    def _mapping(self, start: Any, depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, tuple[int, int]] = {}
        merged: list[tuple[Node, Any]] = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                merged.append((self._node(self._next(), depth + 1), event))
                continue
            key = key_text(event)
            if key in values:
                raise _at(event, f'duplicate key "{key}" (first at line {keys[key][0]})')
            keys[key] = _place(event)
            values[key] = self._node(self._next(), depth + 1)
        for node, where in merged:
            _merge(node, where, values, keys)
        line, column = _place(start)
        return Node(values, line, column, keys=keys, size=1 + sum(1 + value.size for value in values.values()))

    def _broken(self, error: yaml.YAMLError) -> BrokenSource:
        mark = getattr(error, "problem_mark", None)
        if mark is None:  # a reader error has a position only
            line = self._text.count("\n", 0, getattr(error, "position", None) or 0) + 1
            return BrokenSource(f"not YAML: {getattr(error, 'reason', str(error))}", line)
        line, column = mark.line + 1, mark.column + 1
        source = self._lines[mark.line] if mark.line < len(self._lines) else ""
        if "\t" in source[: len(source) - len(source.lstrip())] or source[mark.column : column] == "\t":
            return BrokenSource("a tab stands where YAML wants spaces", line, column)
        context = f" {getattr(error, 'context', None) or ''}"
        return BrokenSource(f"not YAML:{context} {getattr(error, 'problem', '')}".replace("  ", " "), line, column)


def _scalar(event: Any) -> Node:
    line, column = _place(event)
    style = "" if event.implicit[0] and not event.style else event.style or ""
    return Node(_value(event), line, column, event.end_mark.line + (0 if style in ("|", ">") else 1), style)


def _value(event: Any) -> Scalar:
    text: str = event.value
    kind = "" if event.tag is None else event.tag.removeprefix(_PREFIX)
    if kind in ("str", "!") or (not kind and not event.implicit[0]):
        return text
    try:
        value = resolve_plain(text)
    except ValueError as error:
        raise _at(event, str(error)) from error
    wanted = {"": (object,), "int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}.get(kind)
    if wanted is None:
        raise _at(event, f"tag {event.tag.replace(_PREFIX, '!!')} is not supported")
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind in ("int", "float")):
        raise _at(event, f"cannot read {text!r} as !!{kind}")
    return value


def key_text(event: Any) -> str:
    """Return the key of a mapping that a scalar event stands for; raises BrokenSource where it cannot be one."""
    if not isinstance(event, yaml.ScalarEvent):
        raise _at(event, "a key must be a plain text")
    value = _value(event)
    if value is None:
        raise _at(event, "a key must not be null")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _merge(node: Node, where: Any, values: dict[str, Node], keys: dict[str, tuple[int, int]]) -> None:
    """Add what a merge key (``<<``) brings; what stands in the mapping itself wins, then the earlier of a list."""
    for source in node.value if isinstance(node.value, list) else [node]:
        if not isinstance(source.value, dict):
            raise _at(where, "a merge key (<<) takes a mapping or a list of mappings")
        for key, value in source.value.items():
            if key not in values:
                values[key], keys[key] = value, source.keys[key]


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _at(event: Any, message: str) -> BrokenSource:
    return BrokenSource(message, *_place(event))
