"""Lines of Python under construction: indentation, names that are not taken, and lines whose text is known only later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

MOST_LINES = 2_000
"""A longer function is not worth its memory: its expression stays with the closures."""


class NotGenerated(Exception):  # noqa: N818 - no error: the closures do the work
    """An expression that is too long for generated code, or must not be started twice."""


@dataclass(slots=True)
class Line:
    """A line; without text it is left out."""

    indent: int
    text: str = ""


class Writer:
    """Collects the body of one function, and the objects that it refers to."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._lines: list[Line] = []
        self._indent = 1
        self._names = 0
        self._known: list[dict[str, Any]] = [{}]

    def add(self, text: str) -> None:
        """Write a line."""
        self.reserve().text = text

    def reserve(self) -> Line:
        """Write a line whose text is set later, or never."""
        if len(self._lines) >= MOST_LINES:
            raise NotGenerated
        line = Line(self._indent)
        self._lines.append(line)
        return line

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a compound statement; what is written within is its body."""
        self.add(head)
        self._indent += 1
        self._known.append({})
        yield
        self._known.pop()
        self._indent -= 1

    def know(self, what: str, value: Any = True) -> None:
        """Note what holds from here to the end of the block: whoever comes there has been here."""
        self._known[-1][what] = value

    def known(self, what: str) -> Any:
        """Return what was noted last, None for nothing."""
        return next((block[what] for block in reversed(self._known) if what in block), None)

    def is_last(self, line: Line) -> bool:
        """Tell whether nothing was written after a line."""
        return self._lines[-1] is line

    @property
    def depth(self) -> int:
        """Count the blocks around what is written next."""
        return len(self._known)

    def name(self, prefix: str) -> str:
        """Make a local name."""
        self._names += 1
        return f"{prefix}{self._names}"

    def refer(self, value: Any, prefix: str) -> str:
        """Return the global name of an object; one object has one name."""
        for name, known in self.namespace.items():
            if known is value:
                return name
        name = self.name(prefix)
        self.namespace[name] = value
        return name

    def text(self) -> str:
        """Return the lines as they stand."""
        return "\n".join(f"{'    ' * line.indent}{line.text}" for line in self._lines if line.text)
