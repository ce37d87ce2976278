"""How long a Job waits for its nodes: from the call that creates it to the moment its four pods are bound.

The same Job once with the label and once without, on one real control plane in one run, with Gangwarden's webhook
and controller beside it in both cases. A watch hears of every binding at once; polling would add its own grain.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.figures import Comparison, Fact, Section
from tests.controlplane import build
from tests.controlplane.client import JOBS, POD_GROUPS, PODS, WORKLOADS, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import is_bound, job
from tests.controlplane.watch import watching
from tests.e2e.installation import Installation, labelled_job

ROOT = Path(__file__).resolve().parents[2]
PAIRS = 20
WARM_UP = 2
"""Pairs before the first that counts: the API server opens connections, the webhook fills caches."""
MEMBERS = 4
REST_SECONDS = 2.0
"""Pause before each Job. The Job controller's client allows itself 20 calls a second in the long run (client-go's default
of kube-controller-manager), and creating and clearing a Job of four pods takes about 30: without a rest the figures
would show that limiter, which costs both sides the same half second and hides what is asked."""
PATIENCE_SECONDS = 60.0
METHOD = f"""\
From just before the call that creates a Job of {MEMBERS} pods to the moment all are bound, on one real control plane (etcd, API
server, controller manager, scheduler; fake nodes), {PAIRS} pairs in turns: the same Job with the label `gangwarden.dev/gang` and
without. The webhook is registered and the controller runs in both cases. Before each Job the nodes are empty, and a rest of
{REST_SECONDS:g} s lets the Job controller's own rate limiter (20 calls a second) fill up, which would otherwise be all that is
seen. Times are those at which a watch tells of the change. The bar of the project is a ratio of at most 1.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What happened to one Job, in milliseconds after the call began."""

    created: float
    grouped: float
    bound: float


def measure() -> Section:
    """Measure on a control plane of its own."""
    build.ensure(say=lambda line: print(line, flush=True))
    with ControlPlane() as cluster, tempfile.TemporaryDirectory(prefix="gangwarden-bench-") as directory:
        installed = Installation(cluster, ROOT / "policies", Path(directory))
        try:
            installed.start_webhook()
            installed.start_controller()
            installed.wait_for_leader()
            with cluster.namespace() as namespace:
                grouped, plain = _pairs(cluster, namespace)
        finally:
            installed.close()
    return Section(
        title="From Job to bound pods, grouped over ungrouped",
        method=METHOD,
        ours="grouped",
        anchor="ungrouped",
        comparisons=(
            _compared("all 4 pods bound", grouped, plain, lambda start: start.bound),
            _compared("the call that creates the Job", grouped, plain, lambda start: start.created),
        ),
        facts=(Fact(what="grouped: the PodGroup exists after", unit="ms", values=tuple(start.grouped for start in grouped)),),
    )


def _compared(what: str, grouped: list[Start], plain: list[Start], figure: Callable[[Start], float]) -> Comparison:
    return Comparison(what=what, unit="ms", ours=tuple(map(figure, grouped)), anchor=tuple(map(figure, plain)))


def _pairs(cluster: ControlPlane, namespace: str) -> tuple[list[Start], list[Start]]:
    client = cluster.client
    found: dict[bool, list[Start]] = {True: [], False: []}
    seen = Seen()
    with watching(cluster, PODS, namespace, seen.pod), watching(cluster, POD_GROUPS, namespace, seen.group):
        for pair in range(WARM_UP + PAIRS):
            for grouped in (True, False) if pair % 2 else (False, True):
                name = f"{'grouped' if grouped else 'plain'}-{pair}"
                start = _start(client, seen, (labelled_job if grouped else job)(name, namespace, pods=MEMBERS))
                if pair >= WARM_UP:
                    found[grouped].append(start)
                _clear(client, namespace, name)
    return found[True], found[False]


def _start(client: Client, seen: Seen, made: dict[str, Any]) -> Start:
    time.sleep(REST_SECONDS)
    began = time.monotonic()
    client.create(made)
    created = time.monotonic()
    bound = seen.wait_bound(made["metadata"]["name"])
    return Start(
        created=(created - began) * 1e3,
        grouped=(seen.first_group(since=began) - began) * 1e3,
        bound=(bound - began) * 1e3,
    )


def _clear(client: Client, namespace: str, name: str) -> None:
    client.delete(JOBS, namespace, name)
    wait_for(
        lambda: not any(client.list(resource, namespace) for resource in (PODS, POD_GROUPS, WORKLOADS)),
        seconds=PATIENCE_SECONDS,
        what=f"{name} is gone",
    )


class Seen:
    """What the watches have told, with the time at which they did."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._bound: dict[str, dict[str, float]] = {}
        self._groups: list[float] = []

    def pod(self, event: dict[str, Any], now: float) -> None:
        """Take in an event of a pod."""
        found = event["object"]
        if event["type"] == "DELETED" or not is_bound(found):
            return
        with self._changed:
            times = self._bound.setdefault(found["metadata"]["labels"]["job"], {})
            times.setdefault(found["metadata"]["name"], now)
            self._changed.notify_all()

    def group(self, event: dict[str, Any], now: float) -> None:
        """Take in an event of a PodGroup."""
        if event["type"] == "ADDED":
            with self._changed:
                self._groups.append(now)

    def wait_bound(self, name: str) -> float:
        """Return when the last member was bound."""
        with self._changed:
            complete = self._changed.wait_for(lambda: len(self._bound.get(name, {})) >= MEMBERS, PATIENCE_SECONDS)
            assert complete, f"{name}: bound are {sorted(self._bound.get(name, {}))}"
            return max(self._bound[name].values())

    def first_group(self, *, since: float) -> float:
        """Return when the first PodGroup after a moment was seen; not a number where there was none."""
        with self._changed:
            return next((at for at in self._groups if at >= since), float("nan"))
