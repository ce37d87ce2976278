"""Seeds, counts and the page of a soak."""

from __future__ import annotations

import asyncio
import os
import platform
import random
import secrets
import signal
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvloop

from tests.controlplane import build
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import Nodes
from tests.soak.scene import SEED, TIMES, Row, Scene, page

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "results" / "soak.md"
SCENE_SECONDS = 900
ROWS = pytest.StashKey[list[Row]]()
EXPECTED = pytest.StashKey[int]()
ROOMY = Nodes(cpu="256", pods="1000")
"""Room for every gang of a scene at once: what is looked for are losses, not waiting."""


def pytest_configure(config: pytest.Config) -> None:
    """Let a polite kill end the session as Ctrl-C does, so that nothing is left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.stash[ROWS] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark everything in this folder; count it before ``-m`` and ``-k`` choose."""
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.soak)
        item.add_marker(pytest.mark.timeout(SCENE_SECONDS * max(1, int(os.environ.get(TIMES) or 1))))
    everything = {item.path for item in ours} == set(HERE.glob("test_*.py"))
    config.stash[EXPECTED] = len(ours) if everything else 0


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
    """Write the page when every scene ran."""
    rows = session.config.stash[ROWS]
    if not rows or len(rows) != session.config.stash.get(EXPECTED, 0):
        return
    versions = f"Python {platform.python_version()}, Kubernetes {build.kubernetes_version()}"
    cores = len(os.sched_getaffinity(0))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(rows, date=f"{datetime.now(UTC):%Y-%m-%d %H:%M}", cores=cores, versions=versions), encoding="utf-8")


def _row(item: pytest.Item, scene: Scene, report: pytest.TestReport) -> Row:
    name = item.name.removeprefix("test_").replace("_", " ").replace("[", ": ").removesuffix("]")
    outcome = "skipped" if report.skipped else "**failed**" if report.failed else scene.found or "passed"
    return Row(scene=name, repetitions=scene.repetitions, outcome=outcome, seed=str(scene.seed), seconds=report.duration)
