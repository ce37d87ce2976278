"""Policies as their authors wrote them: decoded and checked in shape, not yet compiled.

The native kinds follow ``admissionregistration.k8s.io/v1`` of Kubernetes 1.37, defaults filled in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from webhook.model.objects import Object, Resource


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something was written: a file, a line (from 1; 0: unknown) and a path such as ``spec.validations[0]``."""

    path: str
    line: int = 0
    field: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """A CEL expression and the place where it stands."""

    text: str
    origin: Origin
    pieces: tuple[tuple[int, int, int], ...] = field(default=(), compare=False)
    """Where its pieces stand in the file, as (offset in ``text``, line, column): a block scalar has one per line."""

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Translate a line and column within the text (both from 1) into those of the file."""
        lines = self.text.split("\n")
        offset = sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
        start = max((piece for piece in self.pieces if piece[0] <= offset), default=(0, self.origin.line, 0))
        return start[1], start[2] + offset - start[0] if start[2] else 0


class FailurePolicy(StrEnum):
    """What becomes of a request whose rule could not be evaluated."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class Action(StrEnum):
    """What a failed validation does."""

    DENY = "Deny"
    WARN = "Warn"
    AUDIT = "Audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One ``matchExpressions`` entry of a label selector; operator is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSelector:
    """A ``metav1.LabelSelector``; an empty one selects everything."""

    match_labels: tuple[tuple[str, str], ...] = ()
    match_expressions: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule:
    """A ``NamedRuleWithOperations``: which operations on which resources."""

    resource_names: tuple[str, ...] = ()
    operations: tuple[str, ...]
    api_groups: tuple[str, ...]
    api_versions: tuple[str, ...]
    resources: tuple[str, ...]
    """``jobs``, ``jobs/status``, ``*``, ``*/scale``, ``pods/*`` or ``*/*``."""
    scope: str = "*"
    """Cluster, Namespaced or ``*``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchResources:
    """``matchConstraints`` of a policy, ``matchResources`` of a binding. Empty rules in a binding match everything."""

    namespace_selector: LabelSelector = field(default_factory=LabelSelector)
    object_selector: LabelSelector = field(default_factory=LabelSelector)
    resource_rules: tuple[ResourceRule, ...] = ()
    exclude_resource_rules: tuple[ResourceRule, ...] = ()
    match_policy: str = "Equivalent"
    found: dict[str, Resource | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By sort of request, what the rules have come to: for whoever matches, who asks the same of every request."""
    is_bare: bool = field(init=False, repr=False, compare=False)
    """Nothing is selected by labels: the rules alone decide."""

    def __post_init__(self) -> None:
        """Settle once what every request would ask."""
        everything = LabelSelector()
        object.__setattr__(self, "is_bare", self.namespace_selector == everything == self.object_selector)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamKind:
    """The kind of a policy's params."""

    api_version: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamRef:
    """Which params a binding uses: one by ``name`` or all by ``selector``."""

    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameter_not_found_action: str = "Deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedExpression:
    """A match condition, a variable or an audit annotation (``key`` is then the name)."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """One rule of a ValidatingAdmissionPolicy."""

    expression: Expression
    message: str = ""
    message_expression: Expression | None = None
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What every policy kind shares."""

    name: str
    origin: Origin
    failure_policy: FailurePolicy = FailurePolicy.FAIL
    match_constraints: MatchResources
    match_conditions: tuple[NamedExpression, ...] = ()
    param_kind: ParamKind | None = None
    variables: tuple[NamedExpression, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatingPolicy:
    """A ValidatingAdmissionPolicy."""

    head: Head
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[NamedExpression, ...] = ()


class PatchType(StrEnum):
    """In which of two ways a mutation says what is to change."""

    APPLY_CONFIGURATION = "ApplyConfiguration"
    """``Object{…}``: merged into the object."""
    JSON_PATCH = "JSONPatch"
    """``[JSONPatch{…}]``: operations on it, one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change that a MutatingAdmissionPolicy makes."""

    patch_type: PatchType
    expression: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class MutatingPolicy:
    """A MutatingAdmissionPolicy."""

    head: Head
    mutations: tuple[Mutation, ...] = ()
    reinvoked: bool = False
    """reinvocationPolicy IfNeeded: asked once more after later changes to the object. False: Never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Which pods of a workload belong to one group."""

    paths: tuple[str, ...]
    """Where their pod templates stand, such as ``spec.template``; ``[*]`` runs over a list, or the values of a mapping."""
    where: Expression | None = None
    """Over ``item``: which entries of the list belong to this group; of a group that is stamped on its pods, which pods."""
    through: tuple[str, ...] = ()
    """What stands between the workload and its pods, as ``resource.group``; of a group that is stamped on its pods."""
    count: Expression
    """How many pods there are; int."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroupSpec:
    """One entry of a WorkloadPolicy's ``podGroups``."""

    name: str
    """PodGroupTemplate name, a DNS label."""
    members: Members
    gang: bool = True
    """False: schedulingPolicy basic."""
    min_count: Expression | None = None
    """None: the members' count, following it."""
    disrupt_all: bool = True
    """disruptionMode all (True) or single."""
    topology_keys: tuple[Expression, ...] = ()
    priority_class_name: Expression | None = None
    """None: the pods' own."""
    resource_claims: tuple[Object, ...] = ()
    instances: str = "One"
    """One, PerItem, or Key: a group for each value of ``instance_key``."""
    instance_key: Expression | None = None
    stamp: str = "Template"
    composite: str = ""
    """The CompositePodGroupTemplate that it stands in; empty: it stands by itself."""

    @property
    def on_pods(self) -> bool:
        """Tell whether each pod gets its group when it is created, and the templates nothing."""
        return self.stamp == "Pod"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return every expression of the group."""
        members = (self.members.where, self.members.count)
        every = (*members, self.min_count, *self.topology_keys, self.priority_class_name, self.instance_key)
        return tuple(one for one in every if one is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeSpec:
    """One entry of a WorkloadPolicy's ``compositePodGroups``: groups that start together."""

    name: str
    """CompositePodGroupTemplate name, a DNS label."""
    per_instance: bool = False
    """Whether each instance of its groups makes a tree of its own (PerInstance), or all are in one (One)."""
    gang: bool = True
    """False: schedulingPolicy basic."""
    min_group_count: Expression | None = None
    """None: all groups that there are."""
    disrupt_all: bool = True
    """disruptionMode all (True) or single."""
    topology_keys: tuple[Expression, ...] = ()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return every expression of the composite."""
        return (*((self.min_group_count,) if self.min_group_count else ()), *self.topology_keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionSpec:
    """What the preemption controller does for a group; durations in seconds."""

    on_disruption: str = "Restart"
    on_member_failure: str = "Ignore"
    replacement_grace_seconds: float = 0.0
    on_eviction: str = "Finish"
    budgets: str = "Respect"
    budget_timeout_seconds: float = 600.0
    on_budget_timeout: str = "Hold"
    max_restarts: int = 10
    fast_restart: bool = False
    """Give Indexed Jobs a back-off for each index, so that a group that was lost at once comes back in 10 s."""
    suspend_path: str = "spec.suspend"
    """Empty: restart by eviction."""

    @property
    def guards_evictions(self) -> bool:
        """Tell whether it must be asked before one member is evicted: to hold it, or because all of them would have to go."""
        return self.on_eviction == "Hold" or (self.on_disruption != "Ignore" and self.budgets == "Respect")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPolicy:
    """Which Workload and PodGroups a workload gets (``gangwarden.dev/v1alpha1``)."""

    head: Head
    precedence: int = 0
    attach: str = "Auto"
    pod_groups: tuple[PodGroupSpec, ...] = ()
    composites: tuple[CompositeSpec, ...] = ()
    """Groups of groups; each of ``pod_groups`` is in one then."""
    disruption: DisruptionSpec = field(default_factory=DisruptionSpec)
    allowed_overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A binding of any policy kind; it makes a policy act."""

    name: str
    policy_kind: str
    """The kind of the policy it binds, such as ``ValidatingAdmissionPolicy``."""
    policy_name: str
    origin: Origin
    param_ref: ParamRef | None = None
    match_resources: MatchResources | None = None
    actions: tuple[Action, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


PolicySource: TypeAlias = ValidatingPolicy | MutatingPolicy | WorkloadPolicy
