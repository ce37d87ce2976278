"""The container image: what the Dockerfile says, what gets into it, and the list of what is inside."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.test_lock import PIN

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PATIENCE = 120.0  # seconds until a step gives up
DOCKERFILE = (ROOT / "Dockerfile").read_text()
LOCKS = ("requirements-runtime.lock", "requirements-build.lock", "requirements.lock")
RUNTIME, BUILD, ALL = ((ROOT / name).read_text() for name in LOCKS)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, BUILT_BY = PYPROJECT["project"], PYPROJECT["build-system"]["requires"]
FETCHING = re.compile(r"python -m pip --python \S+ install --require-hashes --only-binary :all: -r \S+")


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    words = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(word, rest.strip()) for word, _, rest in words]


def last_stage() -> list[tuple[str, str]]:
    whole = instructions()
    return whole[max(number for number, (word, _) in enumerate(whole) if word == "FROM") :]


def entries(lock: str) -> dict[str, str]:
    """Return each pin with its hashes, by name."""
    parts = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    found = ((PIN.match(part), part) for part in parts if part.strip())
    return {canonicalize_name(match["name"]): re.sub(r" ; [^\\]+\\", r" \\", part) for match, part in found if match}


def test_a_linter_has_nothing_to_say() -> None:
    linter = BIN / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint has no wheel for this machine")
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_it_ends_as_nobody_with_nothing_but_what_was_built() -> None:
    stage = last_stage()
    assert [word for word, _ in instructions()].count("FROM") == 2
    assert [rest for word, rest in stage if word == "USER"] == ["65532:65532"]
    assert [rest for word, rest in stage if word in ("COPY", "ADD", "RUN")] == ["--from=build /opt/gangwarden /opt/gangwarden"]
    assert ("ENTRYPOINT", '["gangwarden"]') in stage
    assert all(re.search(r":[0-9.]+-slim\b", rest) for word, rest in instructions() if word == "FROM")


def test_nothing_is_fetched_but_what_the_lock_file_names() -> None:
    runs = " && ".join(rest for word, rest in instructions() if word == "RUN")
    assert not re.search(r"\b(curl|wget|apt-get|git)\b", runs)
    fetched = re.findall(r"\bpip\b.*? (?:install|wheel|download) (.*?)(?=&&|$)", runs)
    locked = [f"--require-hashes --only-binary :all: -r {lock}" for lock in LOCKS[:2]]
    assert [one.strip() for one in fetched] == [*locked, "--no-deps --no-index --find-links /dist gangwarden"]
    assert [word for word, _ in instructions() if word == "ADD"] == []


def test_the_context_holds_what_is_copied_and_no_more() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    stage = [rest for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    copied = {word for rest in stage for word in rest.split()[:-1]}
    assert {path.partition("/")[0] for path in kept} == {path.partition("/")[0] for path in copied}
    assert all((ROOT / path).exists() for path in kept)
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout.split()
    within = [path for path in listed if any(fnmatch.fnmatch(path, f"{one}*") for one in kept)]
    assert [path for path in within if path.startswith("tests/")] == []


def test_its_steps_make_a_command_that_writes_nothing_beside_itself(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for instruction, rest in instructions():
        if instruction == "COPY" and "--from" not in rest:
            *sources, target = rest.split()
            for source in sources:
                put(ROOT / source, tmp_path / "src" / (Path(source).name if target == "./" else target))
        elif instruction == "RUN":
            play(rest, tmp_path)
            lend(tmp_path / "opt/build")
    lend(tmp_path / "opt/gangwarden")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.name.startswith("gangwarden-")
    root, elsewhere = tmp_path / "opt", tmp_path / "elsewhere"
    elsewhere.mkdir()
    before = sorted(root.rglob("*"))
    done = subprocess.run(
        [root / "gangwarden/bin/gangwarden", "check", "-o", "json", ROOT / "examples/jobs/training.yaml"],
        cwd=elsewhere, env=last_env(), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "labelled-jobs.gangwarden.dev" in done.stdout
    assert (sorted(root.rglob("*")), list(elsewhere.iterdir())) == (before, [])


def put(source: Path, target: Path) -> None:
    """Copy what git knows of a file or folder, as the context holds it."""
    listed = subprocess.run(["git", "ls-files", source], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    for name in listed.stdout.splitlines():
        place = target / (ROOT / name).relative_to(source) if source.is_dir() else target
        if (ROOT / name).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place)


def play(command: str, folder: Path) -> None:
    """Run a step below a folder, where nothing is fetched."""
    command = re.sub(r"(?<![\w./])/(opt|dist)\b", rf"{folder}/\1", FETCHING.sub("true", command))
    bare = {"PATH": f"{BIN}:/usr/bin:/bin", "SOURCE_DATE_EPOCH": "0", "PIP_NO_INDEX": "1", "HOME": str(folder)}
    done = subprocess.run(
        ["/bin/sh", "-ec", command], cwd=folder / "src", env=bare, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def lend(environment: Path) -> None:
    """Let an environment see the packages of the tests, which are of the same lock."""
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")


def last_env() -> dict[str, str]:
    """Return the environment of the last stage, but for its PATH."""
    words = next(rest for word, rest in last_stage() if word == "ENV").split()
    return {name: value for name, _, value in (word.partition("=") for word in words) if name != "PATH"}


def test_what_the_image_gets_is_of_the_lock_that_the_tests_run_with() -> None:
    runtime, build, everything = entries(RUNTIME), entries(BUILD), entries(ALL)
    assert {name: text for name, text in (runtime | build).items() if everything[name] != text} == {}
    assert {canonicalize_name(Requirement(one).name) for one in BUILT_BY} <= set(build)
    assert len(runtime) < len(everything) / 1.5


@pytest.mark.parametrize("text", PROJECT["dependencies"], ids=lambda text: Requirement(text).name)
def test_what_the_project_needs_is_in_the_image(text: str) -> None:
    assert canonicalize_name(Requirement(text).name) in entries(RUNTIME)


@pytest.mark.parametrize("tool", ["hatchling", "hypothesis", "mypy", "pip", "pytest", "ruff", "setuptools", "uv"])
def test_no_tool_of_development_is_in_the_image(tool: str) -> None:
    assert tool not in entries(RUNTIME)


def test_the_bill_of_materials_names_every_package_with_its_version_and_hash(tmp_path: Path) -> None:
    words = next(line for line in (ROOT / "Makefile").read_text().splitlines() if "cyclonedx-py" in line).split()[1:]
    texts = []
    for file in (tmp_path / "one.json", tmp_path / "two.json"):
        asked = [str(file) if word.startswith("dist/") else word for word in words]
        subprocess.run(
            [BIN / "cyclonedx-py", *asked, "--no-validate"], cwd=ROOT, check=True, timeout=PATIENCE, capture_output=True
        )
        texts.append(file.read_text())
    assert texts[0] == texts[1], "the same bytes for the same lock"
    bill = json.loads(texts[0])
    schema = JsonStrictValidator(SchemaVersion.from_version(bill["specVersion"]))
    assert schema.validate_str(texts[0]) is None
    assert schema.validate_str(texts[0].replace('"bomFormat"', '"format"')) is not None
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "gangwarden")
    pins = {canonicalize_name(match["name"]): match["version"] for match in map(PIN.match, RUNTIME.splitlines()) if match}
    assert {canonicalize_name(one["name"]): one["version"] for one in bill["components"]} == pins
    assert all(one["purl"].startswith("pkg:pypi/") for one in bill["components"])
    assert all(any(reference.get("hashes") for reference in one["externalReferences"]) for one in bill["components"])
