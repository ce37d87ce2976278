"""The random lives of a group, far more of them and longer ones than a commit can wait for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from tests.preemption.test_lives import Lives
from tests.soak.scene import Scene

LIVES, STEPS = 600, 50


@pytest.mark.timeout(1800)
def test_lives_of_a_group(scene: Scene) -> None:
    profile = settings(
        max_examples=scene.often(LIVES),
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(seeded(scene.seed)(Lives), settings=profile)
    scene.done(f"{scene.often(LIVES):,} lives of {STEPS} steps", "never left in part, nobody else's touched")
