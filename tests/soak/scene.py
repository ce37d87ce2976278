"""One scene of a soak: its seed, how often things are repeated, and what the page says of it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

TIMES = "GANGWARDEN_SOAK"
SEED = "GANGWARDEN_SOAK_SEED"


@dataclass
class Scene:
    """What a test of this folder is handed."""

    seed: int
    random: random.Random
    repetitions: str = ""
    found: str = ""
    times: int = field(default_factory=lambda: max(1, int(os.environ.get(TIMES) or 1)))

    def often(self, count: int) -> int:
        """Return a count, multiplied as the environment says."""
        return count * self.times

    def done(self, repetitions: str, found: str) -> None:
        """Say what was repeated how often, and what came of it."""
        self.repetitions, self.found = repetitions, found
        print(f"{repetitions}: {found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the page."""

    scene: str
    repetitions: str
    outcome: str
    seed: str
    seconds: float


def page(rows: Iterable[Row], *, date: str, cores: int, versions: str) -> str:
    """Return the page for ``docs/results``."""
    head = [
        "# Soak",
        "",
        f"{date} UTC, {cores} cores, {versions}.",
        f"`make soak` writes this page anew when all scenes ran; `{TIMES}=N` repeats everything N times as often, and",
        f"`{SEED}` takes the random choices of an earlier run.",
        "",
        "| scene | repetitions | outcome | seconds | seed |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    lines = [f"| {row.scene} | {row.repetitions} | {row.outcome} | {row.seconds:.0f} | {row.seed} |" for row in rows]
    return "\n".join([*head, *lines]) + "\n"
