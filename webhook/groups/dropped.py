"""What was asked of a group and did not come: the API server drops fields of gates that are off, without a word to anybody.

Whoever wrote the field sees it accepted (pkg/registry/batch/job/strategy.go and pkg/registry/scheduling/podgroup/strategy.go of
1.37, dropDisabledFields). So what is stored is compared with what was asked, and the difference is told on the workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from webhook.groups.claims import NO_GROUP_OBJECTS, has_native_scheduling, reason_to_leave_alone
from webhook.groups.names import is_record_of_its_own, recorded_names, recorded_route
from webhook.groups.native import is_job
from webhook.groups.objects import pod_group_object
from webhook.groups.paths import read_path
from webhook.groups.states import age_seconds
from webhook.model.actions import Tell
from webhook.model.groups import GANG_LABEL, SCHEDULING_GROUP, GroupPlan, Route
from webhook.model.objects import Object, ObjectKey, labels_of, metadata_of
from webhook.model.snapshot import Snapshot

_TEMPLATE = "spec.template"
_GATES = {
    "schedulingConstraints": "TopologyAwareWorkloadScheduling",
    "resourceClaims": "DRAWorkloadResourceClaims",
    "disruptionMode": "GenericWorkload",
}
"""Fields that the Job controller copies from a Job into its PodGroup as they are, and the gates that keep them there."""

_YOUNG_SECONDS = 60.0
"""An older group may be of a time when its policy asked for less."""


def asks_for_gang(workload: Object) -> bool:
    """Tell whether a workload says by its label that it wants a group, and is one to which Gangwarden would give one."""
    return labels_of(workload).get(GANG_LABEL) == "true" and not reason_to_leave_alone(workload, (_TEMPLATE,))


def tell_not_grouped(workload: Object) -> Tell:
    """Say on a workload that no group can be: whoever created it may be a controller, which shows nobody the warning."""
    message = f"It asks for a gang by its label {GANG_LABEL}, but {NO_GROUP_OBJECTS}. Then create it again."
    return Tell(about=workload, reason="NoGroupObjects", message=message)


def has_lost_its_group(job: Object) -> bool:
    """Tell whether a Job carries our record of a group, and nothing in it asks for that group any more."""
    if not is_record_of_its_own(job) or not is_job(job):
        return False
    return has_lost_scheduling(job) or (
        bool(recorded_names(job)) and not any(read_path(job, f"{_TEMPLATE}.spec.schedulingGroup"))
    )


def has_lost_scheduling(job: Object) -> bool:
    """Tell whether a Job was sent on the native route by us and asks the Job controller for nothing."""
    return recorded_route(job) == Route.NATIVE and is_record_of_its_own(job) and not has_native_scheduling(job)


def tell_scheduling_dropped(job: Object) -> Tell:
    """Say on a Job that the Job controller was never asked for its group."""
    message = (
        "The Job controller was to make its group, but the API server dropped spec.scheduling: feature gate WorkloadWithJob is "
        "off there. The pods run ungrouped. Turn the gate on, or set attach: Managed in the WorkloadPolicy, and create the Job "
        "again."
    )
    return Tell(about=job, reason="GroupNotAttached", message=message)


def tell_fields_dropped(job: Object, pod_group: Object) -> Iterator[Tell]:
    """Say on a Job which of its wishes the PodGroup lacks that the Job controller made for it."""
    asked, stored = (job.get("spec") or {}).get("scheduling") or {}, pod_group.get("spec") or {}
    lost = [name for name in _GATES if asked.get(name) and stored.get(name) != asked[name]]
    if not lost:
        return
    fields = " and ".join(f"spec.scheduling.{name}" for name in lost)
    gates = " and ".join(_GATES[name] for name in lost)
    message = (
        f"The API server dropped {fields} from PodGroup {metadata_of(pod_group).get('name')}, which the Job controller made: "
        f"feature gate {gates} is off there. The pods start without it. Turn the gate on and create the Job again."
    )
    yield Tell(about=job, reason="GroupFieldDropped", message=message)


def tell_parts_dropped(owner: Object, plan: GroupPlan, snapshot: Snapshot, *, now: datetime) -> Iterator[Tell]:
    """Say on a workload what the PodGroups lack that were just made for it, though its policy asks for it."""
    namespace = str(metadata_of(owner).get("namespace") or "")
    for group in plan.groups:
        found = snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, group.pod_group))
        if found is None or age_seconds(found, now) > _YOUNG_SECONDS:
            continue
        wanted = pod_group_object(owner, plan, group)["spec"]
        lost = [name for name in _GATES if wanted.get(name) and not found["spec"].get(name)]
        if lost:
            gates = " and ".join(_GATES[name] for name in lost)
            message = (
                f"The API server dropped {' and '.join(lost)} from PodGroup {group.pod_group}: feature gate {gates} is off "
                "there. The pods start without it. Turn the gate on and create the workload again."
            )
            yield Tell(about=owner, reason="GroupFieldDropped", message=message)
