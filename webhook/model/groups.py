"""Groups: the words of attachment that several rooms share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum

SCHEDULING_GROUP = "scheduling.k8s.io"
SCHEDULING_VERSION = "scheduling.k8s.io/v1beta1"
ALPHA_SCHEDULING_VERSION = "scheduling.k8s.io/v1alpha3"
"""CompositePodGroup is served in this version only; its other kinds are those of v1beta1."""

GANG_LABEL = "gangwarden.dev/gang"
"""The user's wish on an object: ``"true"`` or ``"false"``."""
MIN_COUNT_ANNOTATION = "gangwarden.dev/min-count"
TOPOLOGY_KEY_ANNOTATION = "gangwarden.dev/topology-key"
OVERRIDES = (GANG_LABEL, MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION)
"""What a policy may allow users to say on their objects."""
POD_GROUP_ANNOTATION = "gangwarden.dev/pod-group"
"""Written by us on a workload: the names of its groups, as ``template=podgroup`` pairs separated by commas."""
GROUP_POLICY_ANNOTATION = "gangwarden.dev/group-policy"
"""Written by us on a workload: ``policy/binding`` that decided; the controller evaluates the same pair again."""
GROUPED_AS_ANNOTATION = "gangwarden.dev/grouped-as"
"""Written by us on a workload: the name (or generateName) it had then, by which a copy of it is told from itself."""
ROUTE_ANNOTATION = "gangwarden.dev/route"
"""Written by us on a workload whose group somebody else makes: the Route, by which a wish that got lost is told from none."""
QUORUM_SET_ANNOTATION = "gangwarden.dev/quorum-set-to"
"""Written by us on a Job together with the quorum in its ``spec.scheduling``: as long as both say the same number, it is ours."""
FAST_RESTART_ANNOTATION = "gangwarden.dev/fast-restart"
"""Written by us on a Job that got a back-off for each index: in a terminating namespace we owe its deletion."""
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "gangwarden"
OWNER_UID_LABEL = "gangwarden.dev/owner-uid"
"""On our Workloads and PodGroups: the UID of the workload they were made for."""
PROBE_LABEL = "gangwarden.dev/probe"
"""On objects of our capability probe, sent with dryRun: our own webhooks skip them, or we would probe ourselves."""
COMPOSITE_POD_GROUP = "CompositePodGroup"
"""A feature gate of Kubernetes and the kind behind it; alpha in 1.37, so used only where it is asked for by name."""
FIELD_MANAGER = "gangwarden"
RESTART_MANAGER = "gangwarden-restart"
"""Under this name we suspend workloads, so that nobody else's suspension is taken for ours."""
CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
"""Where a claim of a group or pod comes from: exactly one of these fields says it."""


class Route(StrEnum):
    """How a workload gets its group (design, section 5)."""

    NATIVE = "Native"
    MANAGED = "Managed"
    DELEGATED = "Delegated"
    NONE = "None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the cluster was seen to do. Unknown counts as no, but for the scheduler."""

    group_objects: bool = False
    """GenericWorkload in the API server, and scheduling.k8s.io/v1beta1 served."""
    native_jobs: bool = False
    """WorkloadWithJob in the API server: Job.spec.scheduling survives."""
    native_groups: bool = False
    """WorkloadWithJob in the controller manager: the Job controller was seen to make a group for a Job."""
    scheduler_groups: bool | None = None
    """GenericWorkload in the scheduler: it was seen to hold back a pod whose group is missing. Groups are attached in any case.

    None is not known: nobody asked, or it judged no pod.
    """
    topology: bool = False
    """TopologyAwareWorkloadScheduling."""
    shared_claims: bool = False
    """DRAWorkloadResourceClaims."""
    preemption_policy: bool = False
    """PodGroupPreemptionPolicy: a group has a preemptionPolicy of its own."""
    composite_groups: bool = False
    """CompositePodGroup, and scheduling.k8s.io/v1alpha3 served: groups of groups, where somebody asked for this by name."""

    def within(self, alpha: Collection[str]) -> Capabilities:
        """Return the same without what is alpha and not named: nobody is to depend on it by accident."""
        return replace(self, composite_groups=self.composite_groups and COMPOSITE_POD_GROUP in alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """One PodGroup that a workload is to have, every expression already evaluated."""

    template: str
    """PodGroupTemplate name."""
    pod_group: str
    """PodGroup name."""
    count: int
    """How many pods the group has in all."""
    min_count: int | None
    """None: schedulingPolicy basic."""
    disrupt_all: bool | None = True
    """None: nothing is said, and the API server takes ``single``."""
    topology_key: str = ""
    priority_class_name: str = ""
    resource_claims: tuple[dict[str, str], ...] = ()
    instance: str = ""
    """What tells it from other groups of the same template; empty where there is one."""
    paths: tuple[str, ...] = ("spec.template",)
    """Where the pod templates of its members stand in the workload."""
    parent: str = ""
    """The CompositePodGroup that it is in; empty: none."""

    @property
    def slot(self) -> str:
        """Return the name by which the record on the workload knows it."""
        return slot_of(self.template, self.instance)


def slot_of(template: str, instance: str) -> str:
    """Return what the record on a workload calls one group: its template, and its instance where there are several."""
    return f"{template}/{instance}" if instance else template


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedComposite:
    """One CompositePodGroup that a workload is to have; its PodGroups name it as their ``parent``."""

    template: str
    """CompositePodGroupTemplate name."""
    name: str
    count: int
    """How many PodGroups it has in all."""
    min_group_count: int | None
    """None: schedulingPolicy basic."""
    disrupt_all: bool = True
    topology_key: str = ""
    priority_class_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """The groups that one workload is to have, and who said so."""

    policy: str
    binding: str
    route: Route
    groups: tuple[PlannedGroup, ...] = field(default_factory=tuple)
    composites: tuple[PlannedComposite, ...] = ()
