"""Reading fields of a document strictly: every miss is noted with file, line, column and path, and reading goes on.

A reader asks for what it knows and names all it knows (``only``), so a field that nobody asked for is an error. A
null counts as absent, as in Go's decoder.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from webhook.errors import PolicyError
from webhook.model.objects import Object
from webhook.model.policies import Expression, Origin
from webhook.policies.nodes import Document, Node, text_pieces

_TYPES: tuple[tuple[type, str], ...] = ((bool, "a boolean"), (int, "a number"), (float, "a number"), (str, "text"))


class Cursor:
    """One value of a document, its path, and the list of errors that it shares with the whole document."""

    def __init__(self, document: Document, node: Node, field: str, errors: list[PolicyError]) -> None:
        self.document, self.node, self.field, self.errors = document, node, field, errors

    @property
    def origin(self) -> Origin:
        """Return where the value stands."""
        return Origin(self.document.path, self.node.line, self.field)

    def origin_of(self, name: str) -> Origin:
        """Return where one of the value's fields stands, or the value where it has no such field."""
        line, _ = self.node.keys.get(name, (self.node.line, 0))
        return Origin(self.document.path, line, ".".join(part for part in (self.field, name) if part))

    def fail(self, message: str, name: str = "") -> None:
        """Note an error at the value, or at one of its fields (also at one that is missing)."""
        line, column = self.node.keys.get(name, (self.node.line, self.node.column))
        field = ".".join(part for part in (self.field, name) if part)
        self.errors.append(PolicyError(message, path=self.document.path, line=line, column=column, field=field))

    def only(self, *known: str) -> Cursor:
        """Note every field that is not among the known ones, with the one that was probably meant."""
        for name in self._fields():
            if name not in known:
                self.fail(f"unknown field{hint(name, known)}", name)
        return self

    def has(self, name: str) -> bool:
        """Tell whether a field is there and not null."""
        return name in self._fields() and self._fields()[name].value is not None

    def mapping(self, name: str) -> Cursor | None:
        """Return a field that is a mapping; None when it is absent."""
        return self._child(name, dict, "a mapping")

    def items(self, name: str) -> list[Cursor]:
        """Return the entries of a field that is a list."""
        child = self._child(name, list, "a list")
        return [] if child is None else [self._at(node, f"{child.field}[{i}]") for i, node in enumerate(child.node.value)]

    def mappings(self, name: str) -> list[Cursor]:
        """Return the entries of a field that is a list of mappings."""
        return [item for item in self.items(name) if item.expect(dict, "a mapping")]

    def texts(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a field that is a list of texts."""
        if required and (not self.has(name) or self._fields()[name].value == []):
            self.fail("required: at least one entry", name)
        return tuple(item.node.value for item in self.items(name) if item.expect(str, "text"))

    def text(self, name: str, default: str = "", *, required: bool = False, choices: Iterable[str] = ()) -> str:
        """Return a field that is text, and one of the choices if there are any."""
        child = self._child(name, str, "text")
        value = default if child is None else str(child.node.value)
        if required and not value and (child is not None or not self.has(name)):
            self.fail("required", name)
            return default
        if choices and child is not None and value not in choices:
            self.fail(f'"{value}" is not supported: use {_either(choices)}', name)
            return default
        return value

    def number(self, name: str, default: int = 0, *, minimum: int | None = None) -> int:
        """Return a field that is a whole number."""
        child = self._child(name, int, "a whole number")
        value = default if child is None else int(child.node.value)
        if minimum is not None and value < minimum:
            self.fail(f"must be at least {minimum}", name)
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a field that is true or false."""
        child = self._child(name, bool, "true or false")
        return default if child is None else bool(child.node.value)

    def pairs(self, name: str) -> dict[str, str]:
        """Return a field that maps texts to texts, such as labels."""
        child = self.mapping(name)
        if child is None:
            return {}
        return {key: child.text(key) for key in child.node.value}

    def expression(self, name: str, *, required: bool = False) -> Expression | None:
        """Return a field that is a CEL expression; blank ones count as missing."""
        child = self._child(name, str, "a CEL expression in text")
        if child is not None and child.node.value.strip():
            pieces = text_pieces(child.node, self.document.lines)
            return Expression(child.node.value, child.origin, pieces)
        if required and (child is not None or not self.has(name)):
            self.fail("required", name)
        return None

    def plain(self) -> Object:
        """Return the value as plain JSON."""
        value: Object = self.node.plain()
        return value

    def check(self, name: str, problem: Callable[[str], str], value: str) -> None:
        """Note what is wrong with a field's value, if the test says that something is."""
        if value and (message := problem(value)):
            self.fail(message, name)

    def expect(self, kind: type, word: str) -> bool:
        """Tell whether the value is of a type; note an error if it is not."""
        value = self.node.value
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return True
        self.fail(f"must be {word}, not {_name(value)}")
        return False

    def _fields(self) -> dict[str, Node]:
        return self.node.value if isinstance(self.node.value, dict) else {}

    def _at(self, node: Node, field: str) -> Cursor:
        return Cursor(self.document, node, field, self.errors)

    def _child(self, name: str, kind: type, word: str) -> Cursor | None:
        if not self.has(name):
            return None
        child = self._at(self._fields()[name], f"{self.field}.{name}" if self.field else name)
        return child if child.expect(kind, word) else None


def hint(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, as the end of a sentence; empty when none is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def _name(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    word = next((word for kind, word in _TYPES if isinstance(value, kind)), "null")
    shown = str(value).lower() if isinstance(value, bool) else value
    return f"{word} ({shown}); quote it if it is meant as text" if isinstance(value, (bool, int, float)) else word


def _either(choices: Iterable[str]) -> str:
    *rest, last = list(choices)
    return f"{', '.join(rest)} or {last}" if rest else last
