"""WorkloadPolicies for tests, in the fewest words that say what matters."""

from __future__ import annotations

from typing import Any

from tests.rules.building import constraints, rule, text
from webhook.groups import CompiledWorkload, compile_workload
from webhook.model.groups import GANG_LABEL, MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION
from webhook.model.objects import Object
from webhook.model.policies import Expression, Head, Members, Origin, PodGroupSpec, WorkloadPolicy
from webhook.rules import Run, Situation

FREE = (GANG_LABEL, MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION)
"""Everything that a policy may let users say."""
JOB_RULE = rule(operations=["CREATE"], api_groups=["batch"], api_versions=["v1"], resources=["jobs"])


def expression(cel: str, field: str) -> Expression | None:
    return text(cel, f"spec.podGroups[0].{field}") if cel else None


def group(
    name: str = "workers", *, count: str = "object.spec.parallelism", path: str = "spec.template", **parts: Any
) -> PodGroupSpec:
    """One entry of podGroups; ``min_count``, ``topology`` and ``priority`` are CEL."""
    key = expression(parts.pop("topology", ""), "schedulingConstraints.topology[0].keyExpression")
    return PodGroupSpec(
        name=name,
        members=Members(
            paths=parts.pop("paths", (path,)),
            through=parts.pop("through", ()),
            count=text(count, "spec.podGroups[0].members.countExpression"),
            where=parts.pop("where", None),
        ),
        min_count=expression(parts.pop("min_count", ""), "schedulingPolicy.gang.minCountExpression"),
        topology_keys=(key,) if key else (),
        priority_class_name=expression(parts.pop("priority", ""), "priorityClassNameExpression"),
        **parts,
    )


def workload_policy(
    *groups: PodGroupSpec, name: str = "gangs", overrides: tuple[str, ...] = FREE, **parts: Any
) -> WorkloadPolicy:
    head = {"match_constraints": constraints(JOB_RULE), **{key: parts.pop(key) for key in tuple(parts) if key in Head.__slots__}}
    origin = Origin("policy.yaml", 1)
    return WorkloadPolicy(
        head=Head(name=name, origin=origin, **head), pod_groups=groups or (group(),), allowed_overrides=overrides, **parts
    )


def compiled(*groups: PodGroupSpec, **parts: Any) -> CompiledWorkload:
    return compile_workload(workload_policy(*groups, **parts))


def run_of(policy: CompiledWorkload, situation: Situation, params: Object | None = None) -> Run:
    return Run(policy.head, situation, params)
