"""The native route on a control plane whose Job controller makes groups (WorkloadWithJob)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import EVENTS, JOBS, POD_GROUPS, PODS, WORKLOADS, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import is_bound, job
from tests.e2e.installation import CANARY, SHIPPED, Installation, labelled_job, running
from webhook.cluster import Api, connect, job_controller_makes_groups, scheduler_keeps_groups

PATIENCE_SECONDS = 60.0
INSISTING = (SHIPPED / "gang/labelled-jobs/policy.yaml").read_text()


@pytest.fixture(scope="module")
def installed(native: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Webhook and controller with a canary: groups are left to the Job controller once it was seen to make one."""
    with running(native, SHIPPED, tmp_path_factory.mktemp("native"), *CANARY) as made:
        yield made


def groups(client: Client, namespace: str) -> list[dict[str, Any]]:
    return client.list(POD_GROUPS, namespace)


def test_a_gang_is_left_to_the_job_controller_and_starts_together(installed: Installation, space: str) -> None:
    client = installed.client
    made = client.create(labelled_job("train", space))
    assert made["spec"]["scheduling"]["schedulingPolicy"] == {"gang": {}}
    assert "schedulingGroup" not in made["spec"]["template"]["spec"]
    pods = wait_for(lambda: _bound(client, space, 4), seconds=PATIENCE_SECONDS, what="all four are bound")
    (group,) = groups(client, space)
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods} == {group["metadata"]["name"]}
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    assert group["spec"]["disruptionMode"] == {"all": {}}
    assert [owner["kind"] for owner in group["metadata"]["ownerReferences"] if owner.get("controller")] == ["Job"]
    client.delete(JOBS, space, "train")
    wait_for(
        lambda: not groups(client, space) and not client.list(WORKLOADS, space), seconds=PATIENCE_SECONDS, what="all is gone"
    )


def test_a_quorum_of_ones_own_is_said_on_the_job(installed: Installation, space: str) -> None:
    asked = labelled_job("three", space)
    asked["metadata"]["annotations"] = {"gangwarden.dev/min-count": "3"}
    made = installed.client.create(asked)
    assert made["spec"]["scheduling"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


def test_what_the_job_controller_cannot_carry_is_managed(installed: Installation, space: str) -> None:
    """A Job of 58 characters would never get a pod on the native route."""
    client, name = installed.client, "a" * 58
    made = client.create(labelled_job(name, space))
    assert "scheduling" not in made["spec"]
    wait_for(lambda: _bound(client, space, 4), seconds=PATIENCE_SECONDS, what="all four are bound")
    assert groups(client, space)[0]["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gangwarden"


def test_a_native_gang_that_waits_says_why(installed: Installation, space: str) -> None:
    client = installed.client
    client.create(labelled_job("large", space, pods=4, cpu="5"))

    def told() -> list[str]:
        return [event["reason"] for event in client.list(EVENTS, space) if event["involvedObject"].get("name") == "large"]

    wait_for(
        lambda: "GroupUnschedulable" in told(),
        seconds=PATIENCE_SECONDS,
        what="the Job says why",
    )


async def test_the_canary_tells_a_job_controller_that_acts_from_one_that_is_away(native: ControlPlane, space: str) -> None:
    async with await connect(str(native.kubeconfig)) as connection:
        api = Api.over(connection)
        assert await job_controller_makes_groups(api, space, patience_seconds=PATIENCE_SECONDS)
        native.stop("kube-controller-manager")
        try:
            assert not await job_controller_makes_groups(api, space, patience_seconds=2.0)
        finally:
            native.start("kube-controller-manager")
    wait_for(lambda: not native.client.list(JOBS, space), seconds=PATIENCE_SECONDS, what="no canary stays behind")


async def test_the_canary_tells_a_scheduler_that_keeps_groups_from_one_that_is_away(native: ControlPlane, space: str) -> None:
    async with await connect(str(native.kubeconfig)) as connection:
        api = Api.over(connection)
        assert await scheduler_keeps_groups(api, space, patience_seconds=PATIENCE_SECONDS) is True
        native.stop("kube-scheduler")
        try:
            assert await scheduler_keeps_groups(api, space, patience_seconds=2.0) is None
        finally:
            native.start("kube-scheduler")
    assert native.client.list(PODS, space) == []


def test_a_policy_that_insists_refuses_what_cannot_be(native: ControlPlane, space: str, tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "gang.yaml").write_text(INSISTING.replace("attach: Auto", "attach: Native"))
    assert "attach: Native" in (policies / "gang.yaml").read_text()
    asked = labelled_job("a" * 58, space)
    with running(native, policies, tmp_path) as made:
        # The other installation has one name with this one, and both write: until the last word is this one's, calls may fail.
        wait_for(lambda: "no DNS label" in made.client.attempt(asked)[0], seconds=PATIENCE_SECONDS, what="it is refused")


def test_a_job_that_leaves_its_group_to_its_owner_gets_it_or_says_what_is_missing(installed: Installation, space: str) -> None:
    """Kubernetes is silent about the second: its pods run one by one, and it never gets a group."""
    client = installed.client
    for owner in ("declaring", "silent"):
        client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": owner, "namespace": space}})
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
    reference = {"apiGroup": "", "kind": "ConfigMap", "name": "declaring"}
    spec = {"controllerRef": reference, "podGroupTemplates": [template]}
    meta = {"name": "declared", "namespace": space}
    client.create({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": meta, "spec": spec})
    for owner in ("silent", "declaring"):
        stored = client.get("v1/configmaps", space, owner)
        child = job(f"of-{owner}", space, pods=2)
        child["metadata"] |= {
            "annotations": {"scheduling.k8s.io/group-template-name": "workers"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": stored["metadata"]["uid"], "controller": True}
            ],
        }
        client.create(child)
    wait_for(lambda: _bound(client, space, 4), seconds=PATIENCE_SECONDS, what="all are bound")
    (group,) = groups(client, space)
    grouped = [pod for pod in client.list(PODS, space) if "schedulingGroup" in pod["spec"]]
    assert {pod["metadata"]["labels"]["job"] for pod in grouped} == {"of-declaring"}
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in grouped} == {group["metadata"]["name"]}

    def told() -> list[tuple[str, str]]:
        found = [event for event in client.list(EVENTS, space) if event["reason"] == "DelegatedGroupMissing"]
        return [(event["involvedObject"]["name"], event["message"]) for event in found]

    ((name, message),) = wait_for(told, seconds=PATIENCE_SECONDS, what="the other Job says why")
    assert name == "of-silent"
    assert "there is no Workload whose spec.controllerRef is ConfigMap silent" in message


def _bound(client: Client, namespace: str, count: int) -> list[dict[str, Any]]:
    pods = client.list(PODS, namespace)
    return pods if len(pods) == count and all(map(is_bound, pods)) else []
