"""Manifests that are to be judged: every document of every file, each known by ``file#index``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from webhook.errors import InputError, UsageError
from webhook.model.objects import Object
from webhook.policies.nodes import BrokenSource, Document, read_documents

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One document."""

    source: str
    """``file#index``, index from 0; a List counts as its items."""
    object: Object


def load_manifests(paths: Sequence[str | Path], *, skip: Callable[[Path], bool] = lambda _: False) -> Iterator[Manifest]:
    """Yield the objects of files and folders (``-``: standard input), a v1 List item by item.

    Raises UsageError for a path that is not there, InputError for what is no manifest.
    """
    for given in paths:
        if str(given) == STANDARD_INPUT:
            yield from _read(sys.stdin.buffer.read(), "<stdin>")
            continue
        for path in _files(Path(given)):
            if not skip(path):
                yield from _read(_content(path), str(path))


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    if path.is_file():
        yield path
        return
    yield from sorted(
        found
        for found in path.rglob("*")
        if found.suffix in SUFFIXES
        and found.is_file()
        and not any(part.startswith(".") for part in found.relative_to(path).parts)
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error


def _read(raw: bytes, name: str) -> Iterator[Manifest]:
    index = 0
    try:
        for document in read_documents(raw, name):
            for obj in _objects(document, f"{name}#{index}"):
                yield Manifest(source=f"{name}#{index}", object=obj)
                index += 1
    except BrokenSource as error:
        raise InputError(error.message, source=f"{name}#{index}", line=error.line) from error


def _objects(document: Document, source: str) -> Iterator[Object]:
    found = document.root.plain()
    if not isinstance(found, dict):
        raise InputError("the document is no object with apiVersion and kind", source=source, line=document.root.line)
    if found.get("kind") == "List" and found.get("apiVersion") == "v1":
        for item in found.get("items") or ():
            yield _checked(item, source, document.root.line)
        return
    yield _checked(found, source, document.root.line)


def _checked(obj: object, source: str, line: int) -> Object:
    if not isinstance(obj, dict):
        raise InputError("an item of the List is no object", source=source, line=line)
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            raise InputError(f"the document has no {field}", source=source, line=line)
    meta = obj.get("metadata", {})
    if not isinstance(meta, dict):
        raise InputError("metadata is no mapping", source=source, line=line)
    return obj
