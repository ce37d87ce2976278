"""Finding the tests that are meant by files and folders on a command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from webhook.errors import CasesError, PolicyError
from webhook.model.cases import PolicyTest
from webhook.policies.cases import load_cases
from webhook.policies.files import SourceFile, is_source, read_sources
from webhook.settings import ReloadSettings

_TEST = b"PolicyTest"
_POLICIES = (b"AdmissionPolicy", b"WorkloadPolicy")


def find_tests(paths: Sequence[str | Path]) -> tuple[PolicyTest, ...]:
    """Load the tests below files and folders, each once; raises CasesError with all that is wrong.

    A file that holds no test stands for those beside it which load it: editors and hooks name the file that was saved.
    """
    errors: list[PolicyError] = []
    found: dict[str, tuple[PolicyTest, ...]] = {}
    named = {str(Path(path)) for path in paths}
    for file in _files(paths, errors):
        before = len(errors)
        tests = _load(file, found, errors) if _may_test(file) else ()
        if not tests and file.path in named and len(errors) == before:
            _add_beside(Path(file.path), found, errors)
    if errors:
        raise CasesError(errors)
    return tuple(test for tests in found.values() for test in tests)


def policy_files(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """Return those files below the given ones that look as if they held policies; what cannot be read is passed over."""
    files = _files(paths, [])
    return tuple(file.path for file in files if any(word in file.content for word in _POLICIES))


def _files(paths: Sequence[str | Path], errors: list[PolicyError]) -> tuple[SourceFile, ...]:
    sources = read_sources(paths, limit_bytes=ReloadSettings().file_limit_bytes)
    errors += sources.errors
    return sources.files


def _may_test(file: SourceFile) -> bool:
    """Tell whether a file may hold tests: it has the word, or it is no UTF-8 (PowerShell's ``>``), where none could be seen."""
    return _TEST in file.content or b"\0" in file.content


def _load(file: SourceFile, found: dict[str, tuple[PolicyTest, ...]], errors: list[PolicyError]) -> tuple[PolicyTest, ...]:
    real = os.path.realpath(file.path)
    if real not in found:
        try:
            found[real] = load_cases(file.path)
        except CasesError as error:
            errors += error.errors
            found[real] = ()
    return found[real]


def _add_beside(path: Path, found: dict[str, tuple[PolicyTest, ...]], errors: list[PolicyError]) -> None:
    """Add the tests that load a file. Nobody named those beside it: of one without cases nothing is said, broken or not."""
    for file in _files(sorted(entry for entry in path.parent.iterdir() if is_source(entry) and entry.is_file()), []):
        real = os.path.realpath(file.path)
        if real not in found and _TEST in file.content.replace(b"\0", b""):  # UTF-16 has a zero beside each letter
            tests = _load(file, found, errors)
            found[real] = tuple(test for test in tests if any(_holds(policy, path) for policy in test.policies))


def _holds(policy: str, path: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(policy))
