"""A gang in one rack, by the scheduler that knows topology; and a plain no where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import EVENTS, NODES, POD_GROUPS, PODS, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import RACK_KEY
from tests.controlplane.plan import NATIVE, Gates
from tests.controlplane.scenes import is_bound, job
from tests.e2e.installation import CANARY, SHIPPED, Installation, labelled_job, running
from tests.e2e.test_explain import said

PATIENCE_SECONDS = 60.0
RACK_PODS = 8
"""Pods of one CPU that fill a rack: two nodes of four CPU."""
ROUTES = {"by the Job controller": "train", "by Gangwarden": "a" * 58}
"""A name of 58 characters is more than the Job controller's own groups can carry."""


NO_TOPOLOGY = Gates(("GenericWorkload=true", "WorkloadWithJob=true"), NATIVE.runtime)
"""The API server keeps a Job's own wish for a rack, and stores the PodGroup that is made of it without."""


@pytest.fixture(scope="module")
def installed(native: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """All shipped policies, webhook and controller in one process."""
    with running(native, SHIPPED, tmp_path_factory.mktemp("topology"), *CANARY) as made:
        yield made


@pytest.fixture(scope="module")
def without_gate(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The same beside a control plane whose topology gate is off."""
    with running(control_plane, SHIPPED, tmp_path_factory.mktemp("no-topology")) as made:
        yield made


def in_one(key: str, name: str, namespace: str, *, pods: int, cpu: str = "1") -> dict[str, Any]:
    """A gang that asks for one domain."""
    asked = labelled_job(name, namespace, pods=pods, cpu=cpu)
    asked["metadata"]["annotations"] = {"gangwarden.dev/topology-key": key}
    return asked


def racks_of(client: Client, namespace: str, name: str) -> set[str]:
    """Return the racks in which the bound pods of a Job run."""
    rack = {node["metadata"]["name"]: node["metadata"]["labels"][RACK_KEY] for node in client.list(NODES)}
    pods = client.list(PODS, namespace, labels=f"job={name}")
    return {rack[pod["spec"]["nodeName"]] for pod in pods if is_bound(pod)}


def wait_until_bound(client: Client, namespace: str, name: str, count: int) -> None:
    def bound() -> bool:
        return sum(map(is_bound, client.list(PODS, namespace, labels=f"job={name}"))) == count

    wait_for(bound, seconds=PATIENCE_SECONDS, what=f"all {count} are bound")


def told(client: Client, namespace: str, name: str) -> list[str]:
    events = client.list(EVENTS, namespace)
    return [
        event["message"]
        for event in events
        if event["reason"] == "GroupUnschedulable" and event["involvedObject"].get("name") == name
    ]


@pytest.mark.parametrize("route", ROUTES)
def test_a_gang_fills_one_rack_and_no_other(installed: Installation, space: str, route: str) -> None:
    client, name = installed.client, ROUTES[route]
    assert client.attempt(in_one(RACK_KEY, name, space, pods=RACK_PODS)) == ("", [])
    made = client.create(in_one(RACK_KEY, name, space, pods=RACK_PODS))
    assert ("scheduling" in made["spec"]) == (route == "by the Job controller")
    wait_until_bound(client, space, name, RACK_PODS)
    assert len(racks_of(client, space, name)) == 1
    (group,) = client.list(POD_GROUPS, space)
    assert group["spec"]["schedulingConstraints"] == {"topology": [{"key": RACK_KEY}]}


def test_the_scheduler_would_spread_a_gang_that_names_no_rack(installed: Installation, space: str) -> None:
    """Or the test before would hold by accident."""
    wait_for(lambda: not any(map(is_bound, installed.client.list(PODS))), seconds=PATIENCE_SECONDS, what="the nodes are empty")
    installed.client.create(labelled_job("anywhere", space, pods=RACK_PODS))
    wait_until_bound(installed.client, space, "anywhere", RACK_PODS)
    assert len(racks_of(installed.client, space, "anywhere")) == 2


@pytest.mark.parametrize("route", ROUTES)
def test_room_that_lies_in_two_racks_is_none_and_the_job_says_so(
    native: ControlPlane, installed: Installation, space: str, route: str
) -> None:
    client, name = installed.client, ROUTES[route]
    for rack in ("r0", "r1"):
        taking = job(f"in-{rack}", space, pods=RACK_PODS // 2)
        taking["spec"]["template"]["spec"]["nodeSelector"] = {RACK_KEY: rack}
        client.create(taking)
        wait_until_bound(client, space, f"in-{rack}", RACK_PODS // 2)
    client.create(in_one(RACK_KEY, name, space, pods=RACK_PODS // 2 + 1))  # eight places are free, four in each rack
    wait_for(lambda: told(client, space, name), seconds=PATIENCE_SECONDS, what="the Job says why")
    assert racks_of(client, space, name) == set()
    described = native.kubectl("describe", "job", name, "-n", space)
    (line,) = [line for line in described.splitlines() if "GroupUnschedulable" in line]
    assert f"no room for the whole group within one {RACK_KEY}" in line
    assert "0/2 placements are available" in line  # the scheduler's word for domains
    assert "0/2 placements are available" in said(installed, space, "NoDomain", f"job/{name}")["cause"]
    client.delete("batch/v1/jobs", space, "in-r1")
    wait_until_bound(client, space, name, RACK_PODS // 2 + 1)
    assert racks_of(client, space, name) == {"r1"}


def test_a_key_that_no_administrator_allows_is_refused(installed: Installation, space: str) -> None:
    asked = in_one("topology.kubernetes.io/rak", "train", space, pods=2)
    refusal = wait_for(lambda: installed.client.attempt(asked)[0], seconds=PATIENCE_SECONDS, what="the webhook is asked")
    assert "is 'topology.kubernetes.io/rak', which is no topology of this cluster" in refusal


def test_a_cluster_that_would_drop_the_rack_refuses_and_names_the_gate(without_gate: Installation, namespace: str) -> None:
    client = without_gate.client
    refusal, _ = client.attempt(in_one(RACK_KEY, "train", namespace, pods=2))
    assert f"one {RACK_KEY}, but feature gate TopologyAwareWorkloadScheduling is off" in refusal
    assert client.attempt(labelled_job("train", namespace, pods=2))[0] == ""


def test_a_wish_of_a_jobs_own_is_refused_where_kubernetes_would_drop_it(tmp_path: Path) -> None:
    asked = job("train", "default", pods=2, ttlSecondsAfterFinished=600)
    asked["spec"]["scheduling"] = {
        "schedulingPolicy": {"gang": {}},
        "schedulingConstraints": {"topology": [{"key": RACK_KEY}]},
    }
    with ControlPlane(gates=NO_TOPOLOGY) as cluster:
        client = cluster.client
        client.create(asked | {"metadata": {"name": "dropped", "namespace": "default"}})
        (group,) = wait_for(lambda: client.list(POD_GROUPS, "default"), seconds=PATIENCE_SECONDS, what="a group is made")
        assert "schedulingConstraints" not in group["spec"]  # in Kubernetes alone, without a word
        with running(cluster, SHIPPED, tmp_path):
            refusal = wait_for(lambda: client.attempt(asked)[0], seconds=PATIENCE_SECONDS, what="the webhook is asked")
    assert "honoured-fields.gangwarden.dev" in refusal
    assert f"one '{RACK_KEY}', but feature gate TopologyAwareWorkloadScheduling is off" in refusal
