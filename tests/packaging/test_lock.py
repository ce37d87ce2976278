"""The lock file and the repository hold names, versions and hashes, and nothing of the machine where they were written."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"(?P<name>[a-zA-Z0-9._-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\]+))?(?: \\)?")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
HOSTS = [
    "".join(parts)
    for parts in (
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("proxy.go", "lang.org"),
        ("sum.go", "lang.org"),
        ("index", "-url"),
        ("trusted", "-host"),
        ("GO", "PROXY="),
        ("registry.npm", "js.org"),
    )
]
PLACES = [f"/{name}/" for name in ("root", "farm", "work", "builds")] + ["/" + "home/"]


LOCKS = ("requirements.lock", "requirements-runtime.lock", "requirements-build.lock")


def lock_lines(name: str = LOCKS[0]) -> list[str]:
    return (ROOT / name).read_text().splitlines()


def pins() -> dict[str, Version]:
    found = (PIN.fullmatch(line) for line in lock_lines())
    return {canonicalize_name(match["name"]): Version(match["version"]) for match in found if match}


def requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    return [*built, *project["dependencies"], *project["optional-dependencies"]["dev"]]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_has_only_names_versions_markers_and_hashes(name: str) -> None:
    assert [line for line in lock_lines(name) if line and not PIN.fullmatch(line) and not HASH.fullmatch(line)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_a_hash(name: str) -> None:
    lines = lock_lines(name)
    bare = [
        line for line, after in zip(lines, [*lines[1:], ""], strict=True) if PIN.fullmatch(line) and not HASH.fullmatch(after)
    ]
    assert bare == []
    assert len(pins()) > 50


@pytest.mark.parametrize("text", requirements(), ids=lambda text: Requirement(text).name)
def test_what_the_project_asks_for_is_locked_at_a_version_that_it_takes(text: str) -> None:
    asked = Requirement(text)
    assert asked.specifier.contains(pins()[canonicalize_name(asked.name)])


def test_no_tracked_file_names_a_registry_or_a_place_on_somebodys_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    found = []
    for name in filter(None, listed):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [(name, word) for word in (*HOSTS, *PLACES) if word in text]
    assert found == []
