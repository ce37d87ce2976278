"""Run every measurement, show each as it comes, and write the page."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench import binding, cel_go, check, explosion, expressions, feed, following, groups, review, room, serving
from tests.bench.figures import Report, Section
from tests.bench.render import from_json, merged, to_json, to_markdown, to_text
from tests.controlplane.build import kubernetes_version

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
MEASUREMENTS: dict[str, Callable[[], Section]] = {
    "binding": binding.measure,
    "review": review.measure,
    "cel": expressions.measure,
    "cel-go": cel_go.measure,
    "explosion": explosion.measure,
    "feed": feed.measure,
    "following": following.measure,
    "check": check.measure,
    "room": room.measure,
    "groups": groups.measure,
    "serving": serving.measure,
}
PACKAGES = ("cel-python", "orjson", "uvloop")


def main() -> int:
    """Measure; a run of some measurements is written down only when asked to, and then replaces only theirs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[[], *MEASUREMENTS], help="measurements to run; none: all, and write the page")
    parser.add_argument("--write", action="store_true", help="write the page although only some are run")
    asked = parser.parse_args()
    only = asked.only or list(MEASUREMENTS)
    at, load, began = datetime.now(UTC), os.getloadavg()[0], time.monotonic()
    sections = []
    for name in only:
        sections.append(MEASUREMENTS[name]())
        print(to_text(sections[-1]), end="\n\n", flush=True)
    report = Report(
        at=at,
        cores=len(os.sched_getaffinity(0)),
        load=load,
        seconds=time.monotonic() - began,
        versions={
            "Python": platform.python_version(),
            "Kubernetes": kubernetes_version(),
            **{name: version(name) for name in PACKAGES},
        },
        sections=tuple(sections),
    )
    if asked.write and asked.only:
        report = merged(from_json((RESULTS / "bench.json").read_text(encoding="utf-8")), report)
    if asked.write or len(only) == len(MEASUREMENTS):
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "bench.json").write_text(to_json(report), encoding="utf-8")
        (RESULTS / "bench.md").write_text(to_markdown(report), encoding="utf-8")
        print("written: docs/results/bench.md and bench.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
