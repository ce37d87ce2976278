"""The pods that a workload's templates would become, for policies about Pods that want to see them before they exist.

A policy about Pods is asked when a controller creates one: its workload was admitted long before, and what its owner gets to
see is an event. Where the policy says so, offline commands ask it about the pods right away. Never by themselves, as other
engines do: many a policy about Pods is right in refusing a person what a controller may do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from webhook.admission.ask import Asker, request_for
from webhook.admission.policyset import PolicySet
from webhook.groups import read_path
from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.policies import Head
from webhook.model.requests import AdmissionRequest, UserInfo

ANNOTATION = "gangwarden.dev/ask-about-templates"
"""On a policy about Pods: ``"true"``."""


@dataclass(frozen=True, slots=True)
class _Owner:
    """Where a kind has its pod templates, and which controller makes pods of them."""

    path: str
    controller: str


_OWNERS: Mapping[tuple[str, str], _Owner] = MappingProxyType(
    {
        ("batch", "Job"): _Owner("spec.template", "job-controller"),
        ("batch", "CronJob"): _Owner("spec.jobTemplate.spec.template", "job-controller"),
        ("apps", "Deployment"): _Owner("spec.template", "replicaset-controller"),
        ("apps", "ReplicaSet"): _Owner("spec.template", "replicaset-controller"),
        ("apps", "StatefulSet"): _Owner("spec.template", "statefulset-controller"),
        ("apps", "DaemonSet"): _Owner("spec.template", "daemon-set-controller"),
        ("", "ReplicationController"): _Owner("spec.template", "replication-controller"),
        ("jobset.x-k8s.io", "JobSet"): _Owner("spec.replicatedJobs[*].template.spec.template", "job-controller"),
    }
)


def asking_policies(policies: PolicySet) -> PolicySet:
    """Return those of the native policies that want to see pods before they exist."""
    return replace(
        policies,
        validating=tuple(bound for bound in policies.validating if asks_about_templates(bound[0].head.source)),
        mutating=tuple(bound for bound in policies.mutating if asks_about_templates(bound[0].head.source)),
        workload=(),
    )


def asks_about_templates(head: Head) -> bool:
    """Tell whether a policy wants to see pods before they exist."""
    return head.annotations.get(ANNOTATION) == "true"


def pod_requests(workload: Object) -> Iterator[tuple[str, AdmissionRequest]]:
    """Yield the path of each pod template, and the request by which its controller would create a pod of it."""
    kind = Kind.of(workload)
    owner = _OWNERS.get((kind.group, kind.kind))
    if owner is None:
        return
    name = f"system:serviceaccount:kube-system:{owner.controller}"
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
    for path, template in _templates(workload, owner.path):
        yield path, request_for(_pod(template, workload), Asker(user=UserInfo(username=name, groups=groups)))


def _templates(workload: Object, path: str) -> Iterator[tuple[str, Object]]:
    before, is_list, below = path.partition("[*].")
    if is_list:
        items = next((found for found in read_path(workload, before) if isinstance(found, list)), [])
        places = [(f"{before}[{index}].{below}", item, below) for index, item in enumerate(items)]
    else:
        places = [(path, workload, path)]
    for place, start, rest in places:
        yield from ((place, found) for found in read_path(start, rest) if isinstance(found, dict))


def _pod(template: Object, workload: Object) -> Object:
    """Return what a controller sends (kubernetes 1.37 pkg/controller/controller_utils.go, GetPodFromTemplate)."""
    kind, meta, given = Kind.of(workload), metadata_of(workload), metadata_of(template)
    name = str(meta.get("name") or meta.get("generateName") or "")
    head = {key: given[key] for key in ("labels", "annotations", "finalizers") if given.get(key)}
    if kind.kind == "Job" and meta.get("name"):
        head["labels"] = {**(head.get("labels") or {}), "batch.kubernetes.io/job-name": name, "job-name": name}
    place = {"namespace": meta["namespace"]} if meta.get("namespace") else {}
    spec = {"spec": template["spec"]} if "spec" in template else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": f"{name}-", **place, **head}, **spec}
