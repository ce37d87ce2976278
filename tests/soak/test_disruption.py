"""The scenes of disruption again and again, in a random order and side by side, while leaders die: none may be missed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.disruptions import SCENES
from tests.e2e.installation import Installation
from tests.e2e.test_disruption import ROUTES, play
from tests.soak.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, AT_ONCE = 10, 6
DEATH_SECONDS = 45.0
"""About how often a leader dies; a scene lasts some 15 s, and the Lease of a dead one as long."""


@pytest.fixture(params=ROUTES)
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    gates, flags = ROUTES[request.param]
    with ControlPlane(gates=gates) as cluster:
        made = Installation(cluster, ROOT / "policies", tmp_path)
        try:
            made.start_webhook("serve", *flags)
            for _ in range(2):
                made.start_controller(*flags)
            made.wait_for_leader()
            yield made
        finally:
            made.close()
            print(made.logs())


@pytest.mark.timeout(7200)
def test_scenes_of_disruption_while_leaders_die(scene: Scene, installed: Installation, request: pytest.FixtureRequest) -> None:
    flags = ROUTES[request.node.callspec.params["installed"]][1]
    names = [name for name in SCENES for _ in range(scene.often(ROUNDS))]
    scene.random.shuffle(names)
    deaths, ended, missed = Counter[str](), threading.Event(), []
    reaper = threading.Thread(target=reap, args=(installed, flags, deaths, ended, scene))
    reaper.start()
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            played = [(name, pool.submit(play, installed.cluster, name)) for name in names]
            for name, each in played:
                if (error := each.exception()) is not None:
                    missed.append(f"{name}: {error}")
    finally:
        ended.set()
        reaper.join()
    scene.done(
        f"{len(names)} scenes of {len(SCENES)} kinds, {deaths['leaders']} leaders killed meanwhile", f"{len(missed)} missed"
    )
    if missed:
        pytest.fail("\n".join(missed))


def reap(installed: Installation, flags: tuple[str, ...], deaths: Counter[str], ended: threading.Event, scene: Scene) -> None:
    """Kill the leader now and then, and start another one."""
    while not ended.wait(scene.random.uniform(0.5, 1.5) * DEATH_SECONDS):
        with suppress(AssertionError):  # the Lease of the last one may not have run out yet
            installed.wait_for_leader().kill()
            deaths["leaders"] += 1
            installed.start_controller(*flags)
