"""The harness itself: groups bind together or not at all, and pods live and end as under a kubelet."""

from __future__ import annotations

import json

import pytest

from tests.controlplane.client import JOBS, POD_GROUPS, PODS, Client, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import RACK_KEY, SLOW_LABEL
from tests.controlplane.scenes import is_bound, job, label_template, pod_group


@pytest.fixture
def client(control_plane: ControlPlane) -> Client:
    return control_plane.client


def running(client: Client, namespace: str) -> list[Object]:
    return [pod for pod in client.list(PODS, namespace) if pod["status"].get("phase") == "Running"]


def start(client: Client, namespace: str, given: Object, *, min_count: int = 4) -> list[str]:
    """Create a Job with its group and return the names of its pods, all of them running."""
    client.create(pod_group("g", namespace, min_count=min_count))
    client.create(given)
    wait_for(lambda: len(running(client, namespace)) == min_count, what="all pods of the gang run")
    return [pod["metadata"]["name"] for pod in client.list(PODS, namespace)]


def test_the_nodes_are_ready_and_stand_in_two_racks(control_plane: ControlPlane) -> None:
    nodes = json.loads(control_plane.kubectl("get", "nodes", "-o", "json"))["items"]
    assert [node["metadata"]["labels"][RACK_KEY] for node in nodes] == ["r0", "r0", "r1", "r1"]


def test_a_gang_of_four_starts_together_and_finishes_when_told(client: Client, namespace: str) -> None:
    names = start(client, namespace, job("g", namespace, pod_group="g"))

    def was_scheduled() -> bool:
        conditions = client.get(POD_GROUPS, namespace, "g").get("status", {}).get("conditions", [])
        return ("PodGroupInitiallyScheduled", "True") in [(item["type"], item["status"]) for item in conditions]

    wait_for(was_scheduled, what="the scheduler says so of the group")
    for name in names:
        client.finish_pod(namespace, name)
    done = wait_for(lambda: client.get(JOBS, namespace, "g")["status"].get("succeeded") == 4, what="the Job counts its pods")
    assert done


def test_with_room_for_three_of_four_none_is_bound(client: Client, namespace: str) -> None:
    client.create(job("filler", namespace, pods=1, cpu="3"))
    wait_for(lambda: len(running(client, namespace)) == 1, what="the filler runs")
    client.create(pod_group("g", namespace))
    client.create(job("g", namespace, cpu="3", pod_group="g"))

    def is_unschedulable() -> bool:
        conditions = client.get(POD_GROUPS, namespace, "g").get("status", {}).get("conditions", [])
        return any(item["type"] == "PodGroupInitiallyScheduled" and item["status"] == "False" for item in conditions)

    wait_for(is_unschedulable, what="the scheduler has tried the gang")
    assert [pod for pod in client.list(PODS, namespace, labels="job=g") if is_bound(pod)] == []
    client.finish_pod(namespace, client.list(PODS, namespace, labels="job=filler")[0]["metadata"]["name"])
    wait_for(lambda: len(running(client, namespace)) == 4, what="the gang starts once there is room")


def test_a_deleted_pod_fails_first_and_goes_then(client: Client, namespace: str) -> None:
    given = label_template(job("g", namespace, pod_group="g"), **{SLOW_LABEL: "5s"})
    name = start(client, namespace, given)[0]
    client.delete(PODS, namespace, name)
    dying = client.get(PODS, namespace, name)
    assert (dying["status"]["phase"], "deletionTimestamp" in dying["metadata"]) == ("Running", True)
    wait_for(lambda: client.find(PODS, namespace, name) is None, what="the pod goes")
    wait_for(lambda: client.get(JOBS, namespace, "g")["status"].get("failed") == 1, what="the Job counts the failure")


def test_an_evicted_pod_says_why_it_goes(client: Client, namespace: str) -> None:
    given = label_template(job("g", namespace, pod_group="g"), **{SLOW_LABEL: "5s"})
    name = start(client, namespace, given)[0]
    client.evict(namespace, name, dry_run=True)
    assert "deletionTimestamp" not in client.get(PODS, namespace, name)["metadata"]
    client.evict(namespace, name)
    conditions = client.get(PODS, namespace, name)["status"]["conditions"]
    assert ("DisruptionTarget", "EvictionByEvictionAPI") in [(item["type"], item.get("reason")) for item in conditions]


def test_a_component_comes_back_with_its_data(control_plane: ControlPlane, client: Client, namespace: str) -> None:
    client.create(pod_group("kept", namespace))
    control_plane.stop("kube-scheduler", kill=True)
    control_plane.stop("kube-apiserver")
    control_plane.start("kube-apiserver")
    control_plane.start("kube-scheduler")
    assert control_plane.client.get(POD_GROUPS, namespace, "kept")["spec"]["disruptionMode"] == {"all": {}}
