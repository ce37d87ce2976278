"""Gangs that are stored, run, end and are deleted, and what became of each."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import requests

from tests.chaos.load import Pace
from tests.controlplane.client import JOBS, POD_GROUPS, PODS, WORKLOADS, ApiError, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import ENDS_LABEL
from tests.controlplane.scenes import is_bound, label_template
from tests.controlplane.watch import watching
from tests.e2e.installation import labelled_job

Object = dict[str, Any]
SIZE = 4
SETTLE_SECONDS = 180.0
"""A leader may have died last of all: its Lease runs out in 15 s, the rest is room for a busy machine."""


class Gangs:
    """Makes gangs at an even pace and deletes each as it finishes."""

    def __init__(self, cluster: ControlPlane, namespace: str, *, per_second: float) -> None:
        self._cluster, self._client, self._namespace = cluster, cluster.client, namespace
        self._pace, self._ended, self._lock = Pace(per_second), threading.Event(), threading.Lock()
        self._finished: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=one, name=one.__name__) for one in (self._make, self._delete)]
        self._seen: dict[str, dict[str, set[str]]] = {what: defaultdict(set) for what in (PODS, POD_GROUPS, WORKLOADS)}
        """UIDs of bound pods, of PodGroups and of Workloads by their Job."""
        self.made: dict[str, float] = {}
        """When each was asked for."""
        self.complete: dict[str, float] = {}
        self.deleted: set[str] = set()
        self.failed: list[str] = []
        self.unenforced: list[str] = []

    @contextlib.contextmanager
    def seen(self) -> Iterator[None]:
        """Follow everything that becomes of them."""
        takes = {JOBS: self._take_job, PODS: self._take_pod, POD_GROUPS: self._take_owned, WORKLOADS: self._take_owned}
        with contextlib.ExitStack() as stack:
            for resource, take in takes.items():
                stack.enter_context(watching(self._cluster, resource, self._namespace, partial(self._take, resource, take)))
            yield

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Make no more."""
        self._ended.set()
        if self._threads[0].ident is not None:
            self._threads[0].join(60)

    def close(self) -> None:
        """Delete no more."""
        self.stop()
        self._finished.put("")
        if self._threads[1].ident is not None:
            self._threads[1].join(60)

    def settle(self) -> None:
        """Wait until all that was made has ended and is gone, with all that belonged to it."""
        wait_for(lambda: self.deleted >= set(self.made), seconds=SETTLE_SECONDS, what="every gang ends")
        wait_for(lambda: not self.remains(), seconds=SETTLE_SECONDS, what="nothing is left")

    def remains(self) -> Counter[str]:
        """Return how much there still is of each kind."""
        found = {resource: self._client.list(resource, self._namespace) for resource in (JOBS, PODS, POD_GROUPS, WORKLOADS)}
        return Counter({resource: len(objects) for resource, objects in found.items() if objects})

    def lost(self, lapses: Sequence[tuple[float, float]]) -> list[str]:
        """Say what is missing of each gang; ``lapses`` are the times when nobody led.

        The PodGroup comes first, for pods wait for it and not for the Workload. Where the leader dies between the two, a gang of
        these few seconds has ended before the next one leads, and who has ended gets nothing any more.
        """
        with self._lock:
            found = {
                name: self._missing(name, is_led=not any(self._spans(name, *lapse) for lapse in lapses)) for name in self.made
            }
        return [f"{name}: {missing}" for name, missing in found.items() if missing]

    def _missing(self, name: str, *, is_led: bool) -> str:
        pods, groups, workloads = (len(self._seen[what][name]) for what in (PODS, POD_GROUPS, WORKLOADS))
        wrong = [f"{pods} pods bound, not {SIZE}"] if pods != SIZE else []
        wrong += [f"{groups} PodGroups, not 1"] if groups != 1 else []
        wrong += [f"{workloads} Workloads, not 1"] if workloads > 1 or (workloads == 0 and is_led) else []
        return ", ".join(wrong + ([] if name in self.complete else ["not complete"]))

    def _spans(self, name: str, died: float, led: float) -> bool:
        return self.made[name] <= led and self.complete.get(name, led) >= died

    def _make(self) -> None:
        number = 0
        while self._pace.wait(self._ended):
            number += 1
            name = f"gang-{number}"
            asked = labelled_job(name, self._namespace, pods=SIZE, cpu="10m")
            label_template(asked, **{ENDS_LABEL.replace("/", "__"): f"{500 + 250 * (number % 5)}ms"})
            asked_at = time.monotonic()
            try:
                stored = self._client.create(asked)
            except (ApiError, requests.RequestException) as error:
                self.failed.append(f"{name}: {error!r}")
                continue
            self.made[name] = asked_at
            if "schedulingGroup" not in stored["spec"]["template"]["spec"]:
                self.unenforced.append(f"{name} was stored without a stamp")

    def _delete(self) -> None:
        while name := self._finished.get():
            try:
                self._client.delete(JOBS, self._namespace, name)
            except (ApiError, requests.RequestException) as error:
                self.failed.append(f"deletion of {name}: {error!r}")
            self.deleted.add(name)

    @staticmethod
    def _take(resource: str, take: Callable[[str, Object], None], event: Object, _now: float) -> None:
        take(resource, event["object"])

    def _take_job(self, _resource: str, job: Object) -> None:
        name = job["metadata"]["name"]
        ends = {one["type"] for one in job.get("status", {}).get("conditions", ()) if one["status"] == "True"}
        if "Complete" in ends and name not in self.complete:
            self.complete[name] = time.monotonic()
            self._finished.put(name)

    def _take_pod(self, resource: str, pod: Object) -> None:
        if is_bound(pod):
            self._note(resource, pod["metadata"]["labels"]["job"], pod)

    def _take_owned(self, resource: str, owned: Object) -> None:
        for owner in owned["metadata"].get("ownerReferences", ()):
            self._note(resource, owner["name"], owned)

    def _note(self, resource: str, job: str, obj: Object) -> None:
        with self._lock:
            self._seen[resource][job].add(obj["metadata"]["uid"])
