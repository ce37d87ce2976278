"""What is kept in memory."""

from __future__ import annotations

import copy
from typing import Any

from webhook.cluster import Trimmer

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "train-0",
        "namespace": "a",
        "uid": "u",
        "resourceVersion": "7",
        "labels": {"job": "train", "index": "0"},
        "ownerReferences": [{"kind": "Job", "name": "train", "uid": "j", "controller": True}],
        "managedFields": [{"manager": "kube-controller-manager"}],
    },
    "spec": {
        "schedulingGroup": {"podGroupName": "g"},
        "schedulerName": "default-scheduler",
        "priority": 5,
        "containers": [{"name": "main", "image": "x", "env": [{"name": "A", "value": "B"}]}],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R", "message": "m", "lastProbeTime": None}],
    },
}


def test_of_a_pod_what_groups_need_is_kept() -> None:
    trimmed = Trimmer().for_kind("", "Pod")(POD)
    assert trimmed["metadata"].keys() == {"name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences"}
    assert trimmed["spec"] == {**POD["spec"], "containers": [{"name": "main"}]}
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "R", "message": "m"}
    assert trimmed["status"] == {"phase": "Running", "conditions": [condition]}
    assert (trimmed["apiVersion"], trimmed["kind"]) == ("v1", "Pod")


def test_equal_parts_of_two_pods_are_one_in_memory() -> None:
    trim = Trimmer().for_kind("", "Pod")
    first, second = trim(copy.deepcopy(POD)), trim(copy.deepcopy(POD))
    for path in (("metadata", "ownerReferences"), ("spec", "schedulingGroup"), ("status", "conditions")):
        assert first[path[0]][path[1]] is second[path[0]][path[1]]


def test_how_containers_ended_is_kept_and_of_those_that_run_nothing() -> None:
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}
    statuses = [
        {"name": "a", "image": "x", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
        {"name": "b", "state": {"terminated": ended | {"containerID": "c"}}},
        {"name": "c", "state": None},
        {"name": "d"},
    ]
    trimmed = Trimmer().for_kind("", "Pod")(POD | {"status": {"containerStatuses": statuses}})
    assert trimmed["status"]["containerStatuses"] == [
        {"name": "a", "state": {}},
        {"name": "b", "state": {"terminated": ended}},
        {"name": "c", "state": None},
        {"name": "d"},
    ]


def of_group(name: str) -> dict[str, Any]:
    return POD | {"spec": {"schedulingGroup": {"podGroupName": name}}}


def test_parts_of_pods_that_are_gone_are_forgotten() -> None:
    trimmer = Trimmer()
    trim = trimmer.for_kind("", "Pod")
    kept = trim(of_group("kept"))
    most = 0
    for number in range(5_000):
        trim(of_group(f"g{number}"))
        most = max(most, len(trimmer._shared))
    assert most < 1_000, "as many as ever were, and not as many as there are"
    assert trim(of_group("kept"))["spec"]["schedulingGroup"] is kept["spec"]["schedulingGroup"]


def test_parts_of_pods_that_are_there_are_forgotten_beyond_a_limit() -> None:
    trimmer = Trimmer(shared_limit=40)
    trim = trimmer.for_kind("", "Pod")
    pods = [trim(of_group(f"g{number}")) for number in range(500)]
    assert len(trimmer._shared) <= 40
    assert [pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods] == [f"g{number}" for number in range(500)]
    assert trim(of_group("g499"))["spec"]["schedulingGroup"] is pods[499]["spec"]["schedulingGroup"]


def test_what_stands_for_a_part_is_short_however_long_the_part() -> None:
    trimmer = Trimmer()
    trimmer.for_kind("", "Pod")(of_group("g" * 100_000))
    assert {len(mark) for mark in trimmer._shared} == {16}


def test_a_job_is_kept_whole_but_for_managed_fields() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": POD["metadata"], "spec": {"template": {"spec": POD["spec"]}}}
    trimmed = Trimmer().for_kind("batch", "Job")(job)
    assert trimmed["spec"] == job["spec"]
    assert trimmed["metadata"] == {key: value for key, value in POD["metadata"].items() if key != "managedFields"}
    assert "managedFields" in job["metadata"]


def test_an_object_without_spec_and_status_is_no_problem() -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert Trimmer().for_kind("", "Pod")(bare) == bare
