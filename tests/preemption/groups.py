"""A group in few words: ``Group().run(4)``, then whatever befalls it; ``facts`` is what the thinking rooms get to see."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.builders import job, namespace, pod, pod_group
from webhook.model.disruption import Intent, Loss, LossCause, Step
from webhook.model.groups import PlannedGroup
from webhook.model.objects import Object
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Snapshot, snapshot_of
from webhook.preemption.facts import GroupFacts, gather_facts

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    """Return the API's text of a moment relative to NOW."""
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@dataclass
class Group:
    """A Job of four pods with its PodGroup; every word changes it and returns it."""

    size: int = 4
    quorum: int | None = None
    spec: DisruptionSpec = field(default_factory=DisruptionSpec)
    job: Object = field(default_factory=dict)
    pod_group: Object = field(default_factory=dict)
    pods: dict[str, Object] = field(default_factory=dict)
    nodes: dict[str, Object] = field(default_factory=dict)
    others: list[Object] = field(default_factory=list)
    budgets: list[Object] = field(default_factory=list)
    namespace: Object = field(default_factory=namespace)
    memory: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        built = job("train").parallelism(self.size).at("spec.completions", self.size)
        self.job = {**built.stored().build(), "status": {}}
        self.pod_group = pod_group("g", self.quorum or self.size, owner=self.job).build()

    def waiting(self, count: int | None = None) -> Group:
        """Add pods without a node."""
        for _ in range(self.size if count is None else count):
            self._add(len(self.pods), "", "Pending")
        return self

    def run(self, count: int | None = None) -> Group:
        """Add pods that run, each on a node of its own; the scheduler has started the group."""
        for _ in range(self.size if count is None else count):
            number = len(self.pods)
            self.node(f"n{number}")
            self._add(number, f"n{number}", "Running")
        return self.condition("PodGroupInitiallyScheduled", "True", "Scheduled")

    def replaced(self, index: int, *, created: float = 0, node: str = "") -> Group:
        """Add the pod that the Job makes in place of a lost one."""
        self._add(index, node, "Running" if node else "Pending", name=f"train-{index}-again", created=created)
        return self.node(node) if node else self

    def _add(self, index: int, node: str, phase: str, *, name: str = "", created: float = -3600) -> None:
        built = pod(name or f"train-{index}", group="g", phase=phase).owned_by(self.job, controller=True)
        made = built.label("batch.kubernetes.io/job-completion-index", str(index)).build()
        made["metadata"] |= {"uid": f"uid-{name or index}", "creationTimestamp": at(created)}
        if node:
            made["spec"]["nodeName"] = node
            made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        self.pods[made["metadata"]["name"]] = made

    def pod(self, index: int) -> Object:
        return self.pods[f"train-{index}"]

    def doomed(self, index: int, reason: str, *, message: str = "", since: float = -5) -> Group:
        """Put DisruptionTarget on a pod; that alone is no loss."""
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
        self.pod(index)["status"].setdefault("conditions", []).append(condition | {"lastTransitionTime": at(since)})
        return self

    def deleted(self, index: int, *, since: float = -5, grace: int = 30) -> Group:
        self.pod(index)["metadata"] |= {"deletionTimestamp": at(since + grace), "deletionGracePeriodSeconds": grace}
        return self

    def failed(self, index: int, *, reason: str = "", ended: float = -5, code: int = 1, name: str = "") -> Group:
        terminated = {"exitCode": code, "reason": "Error", "finishedAt": at(ended)}
        status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": terminated}}]}
        self.pods[name or f"train-{index}"]["status"] |= status | ({"reason": reason} if reason else {})
        return self

    def succeeded(self, *indexes: int, counted: bool = True) -> Group:
        for index in indexes:
            self.pod(index)["status"]["phase"] = "Succeeded"
        if counted:
            done = sum(one["status"]["phase"] == "Succeeded" for one in self.pods.values())
            self.job["status"]["succeeded"] = done
        return self

    def gone(self, index: int, loss: Loss | None = None) -> Group:
        del self.pods[f"train-{index}"]
        if loss is not None:
            self.memory.setdefault("losses", []).append(loss)
        return self

    def node(self, name: str, *, ready: str = "True", taint: str = "", since: float = -60) -> Group:
        taints = [{"key": taint, "effect": "NoExecute", "timeAdded": at(since)}] if taint else []
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": at(since), "message": ""}
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "spec": {"taints": taints},
            "status": {"conditions": [condition]},
        }
        return self

    def without_node(self, name: str, *, seen_missing: float | None = None) -> Group:
        del self.nodes[name]
        if seen_missing is not None:
            self.memory["absent_nodes"] = {name: ago(-seen_missing)}
        return self

    def condition(self, kind: str, status: str, reason: str, message: str = "") -> Group:
        found = {"type": kind, "status": status, "reason": reason, "message": message}
        self.pod_group.setdefault("status", {}).setdefault("conditions", []).append(found)
        return self

    def job_condition(self, kind: str, reason: str = "") -> Group:
        self.job["status"].setdefault("conditions", []).append({"type": kind, "status": "True", "reason": reason})
        return self

    def with_spec(self, **spec: Any) -> Group:
        self.spec = DisruptionSpec(**spec)
        return self

    def with_job(self, path: str, value: Any) -> Group:
        return self._set(self.job, path, value)

    def with_group(self, path: str, value: Any) -> Group:
        return self._set(self.pod_group, path, value)

    def with_namespace(self, path: str, value: Any) -> Group:
        return self._set(self.namespace, path, value)

    def _set(self, obj: Object, path: str, value: Any) -> Group:
        *steps, last = (step.replace("~", ".") for step in path.split("."))
        for step in steps:
            obj = obj.setdefault(step, {})
        obj[last] = value
        return self

    def with_pod(self, index: int, path: str, value: Any) -> Group:
        return self._set(self.pod(index), path, value)

    def with_node(self, name: str, path: str, value: Any) -> Group:
        return self._set(self.nodes[name], path, value)

    def remembering(self, *, short_since: float | None = None, **more: Any) -> Group:
        """Have the watcher remember: ``intent``, ``losses``, since when the group is short."""
        self.memory |= more | ({} if short_since is None else {"short_since": ago(-short_since)})
        return self

    def sized(self, completions: int, *, parallelism: int | None = None) -> Group:
        self.size = parallelism or completions
        return self.with_job("spec.completions", completions).with_job("spec.parallelism", self.size)

    def crashing(self, index: int) -> Group:
        waits = {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
        return self.with_pod(index, "status.containerStatuses", [waits])

    def unindexed(self) -> Group:
        """Take the completion index off every pod, as in a Job without."""
        for one in self.pods.values():
            one["metadata"]["labels"] = {}
        return self

    def stranger(self, name: str, *, deleted: bool = False) -> Group:
        """Add a pod that names the group, of another Job."""
        other = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "other", "uid": "other"}}
        made = pod(name, group="g", phase="Running").owned_by(other, controller=True).at("spec.nodeName", "n0")
        self.pods[name] = made.at("metadata.uid", name).at("metadata.creationTimestamp", at(-60)).build()
        if deleted:
            self.pods[name]["metadata"]["deletionTimestamp"] = at(25)
        return self

    def controlled_by(self, api_version: str, kind: str) -> Group:
        reference = {"apiVersion": api_version, "kind": kind, "name": "above", "uid": "above", "controller": True}
        return self.with_job("metadata.ownerReferences", [reference])

    def of_its_own(self) -> Group:
        """Have the PodGroup made for the workload as it is called now."""
        self.pod_group = pod_group("g", self.size, owner=self.job).build()
        return self

    def of_a_jobset(self) -> Group:
        """Have the group owned by a JobSet, which controls the Job."""
        meta = {"name": "set", "namespace": "team-a", "uid": "set"}
        jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": {}}
        self.others.append(jobset)
        self.pod_group = pod_group("g", self.size, owner=jobset).build()
        reference = {key: jobset[key] for key in ("apiVersion", "kind")} | {"name": "set", "uid": "set", "controller": True}
        return self.with_job("metadata.ownerReferences", [reference])

    def without_job(self) -> Group:
        """Have the Job gone; another one shows that Jobs are watched."""
        self.job = job("other").stored().build()
        return self

    @property
    def planned(self) -> PlannedGroup:
        return PlannedGroup(template="workers", pod_group="g", count=self.size, min_count=self.quorum or self.size)

    def snapshot(self) -> Snapshot:
        pdbs = [*self.budgets, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _ELSEWHERE}]
        known = [self.job, self.pod_group, self.namespace, *self.pods.values(), *self.nodes.values(), *self.others, *pdbs]
        return snapshot_of([*copy.deepcopy(known), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}}])

    def facts(self, **more: Any) -> GroupFacts:
        known = {"spec": self.spec, "now": NOW, "planned": self.planned, **self.memory, **more}
        return gather_facts(self.pod_group, self.pods.values(), self.snapshot(), **known)


def loss(number: int, cause: LossCause = LossCause.EVICTED, *, since: float = -5, **more: Any) -> Loss:
    """Return what the watcher remembers of a member that is gone."""
    known = {"index": str(number), "node": f"n{number}", "message": ""} | more
    return Loss(pod=f"train-{number}", uid=f"uid-{number}", cause=cause, since=ago(-since), **known)


def intent(step: Step, *, note: str = "", began: float = -20, **more: Any) -> Intent:
    known = {"victim": "train-1", "cause": LossCause.EVICTED, "owner_uid": "u"} | more
    return Intent(id="abc123", step=step, began=ago(-began), step_since=ago(-began), note=note, **known)


_ELSEWHERE = {"name": "other", "namespace": "elsewhere"}
