"""The manifests that a command line names: all of them, or all that is wrong with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from webhook.errors import InputError, InputSetError
from webhook.policies import Manifest, SourceFile, manifest_files, read_manifests
from webhook.policies.nodes import read_documents

STANDARD_INPUT = "-"


def read_all(paths: Sequence[str]) -> tuple[Manifest, ...]:
    """Return the objects in files, folders and standard input (``-``); raises InputSetError with all that is wrong.

    Nothing at all is wrong too, be it an empty file or one with comments only: what was to write the manifests has most likely
    failed. An empty v1 List is an answer: somebody has looked, and there are none.
    """
    found: list[Manifest] = []
    errors: list[InputError] = []
    is_answered = False
    for file in _files(paths, errors):
        before = len(found)
        try:
            found.extend(read_manifests(file))
        except InputError as error:
            errors.append(error)
        else:
            is_answered |= len(found) > before or any(True for _ in read_documents(file.content, file.path))
    if not is_answered and not errors:
        errors.append(InputError("there is no object in it, so nothing would be checked", source=", ".join(map(_name, paths))))
    if errors:
        raise InputSetError(errors)
    return tuple(found)


def _files(paths: Sequence[str], errors: list[InputError]) -> Iterator[SourceFile]:
    for path in paths:
        if path == STANDARD_INPUT:
            yield SourceFile(_name(path), sys.stdin.buffer.read())
        else:
            files, unread = manifest_files([path])
            errors += unread
            yield from files


def _name(path: str) -> str:
    return "<stdin>" if path == STANDARD_INPUT else path
