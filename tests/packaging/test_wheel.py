"""The wheel as users get it: one top-level package, everything it needs inside, and it runs away from the checkout."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0  # seconds until a step gives up


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=bare, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build with the locked backend: no isolation, so nothing is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[PurePosixPath]:
    with zipfile.ZipFile(wheel) as archive:
        return [PurePosixPath(name) for name in archive.namelist()]


def test_it_holds_one_package_and_its_metadata(names: list[PurePosixPath]) -> None:
    version = json.loads(
        run(sys.executable, "-c", "import json, importlib.metadata as m; print(json.dumps(m.version('gangwarden')))")
    )
    assert {name.parts[0] for name in names} == {"webhook", f"gangwarden-{version}.dist-info"}


def test_every_module_and_every_shipped_file_is_inside(names: list[PurePosixPath]) -> None:
    tracked = [Path(line) for line in run("git", "ls-files", "webhook", "policies", "certs/profile.yaml").splitlines()]
    wanted = {
        str(path) if path.parts[0] == "webhook" else f"webhook/_bundled/{path}" for path in tracked if (ROOT / path).exists()
    }
    assert wanted - {str(name) for name in names} == set()


@pytest.mark.parametrize(
    "name",
    ["webhook/py.typed", "webhook/_bundled/certs/profile.yaml", "webhook/_bundled/policies/gang/labelled-jobs/policy.yaml"],
)
def test_what_others_rely_on_is_inside(name: str, names: list[PurePosixPath]) -> None:
    assert PurePosixPath(name) in names


def test_it_holds_nothing_that_was_not_written(names: list[PurePosixPath]) -> None:
    assert [
        name for name in names if name.suffix in {".pyc", ".so"} or "__pycache__" in name.parts or "tests" in name.parts
    ] == []


def test_metadata_name_the_licence_the_commands_and_the_oldest_python(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = message_from_bytes(archive.read(f"{folder}/METADATA"))
        commands = archive.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in archive.namelist()
    assert (metadata["Name"], metadata["License-Expression"], metadata["Requires-Python"]) == (
        "gangwarden",
        "Apache-2.0",
        ">=3.11",
    )
    assert "gangwarden = webhook.cli:main" in commands
    assert "kubectl-gangwarden = webhook.cli:main" in commands


def test_the_same_sources_make_the_same_bytes_wherever_and_whenever_they_are_built(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "somewhere" / "else"
    sources = ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "webhook", "policies", "certs")
    for name in run("git", "ls-files", *sources).splitlines():
        if (ROOT / name).exists():
            (first / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, first / name)
    shutil.copytree(first, second, copy_function=shutil.copyfile)
    for number, path in enumerate(sorted(second.rglob("*.py"))):
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    assert digest_of_wheel(first) == digest_of_wheel(second)


def digest_of_wheel(sources: Path) -> str:
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", sources / "dist", cwd=sources)
    (built,) = (sources / "dist").glob("*.whl")
    return hashlib.sha256(built.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with nothing but the wheel; the locked packages are lent by their path."""
    environment = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    run(sys.executable, "-m", "pip", "--python", environment / "bin/python", "install", "--no-deps", "--no-index", wheel)
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin"


def test_the_installed_command_finds_the_bundled_policies_from_anywhere(installed: Path, tmp_path: Path) -> None:
    document = json.loads(
        run(installed / "gangwarden", "check", "-o", "json", ROOT / "examples/jobs/training.yaml", cwd=tmp_path)
    )
    assert "labelled-jobs.gangwarden.dev" in {row["policy"] for row in document["results"]}
    where = run(
        installed / "python", "-c", "from webhook.policies import bundled_policies as p; print(p())", cwd=tmp_path
    ).strip()
    assert Path(where).is_relative_to(installed.parent)


def test_the_installed_command_finds_the_bundled_profile(installed: Path, tmp_path: Path) -> None:
    assert "localhost" in run(installed / "kubectl-gangwarden", "certs", "init", "certs", cwd=tmp_path)
    assert (tmp_path / "certs/tls.crt").exists()
