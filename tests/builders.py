"""Objects for tests, built in the words a reader knows: ``job("train").parallelism(4).gang().build()``."""

from __future__ import annotations

import copy
import uuid
from dataclasses import dataclass, field
from typing import Any

from webhook.model.groups import GANG_LABEL, MANAGED_BY, MANAGED_BY_LABEL, MIN_COUNT_ANNOTATION, OWNER_UID_LABEL
from webhook.model.objects import Object

STARTED = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Built:
    """An object under construction; every step returns a new one."""

    obj: Object = field(default_factory=dict)

    def at(self, path: str, value: Any) -> Built:
        """Set a value at a dotted path; dots inside a key are written as ``~``."""
        changed = copy.deepcopy(self.obj)
        *steps, last = (step.replace("~", ".") for step in path.split("."))
        place = changed
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = value
        return type(self)(changed)

    def label(self, key: str, value: str) -> Built:
        return self.at(f"metadata.labels.{key.replace('.', '~')}", value)

    def annotate(self, key: str, value: str) -> Built:
        return self.at(f"metadata.annotations.{key.replace('.', '~')}", value)

    def stored(self) -> Built:
        """As the API server keeps it: with a UID and a creation time."""
        return self.at("metadata.uid", str(uuid.uuid5(uuid.NAMESPACE_DNS, str(self.obj)))).at(
            "metadata.creationTimestamp", STARTED
        )

    def owned_by(self, owner: Object, *, controller: bool) -> Built:
        meta = owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": controller,
        }
        return self.at("metadata.ownerReferences", [reference])

    def build(self) -> Object:
        return copy.deepcopy(self.obj)


class JobBuilder(Built):
    """A batch/v1 Job."""

    def parallelism(self, count: int) -> JobBuilder:
        return self.at("spec.parallelism", count)  # type: ignore[return-value]  # at() keeps the subclass

    def gang(self, minimum: int | None = None) -> Built:
        marked = self.label(GANG_LABEL, "true")
        return marked if minimum is None else marked.annotate(MIN_COUNT_ANNOTATION, str(minimum))


def job(name: str = "train", *, namespace: str = "team-a") -> JobBuilder:
    container = {"name": "main", "image": "registry.example/train:1", "resources": {"requests": {"cpu": "1"}}}
    return JobBuilder(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "parallelism": 4,
                "completions": 4,
                "completionMode": "Indexed",
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }
    )


def pod(name: str = "train-0", *, namespace: str = "team-a", group: str = "", phase: str = "Pending") -> Built:
    spec: Object = {
        "containers": [{"name": "main", "image": "registry.example/train:1"}],
        "schedulerName": "default-scheduler",
        "priority": 0,
    }
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return Built(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
            "status": {"phase": phase},
        }
    )


def pod_group(name: str, minimum: int = 4, *, namespace: str = "team-a", owner: Object | None = None) -> Built:
    built = Built(
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "disruptionMode": {"all": {}}, "priority": 0},
        }
    ).stored()
    if owner is None:
        return built
    return built.owned_by(owner, controller=False).label(OWNER_UID_LABEL, owner["metadata"]["uid"])


def namespace(name: str = "team-a", **labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}},
    }


def review(obj: Object | None, *, operation: str = "CREATE", old: Object | None = None, **more: Any) -> Object:
    """An AdmissionReview about an object, as the API server sends it."""
    known = obj or old or {}
    group, _, version = known.get("apiVersion", "v1").rpartition("/")
    kind = known.get("kind", "")
    plural = kind.lower() + "s"
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7f0b2891-916f-4ed6-b7cd-27bff1815a8c",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": plural},
            "requestKind": {"group": group, "version": version, "kind": kind},
            "requestResource": {"group": group, "version": version, "resource": plural},
            "name": known.get("metadata", {}).get("name", ""),
            "namespace": known.get("metadata", {}).get("namespace", ""),
            "operation": operation,
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": obj,
            "oldObject": old,
            "dryRun": False,
            "options": None,
            **more,
        },
    }


def job_set(name: str = "train", *, namespace: str = "team-a", **pods_of: int) -> Built:
    """A JobSet of one Job for each word, with so many pods; four workers and a leader if none is given."""
    jobs = [_replicated_job(role, pods) for role, pods in (pods_of or {"leader": 1, "worker": 4}).items()]
    return Built(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicatedJobs": jobs},
        }
    )


def _replicated_job(name: str, pods: int) -> Object:
    shape = job(name).parallelism(pods).build()["spec"] | {"completions": pods}
    return {"name": name, "replicas": 1, "template": {"spec": shape}}
