"""What soaks found: one row a scene, each of its own day and commit, kept from run to run; the page is made of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.soak.scene import SEED, TIMES

HEAD = ("date, UTC", "commit", "scene", "repetitions", "outcome", "seconds", "seed")
RULE = ("---",) * 5 + ("---:",) * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the page: what came of a scene when it last ran."""

    file: str
    """Where the scene is written, without its folder."""
    scene: str
    repetitions: str
    outcome: str
    seed: str
    seconds: float
    at: str
    commit: str
    place: str
    """Cores and versions."""


def load(path: Path) -> list[Row]:
    """Return the rows that were kept; none where there is no file."""
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def to_json(rows: Iterable[Row]) -> str:
    """Return what `load` reads."""
    return json.dumps([asdict(row) | {"seconds": round(row.seconds)} for row in rows], indent=1, ensure_ascii=False) + "\n"


def merged(kept: Iterable[Row], new: Iterable[Row], *, known: dict[str, Collection[str]], files: Collection[str]) -> list[Row]:
    """Return the rows in order of file and scene, the new ones in place of those of the same scene.

    ``known`` has all scenes of each file that was collected whole, ``files`` all files that there are: what is in neither
    is gone, and so is its row.
    """
    rows = {(row.file, row.scene): row for row in kept if row.file in files and row.scene in known.get(row.file, (row.scene,))}
    rows |= {(row.file, row.scene): row for row in new}
    return [rows[key] for key in sorted(rows)]


def page(rows: Sequence[Row]) -> str:
    """Return the page for ``docs/results``."""
    head = [
        "# Soak",
        "",
        f"On {'; '.join(sorted({row.place for row in rows}))}.",
        "`make soak` runs all scenes; a run replaces the rows of the scenes that it ran, also of those that failed, and",
        "`soak.json` keeps the others.",
        f"`{TIMES}=N` repeats everything N times as often, and `{SEED}` takes the random choices of an earlier run.",
        "",
    ]
    return "\n".join([*head, _line(HEAD), _line(RULE), *(_line(_cells(row)) for row in rows)]) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    return (row.at, row.commit, row.scene, row.repetitions, row.outcome, f"{row.seconds:.0f}", row.seed)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
