"""An API server on loopback with many nodes and pods, whose pods end and are replaced as fast as one asks it to.

It speaks HTTPS and sends each event by itself, as the real one does: decryption and small reads belong to what following costs.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from tests.bench.feed import pod
from tests.cluster.fake_api import INITIAL_END, FakeApi
from tests.controlplane.certificates import Authority

NODES, PODS = 5_000, 50_000
LIFE = ("DELETED", "ADDED", "MODIFIED", "MODIFIED")
"""What a watch tells when a pod ends and another comes: gone, created, bound, running."""
_TICK_SECONDS = 0.005


class LargeCluster(FakeApi):
    """Holds its pods as numbers: what is sent of them is made when it is sent."""

    def __init__(self, folder: Path, *, nodes: int, pods: int) -> None:
        super().__init__()
        self._nodes, self._pods = nodes, pods
        self._stream: web.StreamResponse | None = None
        self.lists = 0
        """How often nodes or pods were read from their beginning."""
        authority = Authority("large-cluster")
        pair = authority.issue("api", hosts=("127.0.0.1",))
        (folder / "server.pem").write_bytes(pair.certificate + pair.key)
        (folder / "ca.crt").write_bytes(authority.certificate)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "server.pem")
        self.documents["/api/v1"] = self.documents["/apis"] = {"resources": [], "groups": []}

    async def churn(self, changes: Iterator[bytes], *, a_second: int) -> float:
        """Send changes of pods at this rate; return how long that took: longer than planned when the client is too slow."""
        assert self._stream is not None
        began, sent = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began) * a_second) - sent
            for _ in range(due):
                line = next(changes, None)
                if line is None:
                    return time.monotonic() - began
                await self._stream.write(line)
                sent += 1
            await asyncio.sleep(_TICK_SECONDS)

    async def expire(self) -> None:
        """End every watch and let none be resumed: all that follow us have to read everything again."""
        self.oldest = sys.maxsize
        await self.cut_watches()

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        held = {"/api/v1/nodes": self._node_lines, "/api/v1/pods": self._pod_lines}.get(request.path)
        if held is None or "sendInitialEvents" not in request.query:
            return await super()._watch(request)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        cut = self.cut
        for number, line in enumerate(held()):
            await response.write(line)
            if number % 50 == 0:  # writing does not yield while there is room, and others are to be answered
                await asyncio.sleep(0)
        meta = {"resourceVersion": "100", "annotations": INITIAL_END}
        await response.write(orjson.dumps({"type": "BOOKMARK", "object": {"metadata": meta}}) + b"\n")
        if request.path == "/api/v1/pods":
            self._stream = response
        self.lists += 1
        await cut.wait()
        return response

    def _node_lines(self) -> Iterator[bytes]:
        return (_line("ADDED", _node(index)) for index in range(self._nodes))

    def _pod_lines(self) -> Iterator[bytes]:
        return (_line("ADDED", pod(index, version=index)) for index in range(self._pods))


def replacements(pods: int, changes: int) -> list[bytes]:
    """Return the events of pods that end, here and there, each followed by the life of its successor."""
    return [
        _line(kind, _in_its_life(number // len(LIFE) * 7919 % pods, number))
        for number, kind in enumerate(itertools.islice(itertools.cycle(LIFE), changes))
    ]


def _in_its_life(index: int, number: int) -> dict[str, Any]:
    """Return a pod: its last state, then its successor without a node, with one, and running on it."""
    found = pod(index, version=PODS + number)
    step = number % len(LIFE)
    if step in (1, 2):
        found["status"] = {"phase": "Pending", "conditions": found["status"]["conditions"][-1:]}
    if step == 1:
        del found["spec"]["nodeName"]
        found["status"]["conditions"] = []
    return found


def _node(index: int) -> dict[str, Any]:
    room = {"cpu": "96", "memory": "700Gi", "example.com/gpu": "8", "pods": "110", "ephemeral-storage": "900Gi"}
    name, zone = f"node-{index}", f"zone-{index % 3}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/rack": f"rack-{index // 16}",
    }
    at = "2026-01-01T00:00:00Z"
    conditions = [
        {
            "type": each,
            "status": str(each == "Ready"),
            "reason": f"Kubelet{each}",
            "message": f"kubelet says {each}",
            "lastHeartbeatTime": at,
        }
        for each in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [{"names": [f"registry.example/image-{number}@sha256:{number:064x}"], "sizeBytes": 10**8} for number in range(50)]
    fields = {f"f:field{number}": {"f:one": {}, "f:two": {}} for number in range(80)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"{index:08x}-0000-4000-9000-{index:012x}",
            "resourceVersion": str(index),
            "creationTimestamp": at,
            "labels": labels,
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}],
        },
        "spec": {"podCIDR": f"10.{index // 256}.{index % 256}.0/24"},
        "status": {"allocatable": room, "capacity": room, "conditions": conditions, "images": images},
    }


def _line(change: str, obj: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": change, "object": obj}) + b"\n"
