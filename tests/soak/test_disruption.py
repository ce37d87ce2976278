"""The scenes of disruption again and again, in a random order and side by side, while leaders die: none may be missed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.disruptions import SCENES
from tests.e2e.test_disruption import ROUTES, play
from tests.soak.reaper import FilledUpError, Reaper
from tests.soak.replicas import two_controllers
from tests.soak.scene import Scene, often

ROUNDS, AT_ONCE = 10, 6
TRIES = 5
"""A leader is away for about a quarter of the time, and a scene for which that matters loses its member in a part of it."""


@dataclass
class Played:
    """What comes of the scenes of one route: for each, its rounds, as seconds or with why one was missed."""

    reaper: Reaper
    rounds: dict[str, list[Future[float]]] = field(default_factory=dict)
    again: Counter[str] = field(default_factory=Counter)

    def begin(self, pool: ThreadPoolExecutor, cluster: ControlPlane, names: list[str]) -> None:
        """Begin all rounds, in this order."""
        for name in names:
            self.rounds.setdefault(name, []).append(pool.submit(self.play_until_led, cluster, name))

    def play_until_led(self, cluster: ControlPlane, name: str) -> float:
        """Play a scene, and again where a Job was quicker than the next leader; say when it began and ended, and how."""
        for left in reversed(range(TRIES)):
            began, since, how = datetime.now(UTC), time.monotonic(), "missed"
            try:
                play(cluster, name, on_miss=self.reaper.explain)
                how = "held"
                return time.monotonic() - since
            except FilledUpError:
                how = "again"
                self.again[name] += 1
                if not left:
                    raise
            except AssertionError as error:
                print("\n".join((repr(error), *getattr(error, "__notes__", ()))), flush=True)
                raise
            finally:
                print(f"{began:%H:%M:%S} to {datetime.now(UTC):%H:%M:%S} {name}: {how}", flush=True)
        raise AssertionError("unreachable: the last try returns or raises")


@pytest.fixture(scope="module", params=ROUTES)
def played(request: pytest.FixtureRequest, seed: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """All rounds of the scenes that were chosen on one route, begun."""
    route, random = str(request.param), Random(f"{seed} {request.param}")
    items = [item for item in request.session.items if "kind" in getattr(getattr(item, "callspec", None), "params", {})]
    chosen = {item.callspec.params["kind"] for item in items if item.callspec.params["played"] == route}
    names = [name for name in SCENES if name in chosen for _ in range(often(ROUNDS))]
    random.shuffle(names)
    with two_controllers(route, tmp_path_factory.mktemp(route)) as installed:
        reaper, pool = Reaper(installed, ROUTES[route][1], random), ThreadPoolExecutor(AT_ONCE)
        reaper.start()
        try:
            made = Played(reaper)
            made.begin(pool, installed.cluster, names)
            yield made
        finally:
            pool.shutdown(cancel_futures=True)
            reaper.end()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", SCENES)
def test_leaders_die_while(scene: Scene, played: Played, kind: str) -> None:
    rounds = played.rounds[kind]
    missed = [repr(error) for each in rounds if (error := each.exception()) is not None]
    scene.seconds = sum(each.result() for each in rounds if each.exception() is None)
    again = (
        f", {played.again[kind]} more in which the Job filled its group up before the next leader" if played.again[kind] else ""
    )
    scene.done(f"{len(rounds)} rounds{again}", f"{len(missed)} missed")
    if missed:
        pytest.fail("\n".join(missed))
