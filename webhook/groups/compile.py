"""From a WorkloadPolicy as written to programs, and what this version does not carry out yet, refused at load.

Match conditions may read the request. Variables and group expressions may not: the controller evaluates them again
when it creates or repairs the objects, long after the request is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from webhook.cel import Program
from webhook.cel.types import BOOL, INT, STRING, Type
from webhook.errors import PolicyError, PolicySetError
from webhook.groups.instances import chooses
from webhook.groups.refusals import refusals
from webhook.model.policies import (
    CompositeSpec,
    Expression,
    FailurePolicy,
    Head,
    MatchResources,
    NamedExpression,
    Origin,
    PodGroupSpec,
    ResourceRule,
    WorkloadPolicy,
)
from webhook.rules import WORKLOAD_ROOTS, CompiledException, CompiledHead, compile_head, compile_one

_NO_HEAD = Head(
    name="",
    origin=Origin(""),
    failure_policy=FailurePolicy.IGNORE,
    match_constraints=MatchResources(
        resource_rules=(ResourceRule(operations=("CREATE",), api_groups=("",), api_versions=("v1",), resources=("pods",)),)
    ),
)
ITEM, ITEMS = "item", "items"
"""What expressions call an entry of the list in which the templates stand, and the entries that belong to one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledGroup:
    """One entry of ``podGroups``."""

    source: PodGroupSpec
    count: Program
    min_count: Program | None = None
    topology_key: Program | None = None
    priority_class_name: Program | None = None
    where: Program | None = None
    instance_key: Program | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """Return every program of the group."""
        every = (self.count, self.min_count, self.topology_key, self.priority_class_name, self.where, self.instance_key)
        return tuple(program for program in every if program is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledComposite:
    """One entry of ``compositePodGroups``."""

    source: CompositeSpec
    min_group_count: Program | None = None
    topology_key: Program | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledWorkload:
    """A WorkloadPolicy, ready to be evaluated."""

    source: WorkloadPolicy
    conditions: CompiledHead
    """Who is meant; only at admission."""
    head: CompiledHead
    """Variables of the group expressions."""
    groups: tuple[CompiledGroup, ...]
    composites: tuple[CompiledComposite, ...] = ()
    pods: CompiledHead | None = None
    """Which pods are asked about, because they get their group one by one; None where templates have it."""
    exceptions: tuple[CompiledException, ...] = ()
    """In the order of their names; for whom they hold, the policy makes no group."""

    @property
    def name(self) -> str:
        """Return the policy's name."""
        return self.source.head.name


def compile_workload(policy: WorkloadPolicy) -> CompiledWorkload:
    """Compile a WorkloadPolicy; raises PolicySetError with everything that is wrong."""
    errors: list[PolicyError] = list(refusals(policy))
    groups: list[CompiledGroup] = []
    try:
        conditions = compile_head(replace(policy.head, variables=()))
        head = compile_head(replace(policy.head, match_conditions=()), roots=WORKLOAD_ROOTS)
    except PolicySetError as error:
        raise PolicySetError([*errors, *error.errors]) from error
    for spec in policy.pod_groups:
        try:
            groups.append(_compile_group(spec, head))
        except PolicySetError as error:
            errors.extend(error.errors)
    composites = tuple(_compile_composite(spec, head, errors) for spec in policy.composites)
    if errors:
        raise PolicySetError(errors)
    return CompiledWorkload(
        source=policy,
        conditions=conditions,
        head=head,
        groups=tuple(groups),
        composites=composites,
        pods=_pods_head(policy),
    )


def _pods_head(policy: WorkloadPolicy) -> CompiledHead | None:
    """Return what a policy of the pods themselves would start with: their creation, and which of them are meant."""
    wheres = [spec.members.where for spec in policy.pod_groups if spec.on_pods and spec.members.where]
    if not wheres:
        return None
    text = " || ".join(f"[object].exists({ITEM},\n{where.text.strip()}\n)" for where in wheres)
    condition = NamedExpression(name="are-members", expression=Expression(text, wheres[0].origin))
    return compile_head(replace(_NO_HEAD, name=policy.head.name, origin=policy.head.origin, match_conditions=(condition,)))


def _compile_composite(spec: CompositeSpec, head: CompiledHead, errors: list[PolicyError]) -> CompiledComposite:
    return CompiledComposite(
        source=spec,
        min_group_count=_compile_maybe(spec.min_group_count, head, INT, (), errors),
        topology_key=_compile_maybe(spec.topology_keys[0] if spec.topology_keys else None, head, STRING, (), errors),
    )


def _compile_maybe(
    expression: Expression | None, head: CompiledHead, wanted: Type, more: tuple[str, ...], errors: list[PolicyError]
) -> Program | None:
    """Compile an expression if there is one; what is wrong with it is added to the errors."""
    if expression is None:
        return None
    try:
        return _compile_typed(expression, head, wanted, more)
    except PolicyError as error:
        errors.append(error)
        return None


def _compile_group(spec: PodGroupSpec, head: CompiledHead) -> CompiledGroup:
    errors: list[PolicyError] = []

    def one(expression: Expression | None, wanted: Type, *more: str) -> Program | None:
        return _compile_maybe(expression, head, wanted, more, errors)

    items = (ITEMS,) if chooses(spec) else ()
    count, min_count = one(spec.members.count, INT, *items), one(spec.min_count, INT, *items)
    topology_key = one(spec.topology_keys[0] if spec.topology_keys else None, STRING, *items)
    priority_class_name = one(spec.priority_class_name, STRING, *items)
    where, key = one(spec.members.where, BOOL, ITEM), one(spec.instance_key, STRING, ITEM)
    if spec.on_pods:
        chosen = ((where, spec.members.where), (key, spec.instance_key))
        errors += [_too_curious(text) for one, text in chosen if one and text and one.references - {ITEM}]
    if errors or count is None:
        raise PolicySetError(errors)
    return CompiledGroup(
        source=spec,
        count=count,
        min_count=min_count,
        topology_key=topology_key,
        priority_class_name=priority_class_name,
        where=where,
        instance_key=key,
    )


def _too_curious(expression: Expression) -> PolicyError:
    message = "with stamp: Pod it is asked about every new pod, in the API server as well, and may read item only"
    return PolicyError(message, path=expression.origin.path, line=expression.origin.line, field=expression.origin.field)


def _compile_typed(expression: Expression, head: CompiledHead, wanted: Type, more: tuple[str, ...]) -> Program:
    """Compile an expression of one type; where its type is only known at run time, it is looked at there.

    ``more`` are variables that only this expression may read, of any type.
    """
    declared = head.declarations
    program = compile_one(expression, replace(declared, variables=declared.variables | set(more)))
    if program.type == wanted or program.type.is_dyn:
        return program
    origin, (line, column) = expression.origin, expression.place(1, 1)
    message = f"must evaluate to {wanted}, not to {program.type}"
    raise PolicyError(message, path=origin.path, line=line, column=column, field=origin.field)
