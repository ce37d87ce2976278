"""Groups of groups on a control plane that has everything alpha on: refused without our flag, all or none with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import JOBS, POD_GROUPS, PODS, WORKLOADS, ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import EVERYTHING
from tests.controlplane.scenes import is_bound, job
from tests.e2e.custom import JOB_SETS, custom_kinds, job_set, play_controller
from tests.e2e.installation import SHIPPED, SYSTEM_NAMESPACE, Installation, Process, running
from tests.e2e.test_install_manifests import ACCOUNTS, account
from tests.e2e.test_optional_policies import PERMISSIONS
from tests.e2e.test_owners import LWS, STATEFUL_SETS, stateful_set, wait_until_known

COMPOSITES = "scheduling.k8s.io/v1alpha3/compositepodgroups"
TREES = SHIPPED.with_name("policies-optional") / "gang"
FLAG = "--enable-alpha=CompositePodGroup"
PATIENCE_SECONDS = 60.0
POLICIES = ("-p", str(TREES / "jobset-tree"), "-p", str(TREES / "leaderworkerset-tree"))
MORE = SHIPPED.parent / "docs" / "install" / "optional" / "composite-groups.yaml"

Object = dict[str, Any]


@pytest.fixture(scope="module")
def everything() -> Iterator[ControlPlane]:
    """Four nodes of 4 CPU, and every gate that groups have."""
    with ControlPlane(gates=EVERYTHING) as cluster, custom_kinds(cluster):
        yield cluster


@pytest.fixture
def namespace(everything: ControlPlane) -> Iterator[str]:
    """A namespace of a random name."""
    with everything.namespace() as name:
        yield name


@pytest.fixture(scope="module")
def installed(everything: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Webhook and controller that may make trees; the controller with the permissions that are told of, and no more."""
    directory = tmp_path_factory.mktemp("trees")
    for path in (*PERMISSIONS, MORE):
        everything.kubectl("apply", "--server-side", "--validate=strict", "-f", str(path))
    with running(everything, SHIPPED, directory, "serve", *POLICIES, FLAG) as made:
        place = [f"--namespace={SYSTEM_NAMESPACE}", "--status-host=127.0.0.1", "--status-port=0", *POLICIES, FLAG]
        policies = ["-p", str(SHIPPED)]
        controller = Process(
            ["controller", *policies, *place, *account(everything, ACCOUNTS[1], directory)], directory / "controller.log"
        )
        try:
            yield made
            assert "forbidden" not in controller.text().lower()
        finally:
            controller.stop()


def test_without_the_flag_nobody_gets_a_tree(everything: ControlPlane, namespace: str, tmp_path: Path) -> None:
    by_hand = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "by-hand", "namespace": namespace},
        "spec": {"schedulingPolicy": {"basic": {}}, "workloadRef": {"workloadName": "w", "templateName": "t"}},
    }
    with running(everything, SHIPPED, tmp_path, "serve", *POLICIES) as made:
        for asked in (job_set("train", namespace, driver=1, workers=3), by_hand):
            with pytest.raises(ApiError, match=FLAG):
                made.client.create(asked)
        assert '"event":"alpha feature left alone"' in made.webhook.text()


def test_the_jobs_of_a_job_set_are_a_group_each_and_start_together(installed: Installation, namespace: str) -> None:
    """With room for three pods neither the driver alone runs, nor the three workers."""
    client = installed.client
    fill(client, namespace, pods=1)
    stored = client.create(job_set("train", namespace, driver=1, workers=3))
    play_controller(client, stored)
    (tree,) = wait_for(lambda: client.list(COMPOSITES, namespace), seconds=PATIENCE_SECONDS, what="the tree is made")
    assert tree["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}
    assert [owner["uid"] for owner in tree["metadata"]["ownerReferences"]] == [stored["metadata"]["uid"]]
    groups = wait_for(lambda: len(found := children(client, namespace, tree)) == 2 and found, what="both groups are made")
    assert sorted(group["spec"]["schedulingPolicy"]["gang"]["minCount"] for group in groups) == [1, 3]

    def described() -> list[str]:
        trees = [one["spec"].get("compositePodGroupTemplates") or [] for one in client.list(WORKLOADS, namespace)]
        return [template["name"] for templates in trees for template in templates]

    wait_for(lambda: described() == ["jobset"], seconds=PATIENCE_SECONDS, what="the Workload describes the tree")
    wait_until_tried(client, namespace, "train", pods=4)
    assert bound(client, namespace, "train") == []
    client.finish_pod(namespace, client.list(PODS, namespace, labels="job=filler")[0]["metadata"]["name"])
    wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=PATIENCE_SECONDS, what="all of both Jobs are bound")
    a_member_takes_its_own_group_with_it(client, namespace)
    client.delete(JOB_SETS, namespace, "train")
    client.delete(JOBS, namespace, "filler")
    wait_for(lambda: is_gone(client, namespace, JOBS), seconds=PATIENCE_SECONDS, what="all is gone")


def a_member_takes_its_own_group_with_it(client: Client, namespace: str) -> None:
    """Take one of the workers: all three go and come back, and the driver, whose group is whole, stays."""

    def uids(part: str) -> set[str]:
        return {pod["metadata"]["uid"] for pod in bound(client, namespace, "train") if part in pod["metadata"]["name"]}

    driver, first = uids("driver"), uids("workers")
    lost = next(pod for pod in bound(client, namespace, "train") if pod["metadata"]["uid"] in first)
    client.evict(namespace, lost["metadata"]["name"])

    def came_back() -> bool:
        now = uids("workers")
        return len(now) == 3 and not now & first

    wait_for(came_back, seconds=3 * PATIENCE_SECONDS, what="all workers are new ones")
    assert uids("driver") == driver


def test_leader_and_workers_of_a_replica_are_a_group_each_and_start_together(installed: Installation, namespace: str) -> None:
    """With room for two pods of three neither the leader alone runs, nor the two workers."""
    client = installed.client
    fill(client, namespace, pods=2)
    pods = job("serve", namespace, cpu="3")["spec"]["template"]["spec"]
    asked = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": namespace, "labels": {"gangwarden.dev/gang": "true"}},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": {"spec": pods}}},
    }
    stored = client.create(asked)
    words = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
    leaders = stateful_set("serve", namespace, stored, pods, **words)
    leaders["spec"]["replicas"] = 0
    made = client.create(leaders)
    wait_until_known(client, made, {"leaderworkerset.sigs.k8s.io/name": "serve", **words})
    client.patch(STATEFUL_SETS, namespace, "serve", {"spec": {"replicas": 1}})
    leader = wait_for(lambda: client.find(PODS, namespace, "serve-0"), seconds=PATIENCE_SECONDS, what="the leader is made")
    labels = {"leaderworkerset.sigs.k8s.io/group-index": "0"}
    workers = stateful_set("serve-0", namespace, {"apiVersion": "v1", "kind": "Pod", **leader}, pods, **labels)
    workers["spec"] |= {"replicas": 2, "ordinals": {"start": 1}}
    client.create(workers)
    (tree,) = wait_for(lambda: client.list(COMPOSITES, namespace), seconds=PATIENCE_SECONDS, what="the tree is made")
    groups = wait_for(lambda: len(found := children(client, namespace, tree)) == 2 and found, what="both groups are made")
    assert sorted(group["spec"]["schedulingPolicy"]["gang"]["minCount"] for group in groups) == [1, 2]
    wait_until_tried(client, namespace, "serve", pods=3)
    assert bound(client, namespace, "serve") == []
    for filler in client.list(PODS, namespace, labels="job=filler"):
        client.finish_pod(namespace, filler["metadata"]["name"])
    wait_for(lambda: len(bound(client, namespace, "serve")) == 3, seconds=PATIENCE_SECONDS, what="the replica runs")
    client.delete(LWS, namespace, "serve")
    client.delete(JOBS, namespace, "filler")
    wait_for(lambda: is_gone(client, namespace, STATEFUL_SETS), seconds=PATIENCE_SECONDS, what="all is gone")


def fill(client: Client, namespace: str, *, pods: int) -> None:
    """Take so many nodes."""
    client.create(job("filler", namespace, pods=pods, cpu="3"))
    wait_for(lambda: len(bound(client, namespace, "filler")) == pods, seconds=PATIENCE_SECONDS, what="the filler is bound")


def bound(client: Client, namespace: str, name: str) -> list[Object]:
    return [pod for pod in client.list(PODS, namespace, labels=f"job={name}") if is_bound(pod)]


def children(client: Client, namespace: str, tree: Object) -> list[Object]:
    name = tree["metadata"]["name"]
    return [one for one in client.list(POD_GROUPS, namespace) if one["spec"].get("parentCompositePodGroupName") == name]


def wait_until_tried(client: Client, namespace: str, name: str, *, pods: int) -> None:
    """Wait until the scheduler has said of every pod that it found no place for it."""

    def refused() -> bool:
        found = client.list(PODS, namespace, labels=f"job={name}")
        said = [one for pod in found for one in pod.get("status", {}).get("conditions", []) if one["type"] == "PodScheduled"]
        return len(found) == pods and [one["status"] for one in said] == ["False"] * pods

    wait_for(refused, seconds=PATIENCE_SECONDS, what="the scheduler has tried the tree")


def is_gone(client: Client, namespace: str, made: str) -> bool:
    return not any(client.list(each, namespace) for each in (PODS, made, POD_GROUPS, COMPOSITES, WORKLOADS))
