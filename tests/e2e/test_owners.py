"""Workloads of other projects' kinds: a group over all that their controllers make of them, on a real control plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.client import EVENTS, JOBS, POD_GROUPS, PODS, WORKLOADS, ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import is_bound, job
from tests.e2e.custom import JOB_SETS, custom_kinds, job_set, play_controller
from tests.e2e.installation import SHIPPED, Installation, running

PATIENCE_SECONDS = 60.0

Object = dict[str, Any]


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Webhook and controller that were there before the kinds were."""
    with running(control_plane, SHIPPED, tmp_path_factory.mktemp("owners"), "run") as made, custom_kinds(control_plane):
        wait_for(lambda: "JobSet" in made.webhook.text(), seconds=PATIENCE_SECONDS, what="the kinds are found and followed")
        yield made


def wait_until_known(client: Client, owner: Object, labels: dict[str, str]) -> None:
    """Wait until the webhook follows the kinds: just after a definition is installed the API server does not serve watches."""
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    probe = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "probe-0",
            "namespace": meta["namespace"],
            "labels": labels,
            "ownerReferences": [reference | {"controller": True}],
        },
        "spec": {"containers": [{"name": "work", "image": "example.test/work:1"}]},
    }

    def is_stamped() -> bool:
        try:
            return "schedulingGroup" in client.create(probe, dry_run=True)["spec"]
        except ApiError as error:
            if error.status != 503:
                raise
            return False

    wait_for(is_stamped, seconds=PATIENCE_SECONDS, what="the owner is known")


def bound(client: Client, namespace: str, name: str) -> list[Object]:
    return [pod for pod in client.list(PODS, namespace, labels=f"job={name}") if is_bound(pod)]


def test_the_jobs_of_a_job_set_start_together_and_leave_nothing(installed: Installation, namespace: str) -> None:
    client = installed.client
    client.create(job("filler", namespace, pods=1, cpu="3"))
    wait_for(lambda: bound(client, namespace, "filler"), what="the filler is bound")
    stored = client.create(job_set("train", namespace, leader=1, worker=3))
    play_controller(client, stored)
    (group,) = wait_for(lambda: client.list(POD_GROUPS, namespace), seconds=PATIENCE_SECONDS, what="the group is made")
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    assert [(owner["kind"], owner["uid"]) for owner in group["metadata"]["ownerReferences"]] == [
        ("JobSet", stored["metadata"]["uid"])
    ]

    def told() -> list[str]:
        events = client.list(EVENTS, namespace)
        return [event["reason"] for event in events if event["involvedObject"]["kind"] == "JobSet"]

    wait_for(lambda: "GroupUnschedulable" in told(), seconds=PATIENCE_SECONDS, what="the JobSet says what it waits for")
    assert bound(client, namespace, "train") == []
    client.finish_pod(namespace, client.list(PODS, namespace, labels="job=filler")[0]["metadata"]["name"])
    wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=PATIENCE_SECONDS, what="all of both Jobs are bound")
    (workload,) = client.list(WORKLOADS, namespace)
    assert workload["spec"]["controllerRef"] == {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": "train"}
    client.delete(JOB_SETS, namespace, "train")
    client.delete(JOBS, namespace, "filler")
    wait_for(
        lambda: not any(client.list(each, namespace) for each in (PODS, JOBS, POD_GROUPS, WORKLOADS)),
        seconds=PATIENCE_SECONDS,
        what="all is gone",
    )


LWS = "leaderworkerset.x-k8s.io/v1/leaderworkersets"
STATEFUL_SETS = "apps/v1/statefulsets"


def stateful_set(name: str, namespace: str, owner: Object, pods: Object, **labels: str) -> Object:
    """A StatefulSet of an operator's, as LeaderWorkerSet makes them for leaders and for workers."""
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    words = {"leaderworkerset.sigs.k8s.io/name": "serve", "job": "serve", "set": name} | labels
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "ownerReferences": [reference | {"controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"set": name}},
            "template": {"metadata": {"labels": words}, "spec": {"containers": pods["containers"]}},
        },
    }


def test_each_replica_of_a_leader_worker_set_is_a_gang_by_itself(installed: Installation, namespace: str) -> None:
    """With room for three pods of two pairs one pair runs, and nothing of the other."""
    client = installed.client
    client.create(job("filler", namespace, pods=1, cpu="3"))
    wait_for(lambda: bound(client, namespace, "filler"), what="the filler is bound")
    pods = job("serve", namespace, cpu="3")["spec"]["template"]["spec"]
    asked = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": namespace, "labels": {"gangwarden.dev/gang": "true"}},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": pods}}},
    }
    stored = client.create(asked)
    leaders = stateful_set("serve", namespace, stored, pods)
    leaders["spec"]["replicas"] = 0
    made = client.create(leaders)
    wait_until_known(client, made, {"leaderworkerset.sigs.k8s.io/name": "serve"})
    client.patch(STATEFUL_SETS, namespace, "serve", {"spec": {"replicas": 2}})
    for index in ("0", "1"):
        name = f"serve-{index}"
        leader = wait_for(lambda name=name: client.find(PODS, namespace, name), seconds=PATIENCE_SECONDS, what="a leader is made")
        labels = {"leaderworkerset.sigs.k8s.io/group-index": index}
        workers = stateful_set(name, namespace, {"apiVersion": "v1", "kind": "Pod", **leader}, pods, **labels)
        workers["spec"] |= {"replicas": 1, "ordinals": {"start": 1}}
        client.create(workers)
    wait_for(lambda: len(client.list(PODS, namespace, labels="job=serve")) == 4, seconds=PATIENCE_SECONDS, what="all are made")
    wait_for(lambda: len(bound(client, namespace, "serve")) == 2, seconds=PATIENCE_SECONDS, what="one pair runs")

    def refused() -> list[Object]:
        conditions = [
            one for group in client.list(POD_GROUPS, namespace) for one in group.get("status", {}).get("conditions", [])
        ]
        return [one for one in conditions if one["status"] == "False"]

    wait_for(refused, seconds=PATIENCE_SECONDS, what="the scheduler has tried the other")
    running = bound(client, namespace, "serve")
    assert len(running) == 2
    assert len({pod["spec"]["schedulingGroup"]["podGroupName"] for pod in running}) == 1
    client.finish_pod(namespace, client.list(PODS, namespace, labels="job=filler")[0]["metadata"]["name"])
    wait_for(lambda: len(bound(client, namespace, "serve")) == 4, seconds=PATIENCE_SECONDS, what="the other runs as well")
    assert [group["spec"]["schedulingPolicy"] for group in client.list(POD_GROUPS, namespace)] == [{"gang": {"minCount": 2}}] * 2
    client.delete(LWS, namespace, "serve")
    client.delete(JOBS, namespace, "filler")
    wait_for(
        lambda: not any(client.list(each, namespace) for each in (PODS, STATEFUL_SETS, POD_GROUPS, WORKLOADS)),
        seconds=PATIENCE_SECONDS,
        what="all is gone",
    )
