"""Where in its file a field of a manifest stands, for formats that point at lines.

Manifests are read without places, which would cost more than all the judging. A file of which something is to be said
is read once more.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from webhook.errors import PolicyError
from webhook.policies.files import read_limited
from webhook.policies.kinds import roots_of
from webhook.policies.manifests import LIMIT_BYTES
from webhook.policies.nodes import BrokenSource, Node, read_documents

_SOURCE = re.compile(r"(?P<path>.*)#(?P<key>\d+(?:\[\d+\])?)", re.DOTALL)
_STEP = re.compile(r"\.?(?:(?P<name>[^.\[\]'\"]+)|\[(?P<index>\d+)\]|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\])")


class Place(NamedTuple):
    """A position in a file; line and column count from 1 and are 0 where they are not known."""

    path: str
    line: int = 0
    column: int = 0


class Places:
    """Finds places; keeps the last file that it read, for results come file by file."""

    def __init__(self) -> None:
        self._path, self._objects = "", dict[str, Node]()

    def find(self, source: str, field: str = "") -> Place:
        """Return where a field of the object from ``file#index`` stands, or the nearest thing above it that is there.

        What does not come from a file, such as standard input, has no place at all.
        """
        found = _SOURCE.fullmatch(source)
        if found is None or not Path(found["path"]).is_file():
            return Place("")
        if self._path != found["path"]:
            self._path, self._objects = found["path"], _objects(found["path"])
        root = self._objects.get(found["key"])
        return Place(self._path) if root is None else Place(self._path, *_walk(root, field))


def _objects(path: str) -> dict[str, Node]:
    """Return the objects of a file by index."""
    found: dict[str, Node] = {}
    ignored: list[PolicyError] = []
    try:
        for document in read_documents(read_limited(Path(path), LIMIT_BYTES), path):
            for root in roots_of(document, ignored):
                found[f"{document.number}{root.field.removeprefix('items')}"] = root.node
    except (OSError, ValueError, BrokenSource):
        return {}  # it was there a moment ago; what is said stays true, only its line is lost
    return found


def _walk(node: Node, field: str) -> tuple[int, int]:
    place = (node.line, node.column)
    at = 0
    while step := _STEP.match(field, at):  # what is no step ends the way: to look for the next one would cost its square
        at, name = step.end(), step["name"] or step["key"]
        if isinstance(node.value, dict) and name in node.value:
            place, node = node.keys.get(name, place), node.value[name]
        elif isinstance(node.value, list) and step["index"] and int(step["index"]) < len(node.value):
            node = node.value[int(step["index"])]
            place = (node.line, node.column)
        else:
            break
    return place
