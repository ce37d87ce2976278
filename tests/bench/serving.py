"""What a review costs over HTTPS, beside the same webhook in Go: CPU time of the two servers, answers and latency.

Both get the same bodies from the same generator, in turns within each round, so that a busy moment hits both.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.figures import Comparison, Fact, Section
from tests.bench.serving_sides import ANCHOR, ENGINES, OURS, Side, anchor_folder, bodies, certificate, sides, tools
from tests.controlplane.build import BuildError

TITLE = "Reviews over HTTPS beside Go"
CONNECTIONS = (8, 64, 500)
RATE = 400
BARS = {("apiserver", "large"): 0.5, ("apiserver", "small"): 0.8, ("lean", "large"): 1.0, ("lean", "small"): 1.6}
"""Of CPU time, ours over the anchor's, by engine and body."""
TICKS = os.sysconf("SC_CLK_TCK")
METHOD = f"""\
`/validate` with fifteen ValidatingAdmissionPolicies over TLS 1.3 on HTTP/1.1, one Job of 20 containers (*large*, 19 KB) and
one of 1 (*small*, 3 KB), all admitted. Ours is the webhook's own application in a process of its own: cost budgets, deadline,
limits, metrics and one JSON line of log a decision, as in production. The anchor is a webhook on Go's `net/http` with the API
server's own CEL packages: engine *apiserver* is its validator with cost limits, engine *lean* has no accounting, no limits
and a faster JSON decoder. A generator of prepared requests keeps its connections; the three servers take turns in each round,
and a ratio is the median of the rounds' ratios. CPU is user and system time of the server's process per 1,000 answered
reviews, handshakes aside. The rows at {RATE} reviews a second are time from the moment a request is due to its answer. The
bars of the project for CPU: at most 0.5 (*large*) and 0.8 (*small*) of *apiserver*, 1.0 and 1.6 of *lean*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long it takes."""

    rounds: int = 5
    seconds: float = 1.5
    rate_rounds: int = 3
    rate_seconds: float = 4.0
    warm_seconds: float = 2.0


TRIAL = Plan(rounds=2, seconds=1.0, rate_rounds=1, rate_seconds=2.0, warm_seconds=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one server did in one round."""

    cpu_ms: float
    """Per 1,000 answered reviews."""
    a_second: float
    p50_ms: float
    p99_ms: float
    statuses: dict[str, int]


Found = dict[str, list[Turn]]


def measure() -> Section:
    """Measure all three, or say why that is not possible; GANGWARDEN_BENCH_TRIAL makes it short."""
    folder = anchor_folder()
    if folder is None:
        return Section(title=TITLE, method=METHOD, skipped=f"the anchor ({ANCHOR}) is not beside the repository")
    plan = TRIAL if os.environ.get("GANGWARDEN_BENCH_TRIAL") else Plan()
    try:
        made = tools(folder)
    except (BuildError, OSError) as error:
        return Section(title=TITLE, method=METHOD, skipped=f"the anchor cannot be built here: {error}")
    with tempfile.TemporaryDirectory(prefix="gangwarden-serving-") as name, ExitStack() as stack:
        certificate(scratch := Path(name))
        running = stack.enter_context(sides(made, folder, scratch))
        loads = [Load(made.load, body) for body in bodies(folder, scratch)]
        comparisons = [found for load in loads for found in _measured(load, running, plan)]
    return Section(
        title=TITLE,
        method=METHOD,
        ours=OURS,
        anchor="Go",
        comparisons=tuple(each for each in comparisons if isinstance(each, Comparison)),
        facts=tuple(each for each in comparisons if isinstance(each, Fact)),
    )


@dataclass(frozen=True, slots=True)
class Load:
    """The generator with one body."""

    program: Path
    body: Path

    def turn(self, side: Side, connections: int, seconds: float, *, rate: int = 0) -> Turn:
        """Post to one server for some seconds: as fast as it goes, or so many a second."""
        asked = {"url": side.url, "body": self.body, "connections": connections, "seconds": seconds, "rate": rate}
        command = [self.program, "-wait", *(f"-{name}={value}" for name, value in asked.items())]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            before = _cpu_ms(side.pid)  # without the handshakes
            said, _ = process.communicate("\n")
        return _turn_of(json.loads(said), _cpu_ms(side.pid) - before)


def _measured(load: Load, running: tuple[Side, ...], plan: Plan) -> Iterator[Comparison | Fact]:
    body = load.body.stem
    for side in running:
        load.turn(side, 8, plan.warm_seconds)
    for connections in CONNECTIONS:
        found = _rounds(plan.rounds, running, lambda side, many=connections: load.turn(side, many, plan.seconds))
        yield from _costs(found, body, connections)
        yield from _answers(found, f"{body}, {connections} connections")
    found = _rounds(plan.rate_rounds, running, lambda side: load.turn(side, 8, plan.rate_seconds, rate=RATE))
    yield from _waits(found, body)


def _rounds(count: int, running: tuple[Side, ...], turn: Callable[..., Turn]) -> Found:
    """Let all sides take turns, each round in the other order."""
    found: Found = {side.name: [] for side in running}
    for number in range(count):
        for side in running if number % 2 else running[::-1]:
            found[side.name].append(turn(side))
    return found


def _turn_of(said: dict[str, Any], cpu_ms: float) -> Turn:
    served = max(said["statuses"].get("200", 0), 1)
    return Turn(
        cpu_ms=1000 * cpu_ms / served,
        a_second=served / said["seconds"],
        p50_ms=said["p50_ms"],
        p99_ms=said["p99_ms"],
        statuses=said["statuses"],
    )


def _cpu_ms(pid: int) -> float:
    """Return the user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS * 1000


def _costs(found: Found, body: str, connections: int) -> Iterator[Comparison]:
    for engine in ENGINES:
        yield Comparison(
            what=f"CPU, {body}, {connections} connections, {engine} (bar {BARS[engine, body]})",
            unit="ms/1,000",
            ours=tuple(turn.cpu_ms for turn in found[OURS]),
            anchor=tuple(turn.cpu_ms for turn in found[engine]),
            paired=True,
        )


def _waits(found: Found, body: str) -> Iterator[Comparison]:
    for engine in ENGINES:
        for figure in ("p50_ms", "p99_ms"):
            yield Comparison(
                what=f"{figure.removesuffix('_ms')} at {RATE}/s, {body}, {engine}",
                unit="ms",
                ours=tuple(getattr(turn, figure) for turn in found[OURS]),
                anchor=tuple(getattr(turn, figure) for turn in found[engine]),
                paired=True,
            )


def _answers(found: Found, where: str) -> Iterator[Fact]:
    """Tell how fast each was flat out, and what ours did with every request."""
    for name, turns in found.items():
        yield Fact(what=f"{where}, {name}", unit="reviews/s", values=tuple(turn.a_second for turn in turns))
    sums = {kind: sum(_count(turn, kind) for turn in found[OURS]) for kind in ("200", "429")}
    everything = sum(sum(turn.statuses.values()) for turn in found[OURS])
    for what, value in (("shed", sums["429"]), ("neither served nor shed", everything - sum(sums.values()))):
        yield Fact(what=f"{where}, {OURS}: {what}", unit="reviews", values=(float(value),))


def _count(turn: Turn, status: str) -> int:
    return turn.statuses.get(status, 0)
