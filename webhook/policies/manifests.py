"""Manifests to be judged, with the name under which results speak of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webhook.errors import InputError, PolicyError
from webhook.model.objects import Object
from webhook.policies.files import SourceFile, read_sources
from webhook.policies.kinds import LIST_FIELDS, roots_of
from webhook.policies.nodes import BrokenSource, read_documents
from webhook.policies.plain import PlainDocument, read_plain

LIMIT_BYTES = 256 * 1024 * 1024
"""Largest file of manifests: ``kubectl get -o yaml`` of a large cluster, but not a device file."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and where it was written."""

    object: Object
    source: str
    """``file#index``, index of the document from 0; ``file#index[item]`` for an entry of a List."""
    line: int


def load_manifests(paths: Sequence[str | Path]) -> Iterator[Manifest]:
    """Yield the objects below files and folders; raises InputError at the first that is none."""
    files, errors = manifest_files(paths)
    for error in errors:
        raise error
    for file in files:
        yield from read_manifests(file)


def manifest_files(paths: Sequence[str | Path]) -> tuple[tuple[SourceFile, ...], tuple[InputError, ...]]:
    """Read the files below files and folders; returns them and what could not be read."""
    sources = read_sources(paths, limit_bytes=LIMIT_BYTES)
    return sources.files, tuple(InputError(str(error.args[0]), source=error.path) for error in sources.errors)


def read_manifests(file: SourceFile) -> Iterator[Manifest]:
    """Yield the objects of one file; raises InputError at the first that is none."""
    ordinary = _read_ordinary(file)
    yield from _read_strictly(file) if ordinary is None else ordinary


def _read_ordinary(file: SourceFile) -> list[Manifest] | None:
    """Return the objects of a file in which nothing is out of the ordinary, else None: then places and words are needed."""
    found: list[Manifest] = []
    for document in read_plain(file.content, file.path) or (None,):
        manifests = None if document is None else _ordinary(document, file.path)
        if manifests is None:
            return None
        found += manifests
    return found


def _ordinary(document: PlainDocument, path: str) -> list[Manifest] | None:
    root, source = document.value, f"{path}#{document.number}"
    if not _is_object(root):
        return None
    if root["kind"] != "List" or root["apiVersion"] != "v1":
        return [Manifest(root, source, document.line)]
    items = root.get("items")
    if not root.keys() <= LIST_FIELDS or not isinstance(items, list) or not all(map(_is_object, items)):
        return None
    lines = document.item_lines
    return [Manifest(item, f"{source}[{index}]", lines[index]) for index, item in enumerate(items)]


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and all(value.get(name) and isinstance(value[name], str) for name in ("kind", "apiVersion"))


def _read_strictly(file: SourceFile) -> Iterator[Manifest]:
    number = 0
    try:
        for document in read_documents(file.content, file.path):
            number = document.number + 1
            errors: list[PolicyError] = []
            for root in roots_of(document, errors):
                item = root.field.removeprefix("items")
                yield Manifest(root.plain(), f"{file.path}#{document.number}{item}", root.node.line)
            for error in errors:
                what = f"{error.field}: {error.args[0]}" if error.field else str(error.args[0])
                raise InputError(what, source=f"{file.path}#{document.number}", line=error.line)
    except BrokenSource as error:
        raise InputError(error.message, source=f"{file.path}#{number}", line=error.line) from error
