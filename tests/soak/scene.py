"""One scene of a soak: its seed, how often things are repeated, and what came of it."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

TIMES = "GANGWARDEN_SOAK"
SEED = "GANGWARDEN_SOAK_SEED"


def often(count: int) -> int:
    """Return a count, multiplied as the environment says."""
    return count * max(1, int(os.environ.get(TIMES) or 1))


@dataclass
class Scene:
    """What a test of this folder is handed."""

    seed: int
    random: random.Random
    repetitions: str = ""
    found: str = ""
    seconds: float | None = None
    """How long it was played, where that is not how long its test took."""

    def often(self, count: int) -> int:
        """Return a count, multiplied as the environment says."""
        return often(count)

    def done(self, repetitions: str, found: str) -> None:
        """Say what was repeated how often, and what came of it."""
        self.repetitions, self.found = repetitions, found
        print(f"{repetitions}: {found}")
