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
from webhook.model.policies import Expression, PodGroupSpec, WorkloadPolicy
from webhook.rules import WORKLOAD_ROOTS, CompiledException, CompiledHead, compile_head, compile_one

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
class CompiledWorkload:
    """A WorkloadPolicy, ready to be evaluated."""

    source: WorkloadPolicy
    conditions: CompiledHead
    """Who is meant; only at admission."""
    head: CompiledHead
    """Variables of the group expressions."""
    groups: tuple[CompiledGroup, ...]
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
    if errors:
        raise PolicySetError(errors)
    return CompiledWorkload(source=policy, conditions=conditions, head=head, groups=tuple(groups))


def _compile_group(spec: PodGroupSpec, head: CompiledHead) -> CompiledGroup:
    errors: list[PolicyError] = []

    def one(expression: Expression | None, wanted: Type, *more: str) -> Program | None:
        if expression is None:
            return None
        try:
            return _compile_typed(expression, head, wanted, more)
        except PolicyError as error:
            errors.append(error)
            return None

    items = (ITEMS,) if chooses(spec) else ()
    count, min_count = one(spec.members.count, INT, *items), one(spec.min_count, INT, *items)
    topology_key = one(spec.topology_keys[0] if spec.topology_keys else None, STRING, *items)
    priority_class_name = one(spec.priority_class_name, STRING, *items)
    where, key = one(spec.members.where, BOOL, ITEM), one(spec.instance_key, STRING, ITEM)
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
