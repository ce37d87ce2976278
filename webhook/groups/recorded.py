"""The plan of a workload that was attached before: the recorded policy evaluated again over what is stored now."""

from __future__ import annotations

from webhook.groups.compile import CompiledWorkload
from webhook.groups.names import recorded_names, recorded_policy
from webhook.groups.paths import read_path
from webhook.groups.resolve import GroupFailure, resolve_groups
from webhook.model.groups import GroupPlan, PlannedGroup, Route
from webhook.model.objects import Object
from webhook.model.policies import Binding
from webhook.rules import RuleProblem, Run, Situation, collect_params


def plan_recorded(compiled: CompiledWorkload, binding: Binding, situation: Situation) -> GroupPlan:
    """Return the plan for the object of the situation's request. Raises GroupProblem."""
    workload = situation.request.object or {}
    try:
        (params, *_) = collect_params(
            compiled.source.head.param_kind, binding.param_ref, situation.request, world=situation.world
        ) or (None,)
    except RuleProblem as problem:
        raise GroupFailure(f"params could not be had: {problem}", rule="paramRef") from problem
    groups = resolve_groups(compiled, Run(compiled.head, situation, params), recorded_names(workload))
    return GroupPlan(policy=compiled.name, binding=binding.name, route=Route.MANAGED, groups=groups)


def plan_without_policy(workload: Object) -> GroupPlan:
    """Return the plan of a workload whose policy is gone: all its pods together, as every gang policy means by default.

    Its pods wait for these names already, so giving up would let them hang for ever.
    """
    policy, binding = recorded_policy(workload)
    count = next((int(value) for value in read_path(workload, "spec.parallelism") if isinstance(value, int)), 1)
    priority = next((str(name) for name in read_path(workload, "spec.template.spec.priorityClassName")), "")
    groups = tuple(
        PlannedGroup(template=template, pod_group=name, count=count, min_count=max(count, 1), priority_class_name=priority)
        for template, name in recorded_names(workload).items()
    )
    return GroupPlan(policy=policy, binding=binding, route=Route.MANAGED, groups=groups)
