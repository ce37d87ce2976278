"""The plan of a workload that was attached before: the recorded policy evaluated again over what is stored now."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial

from webhook.groups.compile import CompiledWorkload
from webhook.groups.composites import resolve_tree
from webhook.groups.names import name_for_pods, recorded_names, recorded_policy
from webhook.groups.paths import read_path
from webhook.groups.resolve import GroupFailure, place_groups, resolve_groups
from webhook.model.groups import MIN_COUNT_ANNOTATION, GroupPlan, PlannedGroup, Route
from webhook.model.objects import Object, annotations_of
from webhook.model.policies import Binding
from webhook.rules import RuleProblem, Run, Situation, collect_params


def plan_recorded(
    compiled: CompiledWorkload, binding: Binding, situation: Situation, *, keys: Collection[str] = (), only: str = ""
) -> GroupPlan:
    """Return the plan for the object of the situation's request. Raises GroupProblem.

    ``keys`` are those of pods that were seen, where each pod gets its group by itself. ``only`` names the group of a workload
    that has one, made by Kubernetes and so not recorded.

    What its owner says on it is read again, within what the policy allows: a Job's owner may lower the quorum of a native
    gang at any time as well (Job.spec.scheduling), and could say the same on a new Job. A tampered record gains nothing:
    it names a policy, never a number.
    """
    workload = situation.request.object or {}
    recorded: Callable[[str], str | None] = (lambda _: only) if only else recorded_names(workload).get
    name_of = partial(name_for_pods, workload) if compiled.pods else recorded
    run = _run(compiled, binding, situation)
    groups = resolve_groups(compiled, run, name_of, stored=True, keys=keys)
    groups, composites = resolve_tree(compiled, run, groups)
    return GroupPlan(policy=compiled.name, binding=binding.name, route=Route.MANAGED, groups=groups, composites=composites)


def place_recorded(
    compiled: CompiledWorkload, binding: Binding, situation: Situation, recorded: Object
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return where the groups that ``recorded`` was put into stand in the object of the situation. Raises GroupProblem."""
    return place_groups(compiled, _run(compiled, binding, situation), recorded_names(recorded))


def _run(compiled: CompiledWorkload, binding: Binding, situation: Situation) -> Run:
    try:
        (params, *_) = collect_params(
            compiled.source.head.param_kind, binding.param_ref, situation.request, world=situation.world
        ) or (None,)
    except RuleProblem as problem:
        raise GroupFailure(f"params could not be had: {problem}", rule="paramRef") from problem
    return Run(compiled.head, situation, params)


def is_whole(plan: GroupPlan, workload: Object) -> bool:
    """Tell whether the policy still has every group that the workload was put into."""
    if all(not group.paths for group in plan.groups):
        return not recorded_names(workload)
    return {group.slot for group in plan.groups} == recorded_names(workload).keys()


def plan_without_policy(workload: Object) -> GroupPlan:
    """Return the plan of a workload whose policy is gone: all its pods together, as every gang policy means by default.

    Its pods wait for these names already, so giving up would let them hang for ever. It is a guess, so it is for groups
    that are missing; one that exists keeps what it was made with.
    """
    policy, binding = recorded_policy(workload)
    count = next((int(value) for value in read_path(workload, "spec.parallelism") if isinstance(value, int)), 1)
    asked = str(annotations_of(workload).get(MIN_COUNT_ANNOTATION) or "")
    quorum = min(int(asked), count) if re.fullmatch("[1-9][0-9]{0,9}", asked) else count
    priority = next((str(name) for name in read_path(workload, "spec.template.spec.priorityClassName")), "")
    groups = tuple(
        PlannedGroup(template=template, pod_group=name, count=count, min_count=max(quorum, 1), priority_class_name=priority)
        for template, name in recorded_names(workload).items()
    )
    return GroupPlan(policy=policy, binding=binding, route=Route.MANAGED, groups=groups)
