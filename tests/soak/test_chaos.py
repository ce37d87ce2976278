"""Ten minutes in which everything happens at once, and nobody notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.scene import Plan, play
from tests.soak.scene import Scene

SECONDS = 600
PLAN = {"rolls": (5, 200), "kills": (10, 90, 180, 270)}
"""Afterwards there are minutes in which replicas and a leader live long enough for their memory to be judged."""


@pytest.mark.timeout(1800)
def test_nobody_notices_that_everything_is_replaced(scene: Scene, tmp_path: Path) -> None:
    result = play(Plan(seconds=scene.often(SECONDS), **PLAN), tmp_path, scene.random)
    scene.done(result.load, result.outcome)
    result.check()
