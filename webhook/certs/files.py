"""Keep material in a directory: what ``dev`` and ``run`` use, and what a mounted Secret looks like.

Each file is replaced by a rename, so a reader sees the old one or the new one and never half of it. A reader that
catches key and certificate of different generations finds that they do not fit, keeps what it has and looks again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from webhook.certs.material import BUNDLE_LIMIT_BYTES, CA_FILE, CA_KEY_FILE, CERTIFICATE_FILE, KEY_FILE
from webhook.errors import CertificateError, ClusterError

_NAMES = (CA_FILE, CA_KEY_FILE, CERTIFICATE_FILE, KEY_FILE)


class FileStore:
    """A directory as the place where material is kept; the version is a hash of the content."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    async def load(self) -> tuple[dict[str, bytes], str] | None:
        """Return the files and their version, or None where there are none."""
        files = load_material(self.directory)
        return (files, _version(files)) if files else None

    async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
        """Replace what ``load`` gave as ``version`` (None: nothing); ClusterError 409 if another was faster."""
        found = load_material(self.directory)
        if (_version(found) if found else None) != version:
            raise ClusterError(f"{self.directory} was changed by another process", verb="update", status=409, reason="Conflict")
        write_material(self.directory, files)
        return _version(files)


def load_material(directory: Path) -> dict[str, bytes]:
    """Read the files that are there, by name; raises CertificateError for one that cannot be read."""
    # A mounted Secret is swapped by its `..data` link: resolving it once gives four files of one generation.
    generation = directory / "..data"
    source = generation.resolve() if generation.is_dir() else directory
    found = {name: _read(source / name) for name in _NAMES}
    return {name: content for name, content in found.items() if content is not None}


def write_material(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files for the owner alone (0600, a new directory 0700), each by an atomic rename; remove those not given."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (name for name in _NAMES if name in files):
            _replace(directory / name, files[name])
        for name in (name for name in _NAMES if name not in files):
            (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise CertificateError(f"{error.filename or directory} cannot be written: {error.strerror}") from error


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 from the first moment
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(BUNDLE_LIMIT_BYTES + 1)  # one more than is accepted, so that the parser can say so
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from error


def _version(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    return digest.hexdigest()
