"""Feature gates that are wrong under a running Gangwarden.

One goes off: the first Job that loses a field finds it out, and loses no group. One is off in the scheduler alone, which only
a canary shows.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import EVENTS, NODES, POD_GROUPS, PODS, ApiError, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import MANAGED, NATIVE, Gates
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import CANARY, COMMAND, SHIPPED, SYSTEM_NAMESPACE, Installation, labelled_job, running

PATIENCE_SECONDS = 60.0
WITHOUT_JOBS = Gates(tuple(one for one in NATIVE.features if "WorkloadWithJob" not in one), NATIVE.runtime)

SCHEDULER_WITHOUT_GROUPS = Gates(MANAGED.features, MANAGED.runtime, scheduler=("GenericWorkload=false",))


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


def test_a_scheduler_that_ignores_groups_is_found_out_and_told(tmp_path: Path) -> None:
    """Nothing in Kubernetes says so: the API server keeps every field, and the gang starts in parts."""
    with ControlPlane(gates=SCHEDULER_WITHOUT_GROUPS) as cluster, running(cluster, SHIPPED, tmp_path, *CANARY) as made:
        client = made.client

        def told() -> list[str]:
            events = client.list(EVENTS, SYSTEM_NAMESPACE)
            return [event["message"] for event in events if event["reason"] == "DangerousGates"]

        (danger,) = wait_for(told, seconds=PATIENCE_SECONDS, what="the danger is told")
        assert "kube-scheduler ignores them" in danger
        assert "GenericWorkload" in danger
        refusal, warnings = client.attempt(labelled_job("train", "default"))
        assert refusal == ""
        assert [danger in warning for warning in warnings] == [True]
        room = sum(int(node["status"]["allocatable"]["cpu"]) for node in client.list(NODES))
        client.create(labelled_job("train", "default", pods=room + 1))
        wait_for(
            lambda: len([pod for pod in client.list(PODS, "default") if is_bound(pod)]) > 1,
            seconds=PATIENCE_SECONDS,
            what="a part starts, as was told",
        )
        file = tmp_path / "cluster.yaml"
        flags = ["--kubeconfig", str(cluster.kubeconfig), "--canary-namespace", SYSTEM_NAMESPACE]
        subprocess.run([COMMAND, "snapshot", "save", str(file), *flags], check=True, timeout=PATIENCE_SECONDS)
        assert next(yaml.safe_load_all(file.read_text()))["schedulerGroups"] is False
        wait_for(lambda: not client.list(PODS, SYSTEM_NAMESPACE), seconds=PATIENCE_SECONDS, what="no canary stays behind")
