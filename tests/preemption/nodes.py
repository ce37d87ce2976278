"""Nodes and pods with room and demand, in few words."""

from __future__ import annotations

from typing import Any

from webhook.model.objects import Object


def node(name: str, rack: str = "", *, taints: list[Object] | None = None, unschedulable: bool = False, **room: Any) -> Object:
    """Return a node; room is cpu, memory, pods, gpu."""
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "10", **{_resource(key): str(value) for key, value in room.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"rack": rack} if rack else {}},
        "spec": {"taints": taints or [], "unschedulable": unschedulable},
        "status": {"allocatable": allocatable},
    }


def spec(**requests: Any) -> Object:
    """Return a pod spec of one container."""
    return {"containers": [container(**requests)]}


def container(**requests: Any) -> Object:
    """Return a container that requests this."""
    return {"name": "main", "resources": {"requests": {_resource(key): str(value) for key, value in requests.items()}}}


def running(name: str, on: str, *, phase: str = "Running", **requests: Any) -> Object:
    """Return a pod on a node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {**spec(**requests), "nodeName": on},
        "status": {"phase": phase},
    }


def _resource(key: str) -> str:
    return {"gpu": "nvidia.com/gpu", "huge": "hugepages-2Mi"}.get(key, key)
