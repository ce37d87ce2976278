"""An export on disk: the folders from which an API server reads, perhaps at this moment.

Each file is swapped in whole, and what is no longer exported goes last: the API server loads a folder as one set, keeps the
old one while a name is there twice, and passes over files that do not end in ``.yaml``, ``.yml`` or ``.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webhook.errors import UsageError
from webhook.policies.export import FOLDERS, MARK, Export


def write_export(export: Export, folder: Path) -> tuple[Path, ...]:
    """Write an export below a folder and return the files of an earlier one that were removed.

    Raises UsageError, before anything is written, where a file that somebody else wrote is in the way.
    """
    wanted = {folder / one.file: one.text for one in export.exported}
    try:
        for path in wanted:
            if path.is_symlink() or (path.exists() and not _is_ours(path)):
                raise UsageError(f"{path} was not written by an export and is left alone; move it away, or choose another --out")
        for name in FOLDERS.values():
            (folder / name).mkdir(parents=True, exist_ok=True)
        for path, text in wanted.items():
            _swap(path, text)
        stale = [path for path in _ours(folder) if path not in wanted]
        for path in stale:
            path.unlink()
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.filename}: {error.strerror}") from error
    return tuple(stale)


def _ours(folder: Path) -> Iterator[Path]:
    for name in FOLDERS.values():
        yield from (path for path in sorted((folder / name).glob("*.yaml")) if path.is_file() and _is_ours(path))


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MARK) + 1) == f"{MARK}\n".encode()


def _swap(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name[:200]}.new")
    beside.unlink(missing_ok=True)  # of an export that was cut off; never written through, for it may be a link elsewhere
    with beside.open("x", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
