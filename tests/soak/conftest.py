"""Seeds, counts and the record of a soak."""

from __future__ import annotations

import asyncio
import os
import platform
import random
import secrets
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvloop

from tests.controlplane import build
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import Nodes
from tests.soak.record import Row, load, merged, page, to_json
from tests.soak.scene import SEED, Scene, often

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "docs" / "results"
SCENE_SECONDS = 900
ROWS = pytest.StashKey[list[Row]]()
KNOWN = pytest.StashKey[dict[str, set[str]]]()
"""The scenes of each file that was collected whole."""
COMMIT = pytest.StashKey[str]()
ROOMY = Nodes(cpu="256", pods="1000")
"""Room for every gang of a scene at once: what is looked for are losses, not waiting."""


def pytest_configure(config: pytest.Config) -> None:
    """Let a polite kill end the session as Ctrl-C does, so that nothing is left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.stash[ROWS] = []
    config.stash[KNOWN] = {}
    config.stash[COMMIT] = _commit()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the scenes in this folder; note which there are before ``-m`` and ``-k`` choose."""
    ours = [item for item in items if HERE in item.path.parents and "scene" in getattr(item, "fixturenames", ())]
    known: defaultdict[str, set[str]] = defaultdict(set)
    for item in ours:
        item.add_marker(pytest.mark.soak)
        item.add_marker(pytest.mark.timeout(SCENE_SECONDS * often(1)))
        known[item.path.name].add(_name(item))
    if not any("::" in argument for argument in config.args):
        config.stash[KNOWN] = dict(known)


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Serve on uvloop, as in production."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def seed() -> int:
    """One seed for the run."""
    return int(os.environ.get(SEED) or secrets.randbits(32))


@pytest.fixture
def scene(request: pytest.FixtureRequest, seed: int) -> Scene:
    """The scene of this test; its random choices depend on its name and the run's seed only."""
    print(f"{SEED}={seed}")
    return Scene(seed=seed, random=random.Random(f"{seed} {request.node.name}"))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane with large nodes."""
    build.ensure(say=print)
    with ControlPlane(nodes=ROOMY) as cluster:
        yield cluster


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of a random name."""
    with control_plane.namespace() as name:
        yield name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what came of each scene, and show the seed of one that failed."""
    report = yield
    scene = getattr(item, "funcargs", {}).get("scene")
    if isinstance(scene, Scene) and (report.when == "call" or report.failed):
        if report.failed:
            report.sections.append(("to repeat this run", f"{SEED}={scene.seed}"))
        item.config.stash[ROWS].append(_row(item, scene, report))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the rows of the scenes that ran, and write the page anew."""
    new = session.config.stash[ROWS]
    if not new:
        return
    files = {path.name for path in HERE.glob("test_*.py")}
    rows = merged(load(RESULTS / "soak.json"), new, known=session.config.stash[KNOWN], files=files)
    (RESULTS / "soak.json").write_text(to_json(rows), encoding="utf-8")
    (RESULTS / "soak.md").write_text(page(rows), encoding="utf-8")


def _name(item: pytest.Item) -> str:
    return item.name.removeprefix("test_").replace("_", " ").replace("[", ": ").removesuffix("]")


def _row(item: pytest.Item, scene: Scene, report: pytest.TestReport) -> Row:
    cores = len(os.sched_getaffinity(0))
    return Row(
        file=item.path.name,
        scene=_name(item),
        repetitions=scene.repetitions,
        outcome=_outcome(scene, report),
        seed=str(scene.seed),
        seconds=report.duration if scene.seconds is None else scene.seconds,
        at=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        commit=item.config.stash[COMMIT],
        place=f"{cores} cores, Python {platform.python_version()}, Kubernetes {build.kubernetes_version()}",
    )


def _outcome(scene: Scene, report: pytest.TestReport) -> str:
    if report.skipped:
        return "skipped"
    return f"**failed** {scene.found}".rstrip() if report.failed else scene.found or "passed"


def _commit() -> str:
    """Return the commit that runs, with a plus sign where the tree differs from it; results are no part of it."""
    try:
        commit, changed = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "-uno", "--", ".", ":!docs/results")
    except (OSError, subprocess.CalledProcessError):
        return "none"
    return commit + "+" * bool(changed)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
