"""``python -m tests.security.fuzz TARGET [--seconds N] [--runs N] [--seed N] [--work DIR]``, or ``… TARGET FILE``: one input."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.security.fuzz import TARGETS, engine

CORPUS = Path(__file__).resolve().parents[1] / "corpus"


def main() -> None:
    """Fuzz, or hand one file over."""
    asked = argparse.ArgumentParser(prog="python -m tests.security.fuzz", description=__doc__)
    asked.add_argument("target", choices=TARGETS)
    asked.add_argument("file", nargs="?", type=Path, help="run this input and nothing else")
    asked.add_argument("--seconds", type=int, default=60)
    asked.add_argument("--runs", type=int, default=-1, help="stop after so many inputs, if that is sooner")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--work", type=Path, help="an empty folder for what is found; default: a new one")
    given = asked.parse_args()
    if given.file:
        engine.load(given.target).run(given.file.read_bytes())
        return
    work = given.work or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    print(f"what is found goes to {work}", file=sys.stderr)
    engine.fuzz(given.target, seeds=CORPUS / given.target, work=work, seconds=given.seconds, runs=given.runs, seed=given.seed)


if __name__ == "__main__":
    main()
