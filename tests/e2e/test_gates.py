"""A feature gate that goes off under a running Gangwarden: the first Job that loses a field finds it out, and loses no group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.client import EVENTS, POD_GROUPS, PODS, ApiError, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import NATIVE, Gates
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import CANARY, SHIPPED, SYSTEM_NAMESPACE, Installation, labelled_job, running

PATIENCE_SECONDS = 60.0
WITHOUT_JOBS = Gates(tuple(one for one in NATIVE.features if "WorkloadWithJob" not in one), NATIVE.runtime)


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    """Webhook and controller beside a control plane of their own, whose gates are switched here."""
    with ControlPlane(gates=NATIVE) as cluster, running(cluster, SHIPPED, tmp_path, *CANARY) as made:
        yield made


def test_a_gate_that_goes_off_between_two_looks_loses_no_group(installed: Installation) -> None:
    """The Job is refused instead of stored without its group, and made again it gets one by the route that is left."""
    client = installed.client
    assert "scheduling" in client.create(labelled_job("before", "default"), dry_run=True)["spec"]
    installed.cluster.restart_all(WITHOUT_JOBS)
    refusals: list[str] = []

    def made_again() -> bool:
        """Do what a user or an operator does: try until it works."""
        try:
            client.create(labelled_job("train", "default"))
        except ApiError as error:
            refusals.append(str(error))
            return False
        return True

    wait_for(made_again, seconds=PATIENCE_SECONDS, what="the Job is taken")
    assert any("spec.scheduling, by which WorkloadPolicy 'labelled-jobs.gangwarden.dev" in refusal for refusal in refusals)
    wait_for(lambda: len(client.list(PODS, "default")) == 4, seconds=PATIENCE_SECONDS, what="all pods are made")
    wait_for(lambda: all(map(is_bound, client.list(PODS, "default"))), seconds=PATIENCE_SECONDS, what="all four are bound")
    (group,) = client.list(POD_GROUPS, "default")
    assert group["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gangwarden"
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in client.list(PODS, "default")} == {group["metadata"]["name"]}

    def told() -> list[str]:
        events = client.list(EVENTS, SYSTEM_NAMESPACE)
        return [event["message"] for event in events if event["reason"] == "CapabilitiesChanged"]

    wait_for(
        lambda: any("WorkloadWithJob in kube-apiserver is off" in message for message in told()),
        seconds=PATIENCE_SECONDS,
        what="the change is told",
    )
    described = installed.cluster.kubectl("describe", "lease", "gangwarden-controller", "-n", SYSTEM_NAMESPACE)
    assert "CapabilitiesChanged" in described
