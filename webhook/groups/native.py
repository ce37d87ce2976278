"""The native route: a Job says in ``spec.scheduling`` what group it wants, and Kubernetes' own Job controller makes it.

Sources: pkg/controller/job/job_scheduling_manager.go and pkg/apis/batch/validation of 1.37 (feature gate WorkloadWithJob,
alpha). What that controller cannot carry ends there in silence: a Job whose template name is no DNS label never gets a pod,
and so does one whose PodGroup would have a priority above 1e9. So it is found out here, before the Job is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.groups.claims import is_cron_jobs
from webhook.groups.names import given_name, recorded_policy
from webhook.groups.paths import read_path, replace_at
from webhook.groups.resolve import GroupProblem
from webhook.model.groups import (
    GROUP_POLICY_ANNOTATION,
    GROUPED_AS_ANNOTATION,
    ROUTE_ANNOTATION,
    Capabilities,
    GroupPlan,
    PlannedGroup,
    Route,
)
from webhook.model.names import wrong_label
from webhook.model.objects import Kind, Object, controller_of, metadata_of
from webhook.model.policies import PodGroupSpec, WorkloadPolicy
from webhook.model.snapshot import Snapshot

_SUFFIX = "-pgt-0"
"""The Job controller names its group template after the Job, with this behind it, and cuts nothing."""
_GENERATED_BASE, _GENERATED = 58, 5
"""``generateName`` is cut to 58 characters and 5 are added (apiserver pkg/storage/names)."""
_TEMPLATE = "spec.template"
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def choose_route(policy: WorkloadPolicy, workload: Object, capabilities: Capabilities) -> Route:
    """Return how a workload gets its group; raises GroupProblem where a policy insists on a route that cannot be.

    ``Auto`` goes native only where the Job controller was seen to make groups: that the API server keeps the field says
    nothing about the controller manager, and a Job whose field nobody reads starts pod by pod.
    """
    if policy.attach == "Managed" or policy.composites:
        return Route.MANAGED
    obstacle = native_obstacle(workload, policy.pod_groups)
    if policy.attach == "Auto":
        return Route.NATIVE if capabilities.native_groups and capabilities.native_jobs and not obstacle else Route.MANAGED
    if is_cron_jobs(workload):
        return Route.MANAGED  # the Job controller does not look at Jobs of a CronJob, and somebody has to
    if not capabilities.native_jobs:
        obstacle = "the API server drops spec.scheduling, for feature gate WorkloadWithJob is off there"
    if obstacle:
        raise GroupProblem(f"the policy says attach: Native, but {obstacle}; attach: Auto or Managed works", rule="attach")
    return Route.NATIVE


def native_obstacle(workload: Object, specs: Sequence[PodGroupSpec]) -> str:
    """Return why the Job controller could not make this group; empty where it can."""
    if not is_job(workload):
        return f"spec.scheduling is read of Jobs, and this is a {workload.get('kind')}"
    if is_cron_jobs(workload):
        return "the Job controller does not read spec.scheduling on Jobs of a CronJob"
    if [spec.members.paths for spec in specs] != [(_TEMPLATE,)]:
        return f"the Job controller makes one group, of the pods at {_TEMPLATE}"
    if specs[0].disrupt_all and not specs[0].gang:
        return "a Job may ask for disruptionMode all only together with a gang"
    return _name_obstacle(workload) or _priority_obstacle(workload)


def check_native(workload: Object, groups: Sequence[PlannedGroup]) -> None:
    """Raise GroupProblem for a quorum that the API server would refuse on a Job."""
    for group in groups:
        if group.min_count is not None and group.min_count > _parallelism(workload):
            problem = (
                f"minCount {group.min_count} is more than spec.parallelism {_parallelism(workload)}: no Job may ask for that"
            )
            raise GroupProblem(problem, rule="podGroups[0].schedulingPolicy.gang.minCountExpression", field="spec.parallelism")


def schedule(workload: Object, plan: GroupPlan) -> Object:
    """Return the Job with its wish in ``spec.scheduling`` and the decision recorded in annotations."""
    (group,) = plan.groups
    asked = replace_at(workload, "spec.scheduling", lambda _: _scheduling(workload, group))
    written = {
        GROUP_POLICY_ANNOTATION: f"{plan.policy}/{plan.binding}",
        GROUPED_AS_ANNOTATION: given_name(workload),
        ROUTE_ANNOTATION: Route.NATIVE.value,
    }
    return replace_at(asked, "metadata.annotations", lambda old: {**(old if isinstance(old, dict) else {}), **written})


def planned_by_kubernetes(pod_group: Object, workload: Object) -> PlannedGroup:
    """Read the group that the Job controller made, for whoever explains what it waits for."""
    spec = pod_group.get("spec") or {}
    gang = (spec.get("schedulingPolicy") or {}).get("gang") or {}
    return PlannedGroup(
        template=str((spec.get("workloadRef") or {}).get("templateName") or ""),
        pod_group=str(metadata_of(pod_group)["name"]),
        count=_parallelism(workload),
        min_count=gang.get("minCount"),
        priority_class_name=str(spec.get("priorityClassName") or ""),
    )


def is_job(workload: Object) -> bool:
    """Tell whether a workload is one that the Job controller runs."""
    kind = Kind.of(workload)
    return (kind.group, kind.kind) == ("batch", "Job")


def is_native(workload: Object) -> bool:
    """Tell whether a stored workload was sent on the native route by us."""
    return (
        is_job(workload)
        and bool(recorded_policy(workload)[0])
        and any(value is not None for value in read_path(workload, "spec.scheduling"))
    )


def native_group(workload: Object, groups: Snapshot) -> Object | None:
    """Return the PodGroup that the Job controller made for a Job, known by its controller reference; names are not foretold."""
    meta = metadata_of(workload)
    for found in groups.list("scheduling.k8s.io", "PodGroup", namespace=str(meta.get("namespace") or "")):
        owner = controller_of(found)
        if owner is not None and owner.get("uid") == meta.get("uid"):
            return found
    return None


def _scheduling(workload: Object, group: PlannedGroup) -> Object:
    parallelism = _parallelism(workload)
    found: Object = {"schedulingPolicy": {"basic": {}}}
    if group.min_count is not None:
        # Left unset where it is every pod: the Job controller lets it follow parallelism then.
        gang = {} if group.min_count == parallelism else {"minCount": group.min_count}
        found["schedulingPolicy"] = {"gang": gang}
    found["disruptionMode"] = {"all": {}} if group.disrupt_all else {"single": {}}
    if group.topology_key:
        found["schedulingConstraints"] = {"topology": [{"key": group.topology_key}]}
    if group.resource_claims:
        found["resourceClaims"] = [dict(claim) for claim in group.resource_claims]
    return found


def _parallelism(workload: Object) -> int:
    """Return how many pods run at once; the API takes a gang of no pods for one of one (pkg/api/job/util.go)."""
    given = next((value for value in read_path(workload, "spec.parallelism") if isinstance(value, int)), 1)
    return max(given, 1)


def _name_obstacle(workload: Object) -> str:
    meta = metadata_of(workload)
    name = str(meta.get("name") or "") or str(meta.get("generateName") or "")[:_GENERATED_BASE] + "x" * _GENERATED
    if not wrong_label(f"{name}{_SUFFIX}"):
        return ""
    return (
        f"the Job controller names the group after the Job, and {name}{_SUFFIX} is no DNS label (no dots, at most 63 "
        "characters): the Job would never get a pod"
    )


def _priority_obstacle(workload: Object) -> str:
    named = next((str(name) for name in read_path(workload, f"{_TEMPLATE}.spec.priorityClassName")), "")
    if named not in _SYSTEM_CLASSES:
        return ""
    return f"its pods have priority class {named}, above what a PodGroup may have: the Job would never get a pod"
