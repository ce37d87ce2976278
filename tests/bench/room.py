"""What planning costs: group objects of one Job, and whether a gang has room in a cluster of 5,000 nodes and 50,000 pods."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

from tests.bench.cpu import in_turns
from tests.bench.figures import Comparison, Fact, Section
from tests.bench.review import labelled
from tests.builders import Object
from webhook.groups import plan_group
from webhook.groups.objects import stamp
from webhook.model.groups import GroupPlan, PlannedGroup, Route
from webhook.model.objects import ObjectKey
from webhook.model.snapshot import EMPTY_SNAPSHOT, snapshot_of
from webhook.preemption import Capacity, NodeRoomView

NODES, PODS, RACK = 5_000, 50_000, 16
RACK_KEY = "topology.kubernetes.io/rack"
BODY_BYTES = 18_000
METHOD = f"""\
{NODES:,} nodes in racks of {RACK}, {PODS:,} running pods at random places. `cluster.fit` asks for room for a gang; between two
questions a pod ends and another begins, so that no sum is older than the last change. Planning is that of one new Job without
objects. The unit is `json.loads` of a Job of 18 KB in the same run; the bars of the project are 40 for 64 pods with a topology
key, and 1 for the planning of a Job."""


def measure() -> Section:
    """Measure on made-up nodes."""
    body = typical_body()
    running = list(_pods())
    capacity = Capacity.of(snapshot_of([*_nodes(), *running]))
    view = NodeRoomView(lambda: capacity)
    anchor = lambda: json.loads(body)  # noqa: E731
    asked = {
        "fit of 64 pods in one rack": _asking(capacity, view, running, 64, RACK_KEY),
        "fit of 64 pods anywhere": _asking(capacity, view, running, 64, ""),
        "fit of 4,000 pods in one rack, which have none": _asking(capacity, view, running, 4_000, RACK_KEY),
        "one pod ends and one begins": _change(capacity, running),
        "plan_group of a new Job": _plan(),
    }
    measured = {what: in_turns(call, anchor, rounds=5) for what, call in asked.items()}
    return Section(
        title="Planning",
        method=METHOD,
        ours="ours",
        anchor="json.loads of 18 KB",
        comparisons=tuple(
            Comparison(what=what, unit="us", ours=ours, anchor=theirs) for what, (ours, theirs) in measured.items()
        ),
        facts=(Fact(what="size of the Job that is the unit", unit="bytes", values=(float(len(body)),)),),
    )


def _asking(capacity: Capacity, view: NodeRoomView, running: list[Object], count: int, key: str) -> Callable[[], object]:
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "8", "memory": "64Gi", "example.com/gpu": "1"}}}]}
    change = _change(capacity, running)

    def call() -> object:
        change()
        return view.fit(spec, count, key)

    return call


def _change(capacity: Capacity, running: list[Object]) -> Callable[[], object]:
    turn = iter(range(10**9))

    def call() -> None:
        pod = running[next(turn) * 7919 % len(running)]  # a prime spreads them
        capacity.change(ObjectKey.of(pod), pod, None)
        capacity.change(ObjectKey.of(pod), None, pod)

    return call


def _plan() -> Callable[[], object]:
    group = PlannedGroup(template="workers", pod_group="train-0a", count=4, min_count=4)
    plan = GroupPlan(policy="labelled-jobs", binding="all", route=Route.MANAGED, groups=(group,))
    job = labelled(1)
    stored = stamp({**job, "metadata": {**job["metadata"], "uid": "u-1"}}, plan)
    return lambda: plan_group(stored, plan, EMPTY_SNAPSHOT)


def typical_body() -> bytes:
    """Return the Job of 18 KB that is the unit."""
    containers = 1
    while len(body := json.dumps(labelled(containers)).encode()) < BODY_BYTES:
        containers += 1
    return body


def _nodes() -> Iterator[Object]:
    room = {"cpu": "96", "memory": "700Gi", "example.com/gpu": "8", "pods": "110"}
    for index in range(NODES):
        meta = {"name": f"node-{index}", "labels": {RACK_KEY: f"rack-{index // RACK}"}}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": {"allocatable": room}}


def _pods() -> Iterator[Object]:
    chance = random.Random(7)  # the same cluster in every run
    for index in range(PODS):
        requests = {"cpu": "2", "memory": "8Gi", "example.com/gpu": chance.choice("01")}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{index}", "namespace": f"team-{index % 50}"},
            "spec": {
                "nodeName": f"node-{chance.randrange(NODES)}",
                "containers": [{"name": "main", "resources": {"requests": requests}}],
            },
            "status": {"phase": "Running"},
        }
