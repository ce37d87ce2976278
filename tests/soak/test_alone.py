"""The scenes that concern all others and so are played alone, ten times: none may be missed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.test_disruption import ROUTES, alone, leaders_die_between_two_steps, the_api_server_is_away
from tests.soak.replicas import two_controllers
from tests.soak.scene import Scene

ROUNDS = 10


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("route", ROUTES)
def test_leaders_die_at_each_step_and_the_api_server_in_the_middle(scene: Scene, route: str, tmp_path: Path) -> None:
    flags, rounds = ROUTES[route][1], scene.often(ROUNDS)
    scene.done(f"{rounds} rounds of four leaders and an API server killed", "none held")
    with two_controllers(route, tmp_path) as installed:
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
