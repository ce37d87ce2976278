"""Objects of every kind that stamps pods, with each place of a pod spec in it: where a rule may be missed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webhook.model.objects import Object

CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
SECURED = {"runAsUser": 1000, "privileged": False, "capabilities": {"drop": ["ALL"]}}
_POD: Object = {
    "restartPolicy": "Never",
    "securityContext": {"runAsNonRoot": True, "fsGroup": 1},
    "containers": [{"name": "main", "image": "registry.example/a:1", "securityContext": SECURED}],
    "initContainers": [{"name": "first", "image": "registry.example/b:1", "securityContext": SECURED}],
}
_KINDS: tuple[tuple[str, str, tuple[str, ...], Object], ...] = (
    ("v1", "Pod", ("spec",), {}),
    ("v1", "PodTemplate", ("template.spec",), {}),
    ("v1", "ReplicationController", ("spec.template.spec",), {"replicas": 2}),
    ("apps/v1", "Deployment", ("spec.template.spec",), {"replicas": 2}),
    ("apps/v1", "ReplicaSet", ("spec.template.spec",), {"replicas": 2}),
    ("apps/v1", "StatefulSet", ("spec.template.spec",), {"replicas": 2}),
    ("apps/v1", "DaemonSet", ("spec.template.spec",), {}),
    ("batch/v1", "Job", ("spec.template.spec",), {"parallelism": 4, "completions": 4, "completionMode": "Indexed"}),
    ("batch/v1", "CronJob", ("spec.jobTemplate.spec.template.spec",), {"schedule": "* * * * *"}),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        ("spec.replicatedJobs.0.template.spec.template.spec", "spec.replicatedJobs.1.template.spec.template.spec"),
        {},
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        ("spec.leaderWorkerTemplate.leaderTemplate.spec", "spec.leaderWorkerTemplate.workerTemplate.spec"),
        {"replicas": 2},
    ),
    (
        "kubeflow.org/v2beta1",
        "MPIJob",
        ("spec.mpiReplicaSpecs.Launcher.template.spec", "spec.mpiReplicaSpecs.Worker.template.spec"),
        {},
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        ("spec.pytorchReplicaSpecs.Master.template.spec", "spec.pytorchReplicaSpecs.Worker.template.spec"),
        {},
    ),
    (
        "ray.io/v1",
        "RayCluster",
        ("spec.headGroupSpec.template.spec", "spec.workerGroupSpecs.0.template.spec"),
        {},
    ),
    (
        "ray.io/v1",
        "RayJob",
        ("spec.rayClusterSpec.headGroupSpec.template.spec", "spec.rayClusterSpec.workerGroupSpecs.0.template.spec"),
        {},
    ),
)


@dataclass(frozen=True, slots=True)
class PodPlace:
    """One pod spec in an object of one kind."""

    api_version: str
    kind: str
    path: str

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

    def build(self) -> Object:
        """Return an object of the kind, with a pod spec at each of its places."""
        _, _, paths, spec = next(one for one in _KINDS if one[:2] == (self.api_version, self.kind))
        meta = {"name": "train", "namespace": "team-a", "labels": {"gangwarden.dev/gang": "true"}}
        made: Object = {"apiVersion": self.api_version, "kind": self.kind, "metadata": meta}
        for path in paths:
            put(made, path, copy.deepcopy(_POD))
        if spec:
            made["spec"] |= copy.deepcopy(spec)
        for name, count in (("replicatedJobs", 4), ("workerGroupSpecs", 2)):
            for owner in (made.get("spec", {}), made.get("spec", {}).get("rayClusterSpec", {})):
                for index, entry in enumerate(owner.get(name, [])):
                    entry |= {"name": f"n{index}", "groupName": f"n{index}", "replicas": 1, "minReplicas": count}
        return made


PLACES = tuple(PodPlace(version, kind, path) for version, kind, paths, _ in _KINDS for path in paths)
KINDS = tuple({(place.api_version, place.kind): place for place in PLACES}.values())


def put(obj: Object, path: str, value: Any) -> None:
    """Set a value at a dotted path; numbers are indexes of lists, which grow."""
    *steps, last = path.split(".")
    place: Any = obj
    for step, following in zip(steps, (*steps[1:], last) if steps else (), strict=True):
        empty: Any = [] if following.isdecimal() else {}
        if isinstance(place, list):
            place += [{} for _ in range(int(step) + 1 - len(place))]
            place = place[int(step)]
        else:
            place = place.setdefault(step, empty)
    if isinstance(place, list):
        place += [{} for _ in range(int(last) + 1 - len(place))]
        place[int(last)] = value
    else:
        place[last] = value


def get(obj: Any, path: str) -> Any:
    """Return what stands at a dotted path."""
    for step in path.split("."):
        obj = obj[int(step)] if isinstance(obj, list) else obj[step]
    return obj


def cel(path: str) -> str:
    """Write a dotted path as CEL that finds nothing where a part is missing."""
    written = "dyn(object)"
    for step in path.split("."):
        written += f"[?{step}]" if step.isdecimal() else f".?{step}"
    return written


def named(obj: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of every field of this name."""
    waiting: list[tuple[str, Any]] = [("", obj)]
    while waiting:
        path, node = waiting.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, value in items:
            if name == key:
                yield f"{path}/{name}", value
            waiting.append((f"{path}/{name}", value))
