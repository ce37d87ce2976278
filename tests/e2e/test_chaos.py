"""Ninety seconds in which everything happens at once, and nobody notices."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.chaos.scene import Plan, play

SEED = 8
PLAN = Plan(seconds=90, rolls=(5,), kills=(10, 80))
"""What is replaced is so at the beginning, so that those which then run live long enough for their memory to be judged."""


@pytest.mark.timeout(900)
def test_nobody_notices_that_everything_is_replaced(tmp_path: Path) -> None:
    result = play(PLAN, tmp_path, Random(SEED))
    print(f"{result.load}: {result.outcome}")
    result.check()
