"""Scenes of disruption, each played on a stage of its own; a soak plays them again and again."""

from __future__ import annotations

from collections.abc import Callable

from tests.controlplane.client import PODS
from tests.e2e.staging import Stage


def a_node_is_drained(stage: Stage) -> None:
    gang = stage.gang()
    node = gang.node_of()
    stage.drain(node)
    pods = gang.restarted()
    assert node not in {pod["spec"]["nodeName"] for pod in pods}
    assert "was evicted" in gang.told("GroupRestarting")


def a_pod_is_deleted(stage: Stage) -> None:
    gang = stage.gang()
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    gang.restarted()
    assert "was deleted by somebody" in gang.told("GroupRestarting")


SCENES: dict[str, Callable[[Stage], None]] = {scene.__name__: scene for scene in (a_node_is_drained, a_pod_is_deleted)}
