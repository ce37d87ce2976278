"""A policy's fastRestart: a group that was lost at once comes back soon, and its namespace can still be deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.client import NAMESPACES, PODS, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.e2e.installation import Installation, running
from tests.e2e.staging import Stage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installed(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Installation]:
    policies = tmp_path / "policies"
    shutil.copytree(ROOT / "policies", policies)
    path = policies / "gang/labelled-jobs/policy.yaml"
    path.write_text(path.read_text().replace("    maxRestarts: 10\n", "    maxRestarts: 10\n    fastRestart: true\n"))
    (tmp_path / "logs").mkdir()
    with running(control_plane, policies, tmp_path / "logs", "run") as made:
        yield made


def test_a_group_that_was_lost_at_once_comes_back_and_its_namespace_can_go(installed: Installation, namespace: str) -> None:
    stage = Stage(installed.cluster, installed.client, namespace)
    stage.room(3)
    try:
        gang = stage.gang()
        spec = gang.job()["spec"]
        assert (spec["backoffLimitPerIndex"], spec["maxFailedIndexes"]) == (6, 0)
        for pod in gang.running():
            stage.client.delete(PODS, namespace, pod["metadata"]["name"])
        gang.came_back()  # lost as a whole before the keeper looked, it needs no restart of ours; its Job's back-off decides
        gang.alive()
        stage.client.evict(namespace, gang.running()[0]["metadata"]["name"])
        wait_for(lambda: any(pod["status"]["phase"] == "Failed" for pod in stage.client.list(PODS, namespace)))
        stage.client.delete(NAMESPACES, "", namespace)
        wait_for(lambda: stage.client.find(NAMESPACES, "", namespace) is None, seconds=120, what="the namespace is gone")
    finally:
        stage.clear()
