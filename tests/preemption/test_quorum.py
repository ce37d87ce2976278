"""The quorum that can still be met, and where it is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.preemption.groups import Group
from webhook.groups import repaired_quorum, still_to_run
from webhook.model.objects import Object
from webhook.preemption import quorum_place, quorum_to_set


def work(parallelism: int | None = 4, completions: int | None = 4, **status: Any) -> Object:
    spec = {"parallelism": parallelism, "completions": completions}
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status}


QUEUE = {"completions": None}
REPAIRED: dict[str, tuple[Object, int, int]] = {
    "nothing has happened yet": (work(), 4, 4),
    "one has succeeded": (work(succeeded=1), 4, 3),
    "a quorum below what is left stays": (work(succeeded=1), 2, 2),
    "one index failed for good": (work(succeeded=1, failedIndexes="2"), 4, 2),
    "indexes are written as ranges": (work(10, 20, succeeded=4, failedIndexes="1,3-5,9"), 16, 10),
    "failures that are made good change nothing": (work(failed=3), 4, 4),
    "a tail of six, of which three are done": (work(4, 6, succeeded=3), 4, 3),
    "a tail of six, of which one is done": (work(4, 6, succeeded=1), 4, 4),
    "fewer completions than the quorum": (work(4, 3), 4, 3),
    "fewer pods at a time than the quorum": (work(2, 9), 4, 2),
    "never below one": (work(4, 4, succeeded=3, failedIndexes="3"), 4, 4),
    "all is done: as asked, for nobody needs it": (work(succeeded=4), 4, 4),
    "no pods for now: as asked, or the first would start alone": (work(0), 4, 4),
    "a work queue": (work(**QUEUE), 4, 4),
    "a work queue after its first success: those that live": (work(**QUEUE, succeeded=1, active=2), 4, 2),
    "a work queue after its first success that is suspended": (work(**QUEUE, succeeded=1, active=0), 4, 4),
    "a Job as the API server never stores it": (work(None, 2), 1, 1),
    "no Job": ({**work(), "kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2"}, 7, 7),
}


@pytest.mark.parametrize("case", REPAIRED.values(), ids=REPAIRED.keys())
def test_quorum(case: tuple[Object, int, int]) -> None:
    workload, asked, expected = case
    assert repaired_quorum(asked, workload) == expected


def test_pods_that_happen_to_exist_lower_nothing() -> None:
    """Half of a group may only be late: a slow start, or a quota; lowering to them would start it in parts."""
    assert repaired_quorum(4, work(active=1, ready=1)) == 4


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 50), st.integers(0, 50))
def test_a_quorum_is_never_more_than_asked_nor_than_what_is_left(
    asked: int, parallelism: int, completions: int, done: int
) -> None:
    job = work(parallelism, completions, succeeded=min(done, completions))
    found, left = repaired_quorum(asked, job), still_to_run(job)
    assert 1 <= found <= asked
    assert found <= left or (left == 0 and found == asked)


def test_it_is_set_where_it_is_not_right() -> None:
    assert quorum_to_set(Group().run().facts()) is None
    assert quorum_to_set(Group().run().succeeded(0).facts()) == 3


def test_it_is_set_by_the_status_and_not_by_the_pods() -> None:
    assert quorum_to_set(Group().run().succeeded(0, counted=False).facts()) is None


def test_it_is_raised_again_when_the_work_grows() -> None:
    group = Group(size=4).run().with_group("spec.schedulingPolicy.gang.minCount", 3)
    assert quorum_to_set(group.facts()) == 4


def test_a_basic_group_has_none() -> None:
    assert quorum_to_set(Group().run().with_group("spec.schedulingPolicy", {"basic": {}}).facts()) is None


def test_it_is_written_on_the_group_and_on_the_job_where_kubernetes_made_the_group() -> None:
    managed = Group().run()
    assert quorum_place(managed.facts())[0].kind == "PodGroup"
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": managed.job["metadata"]["uid"],
        "controller": True,
    }
    native = managed.with_group("metadata.ownerReferences", [reference])
    key, uid = quorum_place(native.facts())
    assert (key.kind, key.name, uid) == ("Job", "train", managed.job["metadata"]["uid"])
