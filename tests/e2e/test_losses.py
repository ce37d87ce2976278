"""Nothing is lost when webhook, controller or leader die at the worst moment, and nothing slips by while they are away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controlplane.client import JOBS, POD_GROUPS, PODS, ApiError, wait_for
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import Installation, labelled_job

ROOT = Path(__file__).resolve().parents[2]
GROUP_SECONDS = 90.0


@pytest.fixture
def installed(control_plane, tmp_path):
    """Processes of our own for each scene: they are killed here."""
    made = Installation(control_plane, ROOT / "policies", tmp_path)
    try:
        yield made
    finally:
        made.close()
        print(made.logs())


def bound(client, namespace, name):
    return [pod for pod in client.list(PODS, namespace, labels=f"job={name}") if is_bound(pod)]


def test_webhook_and_controller_die_between_job_and_group(installed, namespace):
    client = installed.client
    webhook, controller = installed.start_webhook(), installed.start_controller()
    installed.wait_for_leader()
    controller.kill()
    client.create(labelled_job("train", namespace))
    webhook.kill()
    wait_for(lambda: len(client.list(PODS, namespace)) == 4, what="the pods are there")
    assert bound(client, namespace, "train") == []
    assert client.list(POD_GROUPS, namespace) == []
    installed.start_controller()
    wait_for(
        lambda: len(bound(client, namespace, "train")) == 4, seconds=GROUP_SECONDS, what="the next controller makes the group"
    )
    installed.start_webhook()


@pytest.mark.timeout(400)
def test_the_leader_of_two_dies_again_and_again(installed, namespace):
    client = installed.client
    installed.start_webhook()
    for _ in range(2):
        installed.start_controller()
    names = []
    for turn in range(3):
        leader = installed.wait_for_leader()
        names.append(f"train-{turn}")
        client.create(labelled_job(names[-1], namespace))
        leader.kill()
        installed.start_controller()
        wait_for(
            lambda name=names[-1]: len(bound(client, namespace, name)) == 4, seconds=GROUP_SECONDS, what=f"{names[-1]} is bound"
        )
        for pod in client.list(PODS, namespace, labels=f"job={names[-1]}"):
            client.finish_pod(namespace, pod["metadata"]["name"])
    assert len({group["metadata"]["name"] for group in client.list(POD_GROUPS, namespace)}) == 3


def test_a_labelled_job_is_refused_by_a_native_policy_while_the_webhook_is_away(installed, namespace):
    client, kubectl = installed.client, installed.cluster.kubectl
    path = str(ROOT / "policies" / "gang" / "stamped-when-away" / "policy.yaml")
    installed.start_webhook()
    kubectl("apply", "-f", path)
    try:
        installed.webhook.kill()

        def refusal():
            try:
                client.create(labelled_job("train", namespace), dry_run=True)
            except ApiError as error:
                return error.body["message"]
            return ""

        message = wait_for(refusal, seconds=GROUP_SECONDS, what="the API server itself refuses")
        # validating webhooks with failurePolicy Fail are away too; the native policy speaks when they are not asked
        assert "stamped-when-away.gangwarden.dev" in message or "failed calling webhook" in message
        assert client.list(JOBS, namespace) == []
    finally:
        kubectl("delete", "-f", path, "--ignore-not-found")


def test_a_controller_that_is_stopped_gives_its_lease_back(installed):
    controller = installed.start_controller()
    installed.wait_for_leader()
    assert controller.stop() == 0
    wait_for(lambda: installed.leader() == "", what="the Lease is free")
