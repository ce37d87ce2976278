"""The scenes of disruption again and again, in a random order and side by side, while leaders die: none may be missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.disruptions import SCENES
from tests.e2e.installation import Installation, running
from tests.e2e.test_disruption import ROUTES, alone, leaders_die_between_two_steps, play, the_api_server_is_away
from tests.soak.reaper import FilledUpError, Reaper
from tests.soak.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, AT_ONCE = 10, 6
TRIES = 5
"""A leader is away for about a quarter of the time, and a scene for which that matters loses its member in a part of it."""


@pytest.fixture(params=ROUTES)
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    gates, flags = ROUTES[request.param]
    with ControlPlane(gates=gates) as cluster, running(cluster, ROOT / "policies", tmp_path, "serve", *flags) as made:
        for _ in range(2):
            made.start_controller(*flags)
        made.wait_for_leader()
        yield made


@pytest.mark.timeout(7200)
def test_scenes_of_disruption_while_leaders_die(scene: Scene, installed: Installation, request: pytest.FixtureRequest) -> None:
    flags = ROUTES[request.node.callspec.params["installed"]][1]
    names = [name for name in SCENES for _ in range(scene.often(ROUNDS))]
    scene.random.shuffle(names)
    again = Counter[str]()
    reaper = Reaper(installed, flags, scene)
    reaper.start()
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        played = [(name, pool.submit(play_until_led, installed.cluster, name, reaper, again)) for name in names]
        missed = [f"{name}: {error!r}" for name, each in played if (error := each.exception()) is not None]
    finally:
        pool.shutdown(cancel_futures=True)
        reaper.end()
    scene.done(
        f"{len(names)} scenes of {len(SCENES)} kinds, {len(reaper.lapses)} leaders killed meanwhile,"
        f" {again.total()} played again as a Job filled its group up before the next one led",
        f"{len(missed)} missed",
    )
    if missed:
        pytest.fail("\n".join(missed))


@pytest.mark.timeout(7200)
def test_scenes_that_are_played_alone(scene: Scene, installed: Installation, request: pytest.FixtureRequest) -> None:
    flags = ROUTES[request.node.callspec.params["installed"]][1]
    rounds = scene.often(ROUNDS)
    scene.done(f"{rounds} rounds: four leaders killed, each at another step; the API server killed in the middle", "none held")
    for played in range(1, rounds + 1):
        with alone(installed) as stage:
            leaders_die_between_two_steps(installed, stage, flags)
        with alone(installed) as stage:
            the_api_server_is_away(installed, stage)
        for spare in [one for one in installed.controllers if one.alive][2:]:
            spare.stop()
        scene.found = f"{played} held"
        print(f"{datetime.now(UTC):%H:%M:%S} {scene.found}", flush=True)
    scene.found = "0 missed"


def play_until_led(cluster: ControlPlane, name: str, reaper: Reaper, again: Counter[str]) -> None:
    """Play a scene, and again where a Job was quicker than the next leader; say when it began and ended, and how."""
    for left in reversed(range(TRIES)):
        began, how = datetime.now(UTC), "missed"
        try:
            play(cluster, name, on_miss=reaper.explain)
            how = "held"
        except FilledUpError:
            how = "again"
            again[name] += 1
            if not left:
                raise
        except AssertionError as error:
            print("\n".join((repr(error), *getattr(error, "__notes__", ()))), flush=True)
            raise
        finally:
            print(f"{began:%H:%M:%S} to {datetime.now(UTC):%H:%M:%S} {name}: {how}", flush=True)
        if how == "held":
            return
