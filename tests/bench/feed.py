"""What following a large cluster costs: 20,000 pods through the snapshot feed, then a stream of changes.

Each side runs in a process of its own, because memory that was once taken is rarely given back. The anchor does the
least that a client can do with the same bytes: ``json.loads`` of every event, keeping what it got.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson

from tests.bench.figures import Comparison, Section
from tests.bench.review import resident_kib
from webhook.cluster import SnapshotFeed
from webhook.model.objects import Kind
from webhook.settings import ClusterSettings

PODS, CHANGES, NAMESPACES, ROUNDS = 20_000, 4_000, 50, 3
BURST, PAUSE_SECONDS = 100, 0.05
"""Changes come in bursts, 2,000 a second: what a 5,000-node cluster does at its worst."""
POD = Kind("", "v1", "Pod")
METHOD = f"""\
{PODS:,} pods of {NAMESPACES} namespaces as a WatchList stream, then {CHANGES:,} changes of random ones at 2,000 a second. Ours
is the snapshot feed whole: decode, trim, store, publish copies, tell a listener. The anchor is `json.loads` of the same lines,
keeping the last object of each pod. Each in a process of its own, in turns; memory is what the process grew by."""


def measure() -> Section:
    """Measure both sides on the same file."""
    with tempfile.TemporaryDirectory(prefix="gangwarden-bench-") as directory:
        stream = Path(directory) / "stream"
        with stream.open("wb") as out:
            out.writelines(line + b"\n" for line in _lines())
        size = stream.stat().st_size
        found: dict[str, list[dict[str, float]]] = {"ours": [], "anchor": []}
        for number in range(ROUNDS):
            for side in ("ours", "anchor") if number % 2 else ("anchor", "ours"):
                found[side].append(_in_process(side, stream))
    return Section(
        title="Following a cluster",
        method=f"{METHOD} The stream has {size / 1e6:.0f} MB.",
        ours="snapshot feed",
        anchor="json.loads",
        comparisons=tuple(
            Comparison(
                what=what,
                unit=unit,
                ours=tuple(values[key] for values in found["ours"]),
                anchor=tuple(values[key] for values in found["anchor"]),
            )
            for what, unit, key in (
                (f"CPU of reading {PODS:,} pods", "s", "initial_seconds"),
                (f"memory of {PODS:,} pods", "MiB", "memory_mib"),
                ("CPU of one change", "us", "change_us"),
            )
        ),
    )


def _in_process(side: str, stream: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.feed", side, str(stream)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _lines() -> Iterator[bytes]:
    """Yield the stream: pods, the bookmark that ends the initial set, changes."""
    for index in range(PODS):
        yield orjson.dumps({"type": "ADDED", "object": pod(index, version=index + 1)})
    meta = {"resourceVersion": str(PODS + 1), "annotations": {"k8s.io/initial-events-end": "true"}}
    yield orjson.dumps({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": meta}})
    for number in range(CHANGES):
        index = number * 7919 % PODS  # a prime spreads them
        yield orjson.dumps({"type": "MODIFIED", "object": pod(index, version=PODS + 2 + number)})


def pod(index: int, *, version: int) -> dict[str, Any]:
    """Return a running member of a group, with the weight of managedFields, environment and conditions."""
    job = f"train-{index // 32}"
    labels = {"job-name": job, "batch.kubernetes.io/job-name": job, "batch.kubernetes.io/job-completion-index": str(index % 32)}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"{index // 32:08x}-aaaa", "controller": True}
    fields = {f"f:field{number}": {"f:one": {}, "f:two": {}} for number in range(80)}
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "env": [{"name": f"NAME_{number}", "value": "v" * 20} for number in range(20)],
        "resources": {"requests": {"cpu": "1", "example.com/gpu": "8"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{job}-{index}",
            "namespace": f"team-{index // 32 % NAMESPACES}",
            "uid": f"{index:08x}-0000-4000-8000-{index:012x}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels,
            "ownerReferences": [owner],
            "managedFields": [{"manager": "manager", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}],
        },
        "spec": {
            "schedulingGroup": {"podGroupName": f"{job}-abcdef"},
            "schedulerName": "default-scheduler",
            "priority": 0,
            "nodeName": f"node-{index % 5000}",
            "containers": [container],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": each, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"} for each in conditions],
            "containerStatuses": [{"name": "main", "ready": True, "imageID": "sha256:" + "0" * 64}],
        },
    }


class Recorded:
    """Stands where the API of the cluster room stands, and plays the file."""

    def __init__(self, stream: Path) -> None:
        self.connection, self.mapper = self, self
        self.settings = ClusterSettings()
        self.may_go_on, self.ended = asyncio.Event(), asyncio.Event()
        self._stream = stream

    async def find(self, _kind: Kind) -> Any:
        return SimpleNamespace(path=lambda _namespace: "/api/v1/pods")

    async def lines(self, _call: object, *, key: str) -> AsyncGenerator[bytes, None]:
        with self._stream.open("rb") as lines:
            for _ in range(PODS + 1):
                yield lines.readline()
            await self.may_go_on.wait()
            for number, line in enumerate(lines, start=1):
                yield line
                if number % BURST == 0:
                    await asyncio.sleep(PAUSE_SECONDS)
        self.ended.set()
        await asyncio.Event().wait()


async def ours(stream: Path) -> dict[str, float]:
    """Follow the stream as a process in a cluster does."""
    recorded, told = Recorded(stream), 0

    def listen(*_: object) -> None:
        nonlocal told
        told += 1

    feed = SnapshotFeed(recorded, [POD])  # type: ignore[arg-type]  # as much of Api as an informer uses
    feed.listen(listen)
    memory, began = resident_kib(), time.process_time()
    running = asyncio.create_task(feed.run())
    await feed.wait_synced(120)
    initial, memory = time.process_time() - began, resident_kib() - memory
    began = time.process_time()
    recorded.may_go_on.set()
    await recorded.ended.wait()
    await feed.wait_synced(120)
    changes = time.process_time() - began
    running.cancel()
    assert told == PODS + CHANGES, told
    return {"initial_seconds": initial, "memory_mib": memory / 1024, "change_us": changes / CHANGES * 1e6}


def anchor(stream: Path) -> dict[str, float]:
    """Decode every line with the standard library, and keep the objects."""
    kept: dict[tuple[str, str], Any] = {}
    with stream.open("rb") as lines:
        memory, began = resident_kib(), time.process_time()
        for _ in range(PODS + 1):
            _keep(kept, lines.readline())
        initial, memory = time.process_time() - began, resident_kib() - memory
        began = time.process_time()
        for line in lines:
            _keep(kept, line)
        changes = time.process_time() - began
    assert len(kept) == PODS + 1, len(kept)
    return {"initial_seconds": initial, "memory_mib": memory / 1024, "change_us": changes / CHANGES * 1e6}


def _keep(kept: dict[tuple[str, str], Any], line: bytes) -> None:
    found = json.loads(line)["object"]
    kept[found["metadata"].get("namespace", ""), found["metadata"].get("name", "")] = found


if __name__ == "__main__":
    side, path = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(asyncio.run(ours(path)) if side == "ours" else anchor(path)))
