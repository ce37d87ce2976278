"""A small cluster for the lives of one group: a Job controller, a scheduler, kubelets, nodes and budgets, second by second.

Each does what Kubernetes 1.37.2 was seen to do (reference: job_controller.go, gangscheduling.go, node_lifecycle_controller.go,
eviction.go), no more; what is left to chance there is left to whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.builders import job, namespace, pod, pod_group
from webhook.groups import has_ended, repaired_quorum
from webhook.model.objects import Object, controller_of, metadata_of
from webhook.model.snapshot import Snapshot, snapshot_of

BACKOFF, LIFECYCLE, COLLECTION = 10, 20, 45
"""Seconds: until the Job replaces a failed pod; until a silent node's pods are deleted; until those of no node are failed."""
INDEX = "batch.kubernetes.io/job-completion-index"
UNREACHABLE, OUT_OF_SERVICE = "node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service"


def named(obj: Object) -> str:
    return str(metadata_of(obj)["name"])


def node_of(one: Object) -> str:
    return str(one["spec"].get("nodeName") or "")


@dataclass
class Cluster:
    """One Job in a group, among nodes of one place each."""

    parallelism: int = 4
    completions: int | None = 4
    asked: int = 4
    indexed: bool = True
    replace_failed_only: bool = True
    nodes: dict[str, Object] = field(default_factory=dict)
    pods: dict[str, Object] = field(default_factory=dict)
    budgets: dict[str, Object] = field(default_factory=dict)
    now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)
    suspended_by: str = ""
    """Who holds spec.suspend: us, or somebody."""
    made: int = 0
    """How many pods the Job has made."""
    is_resumed: bool = False
    """A restart of ours has just let the members start again, and none has."""

    def __post_init__(self) -> None:
        built = job("train").parallelism(self.parallelism).at("spec.completions", self.completions)
        built = built.at("spec.completionMode", "Indexed" if self.indexed else "NonIndexed").at("spec.backoffLimit", 3)
        self.job: Object | None = {**built.stored().build(), "status": {"conditions": []}}
        self.group: Object = self._new_group()
        self.space: Object = namespace()
        self._failures: set[str] = set()
        self._last_failure: datetime | None = None
        self._silent_since: dict[str, datetime] = {}
        self._bound_to_nobody: dict[str, datetime] = {}
        for number in range(self.parallelism + 1):
            self.add_node(f"n{number}")

    def _new_group(self) -> Object:
        return {**pod_group("g", self.asked, owner=self.job).build(), "status": {"conditions": []}}

    # What is seen of it

    def snapshot(self) -> Snapshot:
        jobs = [self.job] if self.job else [job("other").stored().build()]
        witness = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "witness"}}
        pdb = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "w", "namespace": "elsewhere"}}
        parts = [*jobs, self.group, self.space, witness, pdb]
        return snapshot_of([*parts, *self.nodes.values(), *self.budgets.values()])

    def seen_pods(self) -> dict[str, Object]:
        """Return the pods as they are now; what befalls them later does not change these."""
        return {name: {**one, "metadata": {**one["metadata"]}, "status": {**one["status"]}} for name, one in self.pods.items()}

    @property
    def members(self) -> list[Object]:
        """The Job's own pods that have not ended."""
        return [one for one in self.pods.values() if not has_ended(one) and self.is_own(one)]

    @property
    def working(self) -> list[Object]:
        return [one for one in self.members if node_of(one) and not self._is_leaving(one) and self.is_alive(node_of(one))]

    @property
    def quorum(self) -> int:
        return int(self.group["spec"]["schedulingPolicy"]["gang"]["minCount"])

    @property
    def is_suspended(self) -> bool:
        return bool(self.job and self.job["spec"].get("suspend"))

    @property
    def has_ended(self) -> bool:
        """Tell whether nothing is to be kept together any more."""
        meta = metadata_of(self.job or {})
        return self.job is None or bool(meta.get("deletionTimestamp")) or self._is_finished() or self._is_space_going()

    def is_own(self, one: Object) -> bool:
        reference = controller_of(one)
        return reference is not None and reference["name"] == "train"

    def is_alive(self, node: str) -> bool:
        found = self.nodes.get(node)
        return found is not None and node not in self._silent_since and not found["spec"].get("taints")

    @staticmethod
    def _is_leaving(one: Object) -> bool:
        return bool(metadata_of(one).get("deletionTimestamp"))

    @staticmethod
    def _is_doomed(one: Object) -> bool:
        return any(each["type"] == "DisruptionTarget" for each in one["status"].get("conditions", ()))

    # What befalls it

    def add_node(self, name: str) -> None:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": self.text()}
        meta = {"name": name, "creationTimestamp": self.text()}
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": meta,
            "spec": {},
            "status": {"conditions": [condition]},
        }

    def silence(self, name: str) -> None:
        self._silent_since[name] = self.now
        self.nodes[name]["status"]["conditions"][0] |= {"status": "Unknown", "lastTransitionTime": self.text()}
        self.nodes[name]["spec"]["taints"] = [{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": self.text()}]

    def revive(self, name: str) -> None:
        self._silent_since.pop(name, None)
        self.add_node(name)

    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self._silent_since.pop(name, None)

    def call_off(self, name: str) -> None:
        """Have an operator say that the machine is off; pod garbage collection ends its pods then."""
        self.silence(name)
        self.nodes[name]["spec"]["taints"].append({"key": OUT_OF_SERVICE, "effect": "NoExecute", "timeAdded": self.text()})

    def doom(self, one: Object, reason: str) -> None:
        known = one["status"].setdefault("conditions", [])
        known[:] = [each for each in known if each["type"] != "DisruptionTarget"]
        known.append(
            {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "", "lastTransitionTime": self.text()}
        )

    def delete_pod(self, one: Object, *, grace: int = 10) -> None:
        if not node_of(one):
            self.pods.pop(named(one), None)
        elif not self._is_leaving(one):
            ends = self.now + timedelta(seconds=grace)
            one["metadata"] |= {"deletionTimestamp": self.text(ends), "deletionGracePeriodSeconds": grace}

    def evict(self, one: Object) -> bool:
        """Evict as the API does: its budgets are asked, one of them at most."""
        covering = [budget for budget in self.budgets.values() if budget["status"]["disruptionsAllowed"] is not None]
        if node_of(one) and not self._is_leaving(one):
            if any(budget["status"]["disruptionsAllowed"] < 1 for budget in covering):
                return False
            for budget in covering:
                budget["status"]["disruptionsAllowed"] -= 1
        self.doom(one, "EvictionByEvictionAPI")
        self.delete_pod(one)
        return True

    def end(self, one: Object, phase: str, *, reason: str = "") -> None:
        one["status"] |= {"phase": phase} | ({"reason": reason} if reason else {})
        terminated = {"exitCode": 0 if phase == "Succeeded" else 1, "finishedAt": self.text()}
        one["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": terminated}}]

    def add_budget(self, allowed: int) -> None:
        self.budgets["b"] = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "team-a", "generation": 1},
            "spec": {"selector": {}, "minAvailable": 0},
            "status": {"observedGeneration": 1, "disruptionsAllowed": allowed, "expectedPods": 9, "desiredHealthy": 0},
        }

    # Its controllers

    def tick(self, seconds: int = 1) -> None:
        """Let time pass, and every controller do its work each second."""
        for _ in range(seconds):
            self.now += timedelta(seconds=1)
            self._kubelets()
            self._lifecycle()
            self._job_controller()
            self._upkeep()
            self._scheduler()

    def _kubelets(self) -> None:
        for name, one in tuple(self.pods.items()):
            ends = metadata_of(one).get("deletionTimestamp")
            if ends and datetime.fromisoformat(ends) <= self.now and (has_ended(one) or self._has_kubelet(one)):
                self._note_failure(one)
                del self.pods[name]

    def _has_kubelet(self, one: Object) -> bool:
        return node_of(one) in self.nodes and node_of(one) not in self._silent_since

    def _lifecycle(self) -> None:
        for one in tuple(self.pods.values()):
            node = node_of(one)
            if has_ended(one) or not node:
                continue
            if node in self.nodes:
                self._bound_to_nobody.pop(named(one), None)
            elif self.now - self._bound_to_nobody.setdefault(named(one), self.now) >= timedelta(seconds=COLLECTION):
                self._collect(one)
            if self._is_off(node) and self._is_leaving(one):
                self._collect(one)
            since = self._silent_since.get(node)
            if since and self.now - since >= timedelta(seconds=LIFECYCLE) and not self._is_leaving(one):
                self.doom(one, "DeletionByTaintManager")
                self.delete_pod(one)

    def _collect(self, one: Object) -> None:
        self.doom(one, "DeletionByPodGC")
        self.end(one, "Failed")
        self.delete_pod(one, grace=0)

    def _is_off(self, node: str) -> bool:
        taints = (self.nodes.get(node) or {"spec": {}})["spec"].get("taints") or ()
        return any(taint["key"] == OUT_OF_SERVICE for taint in taints)

    def _is_space_going(self) -> bool:
        return bool(metadata_of(self.space).get("deletionTimestamp"))

    def _note_failure(self, one: Object) -> None:
        if one["status"]["phase"] != "Succeeded" and self.is_own(one) and not self.is_suspended:
            self._last_failure = self.now

    def _job_controller(self) -> None:
        found = self.job
        if found is None or metadata_of(found).get("deletionTimestamp") or self._is_space_going():
            self._collect_garbage()
            return
        if self._is_finished():
            return
        own = [one for one in self.pods.values() if self.is_own(one)]
        failed = {metadata_of(one)["uid"] for one in own if one["status"]["phase"] == "Failed" and not self._is_doomed(one)}
        if failed - self._failures:
            self._failures |= failed
            self._last_failure = self.now
        active = [one for one in own if not has_ended(one) and not self._is_leaving(one)]
        succeeded = self._succeeded(own)
        active = self._manage(found, own, active, succeeded)
        found["status"] |= {
            "succeeded": succeeded,
            "active": len(active),
            "terminating": sum(not has_ended(one) and self._is_leaving(one) for one in own),
        }

    def _collect_garbage(self) -> None:
        for one in [each for each in self.pods.values() if self.is_own(each)]:
            self.delete_pod(one)
        if self.job is not None and not any(map(self.is_own, self.pods.values())):
            self.job = None

    def _succeeded(self, own: list[Object]) -> int:
        done = [one for one in own if one["status"]["phase"] == "Succeeded"]
        return len({metadata_of(one)["labels"].get(INDEX) or named(one) for one in done})

    def _manage(self, found: Object, own: list[Object], active: list[Object], succeeded: int) -> list[Object]:
        completions, parallelism = found["spec"]["completions"], found["spec"]["parallelism"]
        if len(self._failures) > found["spec"]["backoffLimit"]:
            return self._finish(found, "Failed", active)
        if self.is_suspended:
            for one in active:
                self.delete_pod(one)
            active = []
        if not active and succeeded and (completions is None or succeeded >= completions):
            return self._finish(found, "Complete", active)
        self._say(found, "Suspended", "True" if self.is_suspended else "False")
        if self.is_suspended:
            return active
        wanted = (
            min(parallelism, completions - succeeded) if completions is not None else len(active) if succeeded else parallelism
        )
        for one in active[max(wanted, 0) :]:
            self.delete_pod(one)
        active = active[: max(wanted, 0)]
        leaving = sum(not has_ended(one) and self._is_leaving(one) for one in own) if self.replace_failed_only else 0
        if self._last_failure is None or self.now - self._last_failure >= timedelta(seconds=BACKOFF):
            for index in self._free_indexes(own, max(wanted - len(active) - leaving, 0)):
                active.append(self.make_pod(index))
        return active

    def _free_indexes(self, own: list[Object], count: int) -> Iterator[int]:
        taken = {
            metadata_of(one)["labels"][INDEX]
            for one in own
            if self.indexed
            and one["status"]["phase"] != "Failed"
            and not (self._is_leaving(one) and not self.replace_failed_only)
        }
        completions = self.job["spec"]["completions"] if self.job else 0
        free = [index for index in range(completions or count) if str(index) not in taken] if self.indexed else range(count)
        yield from list(free)[:count]

    def make_pod(self, index: int) -> Object:
        """Make a pod of the Job that waits for a node."""
        self.made += 1
        assert self.job is not None
        made = pod(f"train-{self.made}", group="g").owned_by(self.job, controller=True).at("metadata.labels", {}).build()
        made["metadata"] |= {"uid": f"uid-{self.made}", "creationTimestamp": self.text()}
        if self.indexed:
            made["metadata"]["labels"][INDEX] = str(index)
        self.pods[named(made)] = made
        return made

    def _finish(self, found: Object, kind: str, active: list[Object]) -> list[Object]:
        for one in active:
            self.delete_pod(one)
        self._say(found, kind, "True")
        return []

    def _is_finished(self) -> bool:
        conditions = (self.job or {"status": {}})["status"].get("conditions", [])
        return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)

    def _say(self, obj: Object, kind: str, status: str, **more: Any) -> None:
        conditions = obj["status"].setdefault("conditions", [])
        before = next((each for each in conditions if each["type"] == kind and each["status"] == status), {})
        conditions[:] = [each for each in conditions if each["type"] != kind]
        since = before.get("lastTransitionTime") or self.text()
        conditions.append({"type": kind, "status": status, "lastTransitionTime": since, **more})

    def _upkeep(self) -> None:
        """Keep the quorum as our own upkeep does."""
        if metadata_of(self.group).get("deletionTimestamp") and not self.has_ended and all(map(has_ended, self.pods.values())):
            self.group = self._new_group()
        if self.job is not None and not self._is_finished():
            quorum = repaired_quorum(self.asked, self.job)
            self.group["spec"]["schedulingPolicy"]["gang"]["minCount"] = quorum

    def _scheduler(self) -> None:
        """Bind the waiting members, all that have room, if with those that hold a node they make the quorum."""
        counted = [one for one in self.pods.values() if not has_ended(one)]
        waiting = [one for one in counted if not node_of(one)]
        bound = [one for one in counted if node_of(one)]
        taken = {node_of(one) for one in bound}
        free = [
            name
            for name in sorted(self.nodes)
            if name not in taken and self.is_alive(name) and not self.nodes[name]["spec"].get("unschedulable")
        ]
        placed = min(len(waiting), len(free))
        if len(counted) < self.quorum or not placed or len(bound) + placed < self.quorum:
            return
        for one, name in zip(waiting, free, strict=False):
            one["spec"]["nodeName"] = name
            one["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        strangers = [one for one in bound if not self.is_own(one)]  # they count for the scheduler; policies keep them out
        assert not self.is_resumed or strangers or len(self.working) >= self.quorum, "the group was resumed, and started in part"
        self.is_resumed = False
        self._say(self.group, "PodGroupInitiallyScheduled", "True", reason="Scheduled")

    def text(self, at: datetime | None = None) -> str:
        return (at or self.now).strftime("%Y-%m-%dT%H:%M:%SZ")
