"""Ten minutes of each fuzzer: no crash, nothing that does not end, and no allow out of an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.fuzz import TARGETS
from tests.security.fuzz.running import inputs_tried
from tests.soak.scene import Scene

SECONDS = 600


@pytest.mark.parametrize("target", TARGETS)
def test_fuzzing(scene: Scene, tmp_path: Path, target: str) -> None:
    seconds = scene.often(SECONDS)
    tried = inputs_tried(target, tmp_path / "work", seconds=seconds, seed=scene.seed)
    assert tried > SECONDS
    scene.done(f"{tried:,} inputs in {seconds} s", "every one answered in words, and none allowed that must be denied")
