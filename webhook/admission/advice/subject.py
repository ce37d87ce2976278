"""A policy as advice sees it: every expression with its syntax tree and what it is for, and what the policy matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import TypeAlias

from webhook.admission.ask import resource_of
from webhook.admission.policyset import PolicySet
from webhook.cel import parse_expression
from webhook.cel.syntax import Node
from webhook.groups.compile import CompiledWorkload
from webhook.model.objects import Kind
from webhook.model.policies import Action, Binding, Expression, Head, ResourceRule, ValidatingPolicy
from webhook.model.requests import Operation
from webhook.rules import CompiledMutating, CompiledPolicy
from webhook.rules.schema import known_kinds

Case: TypeAlias = tuple[str, Kind | None]
"""An operation on a kind."""
EXCEPTION = "PolicyException"
EVERY_OPERATION = frozenset(operation.value for operation in Operation)


class Role(StrEnum):
    """What an expression is for."""

    CONDITION = "match condition"
    VARIABLE = "variable"
    VALIDATION = "validation"
    MESSAGE = "messageExpression"
    AUDIT = "audit annotation"
    MUTATION = "mutation"
    GROUP = "group expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """One expression of a policy."""

    role: Role
    name: str = ""
    """Of a condition, a variable or an audit annotation."""
    index: int = 0
    """Of a validation, also for its message."""
    expression: Expression
    root: Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """One policy with its bindings."""

    kind: str
    head: Head
    bindings: tuple[Binding, ...]
    parts: tuple[Part, ...]
    policy: ValidatingPolicy | None = None
    """Of a ValidatingAdmissionPolicy: the whole of it."""
    uses_cluster: bool = False

    def having(self, *roles: Role) -> Iterator[Part]:
        """Yield the expressions of some roles."""
        return (part for part in self.parts if part.role in roles)

    @property
    def denies(self) -> bool:
        """Tell whether a failure denies; a policy without a binding is taken as meant to."""
        return not self.bindings or any(Action.DENY in binding.actions for binding in self.bindings)

    @property
    def cases(self) -> frozenset[Case]:
        """Return what the rules match: operations with kinds, of which None stands for every kind that is not built in."""
        found: set[Case] = set()
        for rule in self.head.match_constraints.resource_rules:
            operations = EVERY_OPERATION if "*" in rule.operations else rule.operations
            kinds: Iterable[Kind | None] = kinds_of(rule) or (None,)
            found.update((operation, kind) for operation in operations for kind in kinds)
        return frozenset(found)


def subjects_of(policies: PolicySet) -> Iterator[Subject]:
    """Yield every policy of a set."""
    for policy, bindings in policies.validating:
        yield _validating(policy, bindings)
    for mutating, bindings in policies.mutating:
        yield _mutating(mutating, bindings)
    for bound in policies.workload:
        yield _workload(bound.policy, bound.bindings)


def exceptions_of(policies: PolicySet) -> Iterator[Subject]:
    """Yield the exceptions of every policy: conditions, on what the policy matches."""
    exceptions = [one.exceptions for one, _ in policies.validating]
    exceptions += [one.exceptions for one, _ in policies.mutating]
    exceptions += [bound.policy.exceptions for bound in policies.workload]
    for exception in chain.from_iterable(exceptions):
        head = exception.head.source
        yield Subject(kind=EXCEPTION, head=head, bindings=(), parts=tuple(_head_parts(head)))


def kinds_of(rule: ResourceRule) -> frozenset[Kind] | None:
    """Return the built-in kinds of a rule's resources; None where it has wildcards, subresources or other resources."""
    found: set[Kind] = set()
    for group in rule.api_groups:
        for resource in rule.resources:
            named = {kind for kind in _kinds_by_resource().get((group, resource), ()) if _has_version(rule, kind)}
            if not named:
                return None
            found |= named
    return frozenset(found)


def _has_version(rule: ResourceRule, kind: Kind) -> bool:
    return "*" in rule.api_versions or kind.version in rule.api_versions


@cache
def resources_by_group() -> dict[str, frozenset[str]]:
    """Return the resources of the API groups of which the table of schemas has kinds."""
    found: dict[str, set[str]] = {}
    for group, resource in _kinds_by_resource():
        found.setdefault(group, set()).add(resource)
    return {group: frozenset(names) for group, names in found.items()}


@cache
def _kinds_by_resource() -> dict[tuple[str, str], tuple[Kind, ...]]:
    found: dict[tuple[str, str], tuple[Kind, ...]] = {}
    for kind in known_kinds():
        resource, sub_resource = resource_of(kind)
        if not sub_resource:
            found[kind.group, resource.resource] = (*found.get((kind.group, resource.resource), ()), kind)
    return found


def _validating(policy: CompiledPolicy, bindings: tuple[Binding, ...]) -> Subject:
    source = policy.source
    parts = [*_head_parts(source.head)]
    for index, validation in enumerate(source.validations):
        parts.append(_part(Role.VALIDATION, validation.expression, index=index))
        if validation.message_expression:
            parts.append(_part(Role.MESSAGE, validation.message_expression, index=index))
    parts += [_part(Role.AUDIT, named.expression, name=named.name) for named in source.audit_annotations]
    return Subject(
        kind="ValidatingAdmissionPolicy",
        head=source.head,
        bindings=bindings,
        parts=tuple(parts),
        policy=source,
        uses_cluster="cluster" in policy.references,
    )


def _mutating(policy: CompiledMutating, bindings: tuple[Binding, ...]) -> Subject:
    mutations = [_part(Role.MUTATION, one.expression, index=index) for index, one in enumerate(policy.source.mutations)]
    return Subject(
        kind="MutatingAdmissionPolicy",
        head=policy.source.head,
        bindings=bindings,
        parts=(*_head_parts(policy.source.head), *mutations),
        uses_cluster="cluster" in policy.references,
    )


def _workload(policy: CompiledWorkload, bindings: tuple[Binding, ...]) -> Subject:
    groups, composites = policy.source.pod_groups, policy.source.composites
    written = [*(one for group in groups for one in group.expressions), *(one for each in composites for one in each.expressions)]
    return Subject(
        kind="WorkloadPolicy",
        head=policy.source.head,
        bindings=bindings,
        parts=(*_head_parts(policy.source.head), *(_part(Role.GROUP, one) for one in written)),
    )


def _head_parts(head: Head) -> Iterable[Part]:
    for condition in head.match_conditions:
        yield _part(Role.CONDITION, condition.expression, name=condition.name)
    for variable in head.variables:
        yield _part(Role.VARIABLE, variable.expression, name=variable.name)


def _part(role: Role, expression: Expression, *, name: str = "", index: int = 0) -> Part:
    return Part(role=role, name=name, index=index, expression=expression, root=parse_expression(expression.text))
