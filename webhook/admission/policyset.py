"""A set of policies as reviews see it: compiled, bound, never changed; a new set takes its place as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType

from webhook.admission.bound import BoundWorkload
from webhook.groups import recorded_policy
from webhook.model.objects import Kind, Object, Resource, labels_of, metadata_of
from webhook.model.policies import (
    Action,
    Binding,
    DisruptionSpec,
    FailurePolicy,
    Head,
    LabelSelector,
    MatchResources,
    ParamKind,
    ParamRef,
)
from webhook.model.requests import AdmissionRequest
from webhook.rules import (
    NEEDED_KINDS,
    SORTS,
    BoundMutating,
    CompiledException,
    CompiledMutating,
    CompiledPolicy,
    Panels,
    may_match,
    selects,
)

INSTALL_LABEL, NATIVE = "gangwarden.dev/install", "native"
"""Label of a policy that belongs into the cluster as an object, because it must hold while our webhook is away."""
_NAMESPACED = frozenset({("v1", "ConfigMap"), ("v1", "Secret")})
"""Built-in kinds that serve as params; of other kinds the objects themselves show whether they have namespaces."""
BoundPolicy = tuple[CompiledPolicy, tuple[Binding, ...]]


@dataclass(frozen=True, slots=True)
class ParamIndex:
    """Objects of any kind that stood among the policy files."""

    objects: Mapping[tuple[str, str], tuple[Object, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """By apiVersion and kind, in the order of namespace and name."""
    _named: Mapping[tuple[str, str, str, str], tuple[Object, ...]] = field(init=False, repr=False, compare=False)
    """By apiVersion, kind, namespace and name, which is how most bindings ask."""

    def __post_init__(self) -> None:
        """Index the objects by their names, once for all requests."""
        named: dict[tuple[str, str, str, str], tuple[Object, ...]] = {}
        for key, objects in self.objects.items():
            for obj in objects:
                place = (*key, *_order(obj))
                named[place] = (*named.get(place, ()), obj)
        object.__setattr__(self, "_named", named)

    @classmethod
    def of(cls, objects: Iterable[Object]) -> ParamIndex:
        """Index objects; a ConfigMap or Secret without a namespace belongs to ``default``."""
        found: dict[tuple[str, str], list[Object]] = {}
        for obj in objects:
            key = (Kind.of(obj).api_version, Kind.of(obj).kind)
            meta = metadata_of(obj)
            if key in _NAMESPACED and not meta.get("namespace"):
                obj = {**obj, "metadata": {**meta, "namespace": "default"}}  # noqa: PLW2901 - the same object, completed
            found.setdefault(key, []).append(obj)
        return cls({key: tuple(sorted(values, key=_order)) for key, values in found.items()})

    def params(self, kind: ParamKind, namespace: str, *, name: str | None, selector: LabelSelector | None) -> tuple[Object, ...]:
        """Return the params in one namespace (empty: cluster-scoped) by name or by selector."""
        if name is not None:
            found = self._named.get((kind.api_version, kind.kind, namespace, name), ())
        else:
            every = self.objects.get((kind.api_version, kind.kind), ())
            found = tuple(obj for obj in every if _order(obj)[0] == namespace)
        return found if selector is None else tuple(obj for obj in found if selects(selector, labels_of(obj)))

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        """Tell whether params of this kind live in namespaces; None when there are none to tell by."""
        key = (kind.api_version, kind.kind)
        found = self.objects.get(key)
        if key in _NAMESPACED:
            return True
        return any(_order(obj)[0] for obj in found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    """Everything that was loaded, in the order of names."""

    validating: tuple[BoundPolicy, ...] = ()
    mutating: tuple[BoundMutating, ...] = ()
    workload: tuple[BoundWorkload, ...] = ()
    params: ParamIndex = field(default_factory=ParamIndex)
    revision: str = ""
    """Hash of the files' names and contents."""
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """SHA-256 of each file's content, by its path."""
    warnings: tuple[str, ...] = ()
    """What an author should know, such as a policy without a binding."""
    needs: frozenset[tuple[str, str]] = frozenset()
    """Group and kind of everything that must be watched for these policies."""
    _about: dict[tuple[str, FailurePolicy | None], PolicySet] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What ``about`` has settled."""
    panels: Panels = field(default_factory=dict, init=False, repr=False, compare=False)
    """What ``rules.judge`` has settled about the validating ones."""

    def about(self, request: AdmissionRequest, failure_policy: FailurePolicy | None = None) -> PolicySet:
        """Return the set of those policies whose rules may know the request, so that the others cost it nothing.

        With a failurePolicy, of the native policies those that have it and are for us to ask. It is settled once for all
        requests of the same sort.
        """
        key = request.sort, failure_policy
        found = self._about.get(key)
        if found is None:
            if len(self._about) >= SORTS:
                self._about.clear()
            found = self._about[key] = _narrowed(self, request, failure_policy)
        return found


EMPTY_POLICIES = PolicySet()


def heads_of(policies: PolicySet) -> Iterator[tuple[Head, tuple[Binding, ...], frozenset[str]]]:
    """Yield every policy's head, its bindings, and what its expressions read: root variables, and methods of ``cluster``."""
    for policy, bindings in policies.validating:
        yield policy.head.source, bindings, policy.references
    for mutating, bindings in policies.mutating:
        yield mutating.head.source, bindings, mutating.references
    for bound in policies.workload:
        programs = (named.program for named in (*bound.policy.conditions.match_conditions, *bound.policy.head.variables))
        groups = (program for group in bound.policy.groups for program in group.programs)
        roots = frozenset(chain.from_iterable(program.references for program in (*programs, *groups)))
        yield bound.policy.source.head, bound.bindings, roots


def exceptions_of(policies: PolicySet) -> Iterator[CompiledException]:
    """Yield every exception, by kind and name of its policy."""
    for validating, _ in policies.validating:
        yield from validating.exceptions
    for mutating, _ in policies.mutating:
        yield from mutating.exceptions
    for bound in policies.workload:
        yield from bound.policy.exceptions


def needs_of(policies: PolicySet) -> frozenset[tuple[str, str]]:
    """Return group and kind of what must be watched: namespaces, what ``cluster`` shows, params not among the files."""
    found: set[tuple[str, str]] = set()
    of_exceptions = [(one.head.source, (), one.references) for one in exceptions_of(policies)]
    for head, bindings, roots in chain(heads_of(policies), of_exceptions):
        resources = [head.match_constraints, *(b.match_resources for b in bindings if b.match_resources)]
        if "namespaceObject" in roots or any(map(_selects_namespaces, resources)):
            found.add(("", "Namespace"))
        for method, kinds in NEEDED_KINDS.items():
            if f"cluster.{method}" in roots:
                found |= kinds
        kind = head.param_kind
        if kind and any(not _is_filed(kind, b.param_ref, policies.params) for b in bindings if b.param_ref):
            found.add((Kind.parse(kind.api_version, kind.kind).group, kind.kind))
    return frozenset(found)


def owner_resources(policies: PolicySet) -> tuple[Resource, ...]:
    """Return the resources whose objects the WorkloadPolicies group, once each; version ``*`` means any that is served."""
    found = {
        (group, resource): Resource(group, rule.api_versions[0], resource)
        for bound in reversed(policies.workload)
        if bound.bindings
        for rule in bound.policy.source.head.match_constraints.resource_rules
        for group in rule.api_groups
        for resource in rule.resources
    }
    return tuple(found[place] for place in sorted(found))


def guards_evictions(policies: PolicySet) -> bool:
    """Tell whether some policy in force says something of evictions of its groups' members."""
    return any(bound.bindings and bound.policy.source.disruption.guards_evictions for bound in policies.workload)


def disruption_of(policies: PolicySet, workload: Object) -> tuple[str, DisruptionSpec] | None:
    """Return the policy by which a workload got its group, and what it says of disruption; None where it is not loaded."""
    found = recorded_bound(policies, workload)
    return None if found is None else (found[0].policy.name, found[0].policy.source.disruption)


def member_resources(policies: PolicySet) -> Mapping[Resource, tuple[Resource, ...]]:
    """Return what must be known to tell whose a pod is, where pods get their group one by one: by workload, what is between."""
    found: dict[Resource, tuple[Resource, ...]] = {}
    for resource in owner_resources(policies):
        for bound in policies.workload:
            rules = bound.policy.source.head.match_constraints.resource_rules
            named = any(resource.group in rule.api_groups and resource.resource in rule.resources for rule in rules)
            if named and bound.policy.pods and bound.bindings:
                between = (text for group in bound.policy.groups for text in group.source.members.through)
                parted = (text.partition(".") for text in between)
                found[resource] = (*found.get(resource, ()), *(Resource(group, "*", name) for name, _, group in parted))
    return found


def recorded_bound(policies: PolicySet, workload: Object) -> tuple[BoundWorkload, Binding] | None:
    """Return the policy and binding by which a workload was attached; None when they are not among the policies.

    Where only the binding is gone, the policy's first one stands in: it brings the params.
    """
    policy, binding = recorded_policy(workload)
    for bound in policies.workload:
        if bound.policy.name == policy and bound.bindings:
            return bound, next((one for one in bound.bindings if one.name == binding), bound.bindings[0])
    return None


def is_served(policy: CompiledPolicy | CompiledMutating) -> bool:
    """Tell whether a policy is for us to ask; one that is installed into the API server itself is asked there."""
    return policy.head.source.labels.get(INSTALL_LABEL) != NATIVE


def served_policies(policies: PolicySet) -> PolicySet:
    """Return the set of those policies that are for us to ask."""
    return replace(
        policies,
        validating=tuple(bound for bound in policies.validating if is_served(bound[0])),
        mutating=tuple(bound for bound in policies.mutating if is_served(bound[0])),
    )


def _narrowed(policies: PolicySet, request: AdmissionRequest, failure_policy: FailurePolicy | None) -> PolicySet:
    def concerns(head: Head) -> bool:
        return may_match(head.match_constraints, request)

    def is_called(policy: CompiledPolicy | CompiledMutating) -> bool:
        head = policy.head.source
        wanted = failure_policy is None or (head.failure_policy is failure_policy and is_served(policy))
        return wanted and concerns(head)

    return replace(
        policies,
        validating=tuple(bound for bound in policies.validating if is_called(bound[0])),
        mutating=tuple(bound for bound in policies.mutating if is_called(bound[0])),
        workload=tuple(bound for bound in policies.workload if any(map(concerns, _heads(bound)))),
    )


def _heads(bound: BoundWorkload) -> Iterator[Head]:
    yield bound.policy.source.head
    if bound.policy.pods:
        yield bound.policy.pods.source


def bind_unbound(policies: PolicySet) -> PolicySet:
    """Give each policy without a binding one that denies everywhere, with all params of its kind."""
    return replace(
        policies,
        validating=tuple((policy, bindings or (_default(policy.head.source),)) for policy, bindings in policies.validating),
        mutating=tuple((policy, bindings or (_default(policy.head.source),)) for policy, bindings in policies.mutating),
        workload=tuple(
            replace(bound, bindings=bound.bindings or (_default(bound.policy.source.head),)) for bound in policies.workload
        ),
    )


def _default(head: Head) -> Binding:
    reference = ParamRef(selector=LabelSelector()) if head.param_kind else None
    return Binding(
        name="(none)", policy_kind="", policy_name=head.name, origin=head.origin, param_ref=reference, actions=(Action.DENY,)
    )


def _order(obj: Object) -> tuple[str, str]:
    meta = metadata_of(obj)
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _selects_namespaces(resources: MatchResources) -> bool:
    selector = resources.namespace_selector
    return bool(selector.match_labels or selector.match_expressions)


def _is_filed(kind: ParamKind, reference: ParamRef, params: ParamIndex) -> bool:
    """Tell whether the files hold all that a reference can mean: one object by name, in no or in one namespace."""
    if not reference.name:
        return False
    namespaces: Sequence[str] = (reference.namespace,) if reference.namespace or not params.is_namespaced(kind) else ()
    return any(params.params(kind, namespace, name=reference.name, selector=None) for namespace in namespaces)
