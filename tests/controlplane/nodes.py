"""The fake nodes that kwok keeps Ready. How their pods live and end is in ``kwok.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

RACK_KEY = "topology.kubernetes.io/rack"
SLOW_LABEL = "gangwarden.test/terminates-in"
"""A pod with this label (a Go duration such as ``8s``) takes that long from its deletion to its end; see ``kwok.yaml``."""
ENDS_LABEL = "gangwarden.test/ends-in"
"""A pod with this label (a Go duration such as ``1s``) succeeds that long after it began to run."""
FAKE_NODE_SELECTOR = "kwok.x-k8s.io/node=fake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Which fake nodes there are: ``n0``, ``n1``, … spread over racks ``r0``, ``r1``, … in order."""

    count: int = 4
    racks: int = 2
    cpu: str = "4"
    memory: str = "16Gi"
    pods: str = "50"

    def objects(self) -> list[Object]:
        """Return the Node objects."""
        return [self.one(f"n{index}", rack=f"r{index * self.racks // self.count}") for index in range(self.count)]

    def one(self, name: str, *, rack: str) -> Object:
        """Return a Node of this size; kwok makes it Ready."""
        room = {"cpu": self.cpu, "memory": self.memory, "pods": self.pods}
        key, _, value = FAKE_NODE_SELECTOR.partition("=")
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, RACK_KEY: rack},
                "annotations": {key: value},
            },
            "status": {"capacity": room, "allocatable": room},
        }
