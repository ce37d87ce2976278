"""Whose a workload is: reasons for which admission leaves it alone.

The rules are those of the field: root objects only, never beside another gang system, never over a user's own words.
"""

from __future__ import annotations

from typing import Any

from webhook.groups.paths import read_path
from webhook.model.objects import Kind, Object, annotations_of, controller_of, labels_of

_FOREIGN_SCHEDULERS = {
    "volcano": "Volcano",
    "yunikorn": "YuniKorn",
    "kai-scheduler": "KAI Scheduler",
    "koord-scheduler": "Koordinator",
    "scheduler-plugins-scheduler": "coscheduling",
}
_FOREIGN_MARKS = {
    "scheduling.volcano.sh/": "Volcano",
    "volcano.sh/": "Volcano",
    "scheduling.k8s.io/group-name": "Volcano",
    "yunikorn.apache.org/": "YuniKorn",
    "scheduling.x-k8s.io/pod-group": "coscheduling",
    "pod-group.scheduling.sigs.k8s.io/": "coscheduling",
    "kai.scheduler/": "KAI Scheduler",
    "gang.scheduling.koordinator.sh/": "Koordinator",
    "quota.scheduling.koordinator.sh/": "Koordinator",
}
"""Label and annotation keys (or their prefixes) that only the named system uses. Too generic to prove anything, and so
left out: the labels ``queue`` and ``applicationId``. Kueue is no foreign system: it admits by quota, beside a gang."""

_MARKS = tuple(_FOREIGN_MARKS)

DELEGATED_ANNOTATION = "scheduling.k8s.io/group-template-name"
"""On a child Job: a template of its owner's Workload, by which the Job controller puts it into a group (KEP-6089)."""
_MANAGERS = ("spec.managedBy", "spec.runPolicy.managedBy")
NO_GROUP_OBJECTS = (
    "the API server serves no scheduling.k8s.io/v1beta1 PodGroups, so its pods start one by one: turn on feature gate "
    "GenericWorkload and --runtime-config=scheduling.k8s.io/v1beta1=true in kube-apiserver, and the gate in the scheduler "
    "and the controller manager"
)
IGNORED_GROUPS = (
    "kube-apiserver takes groups, but kube-scheduler ignores them, for feature gate GenericWorkload is off there: gangs start in "
    "parts. Turn GenericWorkload on in kube-scheduler."
)
_OWNERS_WE_STEP_IN_FOR = {("batch", "CronJob")}
"""Controllers whose children count as roots. The native Job controller ignores ``spec.scheduling`` on a CronJob's Jobs
(job_scheduling_manager.go: any controller owner without the delegation annotation), so nobody else would group them."""


def reason_to_leave_alone(workload: Object, paths: tuple[str, ...], *, stale: frozenset[str] = frozenset()) -> str:
    """Return why no group is attached to this workload; empty when one may be.

    ``stale`` are PodGroup names that came with a copied record: naming one of them is nobody's wish.
    """
    owner = controller_of(workload)
    if owner and not is_cron_jobs(workload):
        return f"it is controlled by {owner.get('kind')} {owner.get('name')}, which decides for it"
    if annotations_of(workload).get(DELEGATED_ANNOTATION):
        return f"its annotation {DELEGATED_ANNOTATION} says that its owner declares its group"
    if manager := foreign_manager(workload):
        return manager
    named = [group for path in paths for group in _given(workload, f"{path}.spec.schedulingGroup")]
    if any(not isinstance(group, dict) or str(group.get("podGroupName")) not in stale for group in named):
        return "its pod template names a schedulingGroup already"
    return ""


def foreign_manager(workload: Object) -> str:
    """Return how a workload says that another than its kind's own controller runs it; empty where it does not."""
    for path in _MANAGERS:
        for manager in _given(workload, path):
            if _is_stranger(str(manager), workload):
                return f"{path} gives it to {manager}"
    return ""


def _is_stranger(manager: str, workload: Object) -> bool:
    """Tell whether a manager is another than the kind's own controller.

    What other kinds call theirs is theirs to know, and the only stranger that their APIs let in is Kueue.
    """
    if Kind.of(workload).group == "batch":
        return manager != "kubernetes.io/job-controller"
    return manager.startswith("kueue.x-k8s.io/")


def is_cron_jobs(workload: Object) -> bool:
    """Tell whether a CronJob made this workload."""
    owner = controller_of(workload)
    return owner is not None and (str(owner.get("apiVersion", "")).partition("/")[0], owner.get("kind")) in _OWNERS_WE_STEP_IN_FOR


def has_native_scheduling(workload: Object) -> bool:
    """Tell whether a user asked the workload's own controller for a group; also ``{}`` asks for one."""
    return bool(_given(workload, "spec.scheduling"))


def foreign_system(workload: Object, paths: tuple[str, ...]) -> str:
    """Return the other gang system that this workload belongs to, by its marks or schedulerName; empty when none."""
    templates = [template for path in paths for template in read_path(workload, path) if isinstance(template, dict)]
    for template in templates:
        spec = template.get("spec")
        scheduler = str(spec.get("schedulerName", "")) if isinstance(spec, dict) else ""
        if scheduler in _FOREIGN_SCHEDULERS:
            return _FOREIGN_SCHEDULERS[scheduler]
    for obj in (workload, *templates):
        for key in (*labels_of(obj), *annotations_of(obj)):
            if key.startswith(_MARKS):
                for mark, system in _FOREIGN_MARKS.items():
                    if key == mark or (mark.endswith("/") and key.startswith(mark)):
                        return system
    return ""


def _given(obj: Object, path: str) -> tuple[Any, ...]:
    """Return the values at a path; null is as good as absent."""
    return tuple(value for value in read_path(obj, path) if value is not None)
