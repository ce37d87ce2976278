"""Which files hold policies, and what is in them at one moment.

ConfigMap volumes show each file twice: as ``x.yaml`` and inside ``..data``, both symlinks. Hidden names are left out
and every real file is read once, under the name that an operator would edit.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from webhook.errors import PathError, PolicyError

SUFFIXES = (".yaml", ".yml", ".json")
_FOLDERS_DEEP = 32
"""Deepest folder below a given path; symlinks to a parent end here at the latest."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when it was read."""

    path: str
    """As it is shown to people: below the path that was given."""
    content: bytes


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything below the given paths at one moment."""

    files: tuple[SourceFile, ...]
    errors: tuple[PolicyError, ...]
    revision: str
    """Hash of all names and contents, and of what could not be read."""


def read_sources(paths: Sequence[str | Path], *, limit_bytes: int) -> Sources:
    """Read every policy file below the given paths; what cannot be read is an error, not an omission."""
    files: list[SourceFile] = []
    errors: list[PolicyError] = []
    for path in _found(paths, errors):
        try:
            files.append(SourceFile(str(path), read_limited(path, limit_bytes)))
        except OSError as error:
            errors.append(PolicyError(f"cannot be read: {error.strerror or error}", path=str(path)))
        except ValueError as error:
            errors.append(PolicyError(str(error), path=str(path)))
    if not files and not errors:
        where = ", ".join(map(str, paths))
        errors.append(PathError(f"no file ({', '.join(SUFFIXES)}) is there", path=where))
    return Sources(tuple(files), tuple(errors), _revision(files, errors))


def read_limited(path: Path, limit_bytes: int) -> bytes:
    """Read a file; raises OSError, or ValueError when it is too large or empty."""
    with path.open("rb") as file:
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise ValueError(f"larger than {limit_bytes} bytes")
    if not content.strip():  # most likely caught between truncation and writing; comments alone are fine
        raise ValueError("the file is empty")
    return content


def is_source(path: Path) -> bool:
    """Tell whether an entry of a folder is looked into or read: hidden ones and other files are passed over."""
    return not path.name.startswith(".") and (path.is_dir() or path.suffix in SUFFIXES)


def _found(paths: Iterable[str | Path], errors: list[PolicyError]) -> Iterator[Path]:
    """Yield each real file once, in a stable order."""
    seen: set[str] = set()
    for given in map(Path, paths):
        if not given.exists():
            errors.append(PathError("there is no such file or folder", path=str(given)))
            continue
        for path in _walk(given, 0, errors) if given.is_dir() else [given]:  # a pipe, as <(helm template …), is no file
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path


def _walk(folder: Path, depth: int, errors: list[PolicyError]) -> Iterator[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except OSError as error:
        errors.append(PolicyError(f"cannot be listed: {error.strerror or error}", path=str(folder)))
        return
    for name in names:
        path = folder / name
        if path.is_dir():
            if depth < _FOLDERS_DEEP:
                yield from _walk(path, depth + 1, errors)
        elif path.suffix in SUFFIXES and path.exists() and not path.is_file():
            errors.append(PolicyError("a pipe or device, whose end nobody knows: take it out of the folder", path=str(path)))
        elif path.suffix in SUFFIXES:
            yield path


def _revision(files: Iterable[SourceFile], errors: Iterable[PolicyError]) -> str:
    digest = hashlib.sha256()
    for file in files:
        name = file.path.encode("utf-8", "surrogateescape")
        digest.update(len(name).to_bytes(8, "big") + name + hashlib.sha256(file.content).digest())
    for error in errors:
        digest.update(str(error).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]
