"""Child Jobs whose parent declared their group: the Job controller makes a PodGroup from a template of the parent's Workload.

The Workload must be there before the Job controller first looks at the Job, or its pods are ungrouped for ever, and neither an
event nor a condition says so. Two Jobs of one template come to one PodGroup name; the second never gets a pod. Source:
pkg/controller/job/job_scheduling_manager.go of 1.37 (KEP-6089).
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.groups.claims import DELEGATED_ANNOTATION
from webhook.groups.native import is_job
from webhook.model.actions import Tell
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Object, annotations_of, controller_of, metadata_of
from webhook.model.ownership import key_of_owner
from webhook.model.snapshot import Snapshot

_NEXT = (
    "Whoever makes the Job has to create that Workload before it; or label its owner gangwarden.dev/gang, so that Gangwarden "
    "makes one group of all its Jobs."
)


def is_delegated(workload: Object) -> bool:
    """Tell whether a Job leaves its group to its owner; a group in its pod template would win over that."""
    template = (workload.get("spec") or {}).get("template") or {}
    named = (template.get("spec") or {}).get("schedulingGroup")
    return is_job(workload) and not named and controller_of(workload) is not None and bool(_template(workload))


def tell_delegated(job: Object, snapshot: Snapshot) -> Tell:
    """Say why a Job that leaves its group to its owner has none, though the Job controller had its turn."""
    meta, template = metadata_of(job), _template(job)
    owner = controller_of(job) or {}
    who = f"{owner.get('kind')} {owner.get('name')}"
    workloads = tuple(_workloads_of(owner, str(meta.get("namespace") or ""), snapshot))
    declared = sorted(str(one.get("name")) for each in workloads for one in each["spec"].get("podGroupTemplates") or ())
    if not workloads:
        why = f"there is no Workload whose spec.controllerRef is {who}"
    elif template not in declared:
        why = f"the Workload of {who} has no template {template!r}, only {', '.join(map(repr, declared))}"
    else:
        taken = next(_taken(job, {str(metadata_of(each)["name"]) for each in workloads}, snapshot), "")
        why = (
            f"the PodGroup of that template is Job {taken}'s, and a second Job of it never gets a pod"
            if taken
            else f"the Workload of {who} came too late, or feature gate WorkloadWithJob is off in kube-controller-manager"
        )
    message = f"Its annotation {DELEGATED_ANNOTATION} leaves its group to {who}, but it has none: {why}. {_NEXT}"
    return Tell(about=job, reason="DelegatedGroupMissing", message=message)


def _template(job: Object) -> str:
    return str(annotations_of(job).get(DELEGATED_ANNOTATION) or "")


def _workloads_of(owner: Object, namespace: str, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the Workloads of an owner, as the Job controller finds them: by group, kind and name, without the UID."""
    key = key_of_owner(owner, namespace)
    for found in snapshot.list(SCHEDULING_GROUP, "Workload", namespace=namespace):
        reference = found["spec"].get("controllerRef") or {}
        if (reference.get("apiGroup") or "", reference.get("kind"), reference.get("name")) == (key.group, key.kind, key.name):
            yield found


def _taken(job: Object, workloads: set[str], snapshot: Snapshot) -> Iterator[str]:
    """Yield the other Job that has the PodGroup of the same template."""
    meta, template = metadata_of(job), _template(job)
    for group in snapshot.list(SCHEDULING_GROUP, "PodGroup", namespace=str(meta.get("namespace") or "")):
        reference, owner = group["spec"].get("workloadRef") or {}, controller_of(group)
        if reference.get("templateName") != template or reference.get("workloadName") not in workloads or owner is None:
            continue
        if owner.get("uid") != meta.get("uid"):
            yield str(owner.get("name"))
