"""Room for a whole group, in one domain or anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.preemption.nodes import node, running, spec
from webhook.model.objects import Object
from webhook.model.snapshot import snapshot_of
from webhook.preemption import Capacity, NodeRoomView

RACKS = [node("a0", "a", gpu=8), node("a1", "a", gpu=8), node("b0", "b", gpu=8), node("free")]


def answer(objects: list[Object], pod_spec: Object, count: int, key: str = "") -> Object:
    return NodeRoomView(lambda: Capacity.of(snapshot_of(objects))).fit(pod_spec, count, key)


@pytest.mark.parametrize(
    ("count", "key", "fits", "largest", "domain"),
    [
        pytest.param(4, "rack", True, 4, "a", id="in the roomiest domain"),
        pytest.param(5, "rack", False, 4, "a", id="no domain holds more than its nodes"),
        pytest.param(6, "", True, 6, "", id="without a key all nodes count"),
        pytest.param(7, "", False, 6, "", id="nodes without the device have no room"),
        pytest.param(0, "rack", True, 0, "a", id="nothing fits everywhere"),
    ],
)
def test_four_gpus_a_pod(count: int, key: str, fits: bool, largest: int, domain: str) -> None:
    found = answer(RACKS, spec(gpu=4), count, key)
    assert (found["fits"], found["domain"]) == (fits, domain)
    assert found["largest"] == largest or (fits and count <= found["largest"])


def test_what_runs_takes_room_now_and_not_for_ever() -> None:
    found = answer([*RACKS, running("other", "a0", gpu=6)], spec(gpu=4), 4, "rack")
    assert (found["fits"], found["largest"], found["whenEmpty"]["fits"]) == (False, 2, True)


def test_what_is_over_takes_none() -> None:
    assert answer([*RACKS, running("other", "a0", phase="Succeeded", gpu=6)], spec(gpu=4), 4, "rack")["fits"]


def test_a_node_holds_no_more_pods_than_it_has_places_for() -> None:
    assert answer([node("n", pods=3)], spec(cpu="1m"), 4)["reason"] == (
        "the cluster has room for 3 of 4 pods: 1 node with no place for more pods"
    )


@pytest.mark.parametrize(
    ("objects", "more", "key", "reason"),
    [
        ([], {}, "", "there are no nodes"),
        ([node("n")], {}, "rack", "no node carries the label rack"),
        (
            [node("n", "a")],
            {"nodeSelector": {"x": "y"}},
            "",
            "no node has room for even one such pod: 1 node outside the nodeSelector",
        ),
        (
            [node("n", "a", unschedulable=True), node("m", "a", cpu=1)],
            {},
            "rack",
            "no domain of rack has room for even one such pod: 1 node cordoned, 1 node short of cpu",
        ),
        ([node("n", "a")], {}, "rack", "the largest domain of rack, a, has room for 4 of 9 pods: 1 node short of cpu"),
    ],
)
def test_the_reason_names_what_is_in_the_way(objects: list[Object], more: dict[str, Any], key: str, reason: str) -> None:
    assert answer(objects, spec(cpu=2) | more, 9, key)["reason"] == reason


nodes = st.lists(
    st.builds(
        lambda rack, cpu, gpu, cordoned: (rack, cpu, gpu, cordoned),
        st.sampled_from(["a", "b", "c", ""]),
        st.integers(0, 6),
        st.integers(0, 6),
        st.booleans(),
    ),
    max_size=8,
)


@given(nodes, st.integers(1, 3), st.integers(0, 2), st.integers(1, 12))
def test_no_way_of_placing_pods_one_by_one_does_better(
    given_nodes: list[tuple[str, int, int, bool]], cpu: int, gpu: int, count: int
) -> None:
    objects = [
        node(f"n{index}", rack, cpu=cores, gpu=devices, unschedulable=cordoned)
        for index, (rack, cores, devices, cordoned) in enumerate(given_nodes)
    ]
    found = answer(objects, spec(cpu=cpu, gpu=gpu), count, "rack")
    largest = max((_placed_one_by_one(given_nodes, rack, cpu, gpu) for rack in ("a", "b", "c")), default=0)
    assert found["fits"] == (largest >= count)
    assert found["largest"] == largest or (found["fits"] and count <= found["largest"] <= largest)


def _placed_one_by_one(given_nodes: list[tuple[str, int, int, bool]], rack: str, cpu: int, gpu: int) -> int:
    placed = 0
    for where, cores, devices, cordoned in given_nodes:
        if where != rack or cordoned:
            continue
        left, pods = [cores, devices], 0
        while left[0] >= cpu and left[1] >= gpu and pods < 10:
            left, pods = [left[0] - cpu, left[1] - gpu], pods + 1
        placed += pods
    return placed
