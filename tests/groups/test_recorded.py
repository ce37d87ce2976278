"""The plan of a workload that was attached before, by the policies of now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import job
from tests.groups.building import FREE, compiled, group
from tests.rules.building import CONFIG_MAP, FakeWorld, binding, by_name, config_map, request, situation
from webhook.admission import BoundWorkload, PolicySet, recorded_bound
from webhook.groups import CompiledWorkload, GroupFailure, GroupProblem, is_whole, plan_recorded, plan_without_policy
from webhook.model.groups import GROUP_POLICY_ANNOTATION, MIN_COUNT_ANNOTATION, POD_GROUP_ANNOTATION, GroupPlan
from webhook.model.objects import Object


def attached(*, by: str = "gangs/everywhere", names: str = "workers=train-0a", asked: str = "", **spec: Any) -> Object:
    made = job().annotate(POD_GROUP_ANNOTATION, names).annotate(GROUP_POLICY_ANNOTATION, by)
    for key, value in spec.items():
        made = made.at(f"spec.{key}", value)
    return (made.annotate(MIN_COUNT_ANNOTATION, asked) if asked else made).stored().build()


def recorded(workload: Object, policy: CompiledWorkload, *objects: Object, **reference: Any) -> GroupPlan:
    bound = binding(param_ref=by_name("limits", **reference) if reference or objects else None)
    return plan_recorded(policy, bound, situation(request(workload), world=FakeWorld(objects=objects)))


def test_the_recorded_names_are_kept_and_who_decided_is_said() -> None:
    plan = recorded(attached(), compiled())
    assert (plan.policy, plan.binding) == ("gangs", "everywhere")
    assert [(one.template, one.pod_group, one.min_count) for one in plan.groups] == [("workers", "train-0a", 4)]
    assert is_whole(plan, attached())


@pytest.mark.parametrize(
    ("workload", "quorum"),
    [
        pytest.param(attached(asked="2"), 2, id="down, as the owner of a native gang may"),
        pytest.param(attached(asked="4", parallelism=3), 3, id="down with the pods"),
        pytest.param(attached(parallelism=6), 6, id="up with the pods"),
    ],
)
def test_the_quorum_is_read_again_and_goes(workload: Object, quorum: int) -> None:
    assert recorded(workload, compiled()).groups[0].min_count == quorum


def test_what_the_policy_no_longer_allows_is_still_refused() -> None:
    with pytest.raises(GroupProblem, match="the policy does not allow it"):
        recorded(attached(asked="2"), compiled(overrides=()))
    assert recorded(attached(), compiled(overrides=FREE)).groups[0].min_count == 4


def test_params_are_those_of_the_workloads_own_namespace() -> None:
    policy = compiled(group(min_count="int(params.data.n)"), param_kind=CONFIG_MAP)
    others = config_map("limits", namespace="team-b", n="3")
    assert recorded(attached(), policy, others, config_map("limits", n="2")).groups[0].min_count == 2


def test_lost_params_are_a_failure_unless_the_binding_does_without() -> None:
    policy = compiled(group(min_count="params == null ? 1 : 2"), param_kind=CONFIG_MAP)
    with pytest.raises(GroupFailure, match="params could not be had: no params found"):
        recorded(attached(), policy, parameter_not_found_action="Deny")
    assert recorded(attached(), policy, parameter_not_found_action="Allow").groups[0].min_count == 1


def test_a_policy_that_renamed_its_group_is_not_whole() -> None:
    plan = recorded(attached(), compiled(group("pods")))
    assert plan.groups == ()
    assert not is_whole(plan, attached())


@pytest.mark.parametrize(
    ("workload", "quorum"),
    [
        pytest.param(attached(), 4, id="all pods"),
        pytest.param(attached(asked="2"), 2, id="what the user asked for"),
        pytest.param(attached(asked="9"), 4, id="all pods where the user asked for more"),
        pytest.param(attached(asked="9" * 5000), 4, id="all pods where the user asked for nonsense"),
        pytest.param(attached(parallelism=0), 1, id="1 where there are no pods"),
        pytest.param(attached(parallelism=None), 1, id="1 where nothing is said"),
    ],
)
def test_without_its_policy_the_quorum_is(workload: Object, quorum: int) -> None:
    (planned,) = plan_without_policy(workload).groups
    assert (planned.pod_group, planned.min_count, planned.disrupt_all) == ("train-0a", quorum, True)


def test_without_its_policy_the_group_has_the_pods_priority() -> None:
    workload = job().at("spec.template.spec.priorityClassName", "high").annotate(POD_GROUP_ANNOTATION, "a=x,b=y").build()
    assert [(one.template, one.priority_class_name) for one in plan_without_policy(workload).groups] == [
        ("a", "high"),
        ("b", "high"),
    ]


BOUND = PolicySet(
    workload=(
        BoundWorkload(policy=compiled(name="unbound"), bindings=()),
        BoundWorkload(policy=compiled(), bindings=(binding(name="first"), binding(name="second"))),
    )
)


@pytest.mark.parametrize(
    ("by", "found"),
    [
        ("gangs/second", "second"),
        ("gangs/gone", "first"),
        ("gone/second", None),
        ("unbound/first", None),
        ("", None),
        ("gangs", "first"),
    ],
    ids=["both there", "the binding gone", "the policy gone", "the policy unbound", "no record", "half a record"],
)
def test_who_decided_is_found_among_the_policies(by: str, found: str | None) -> None:
    bound = recorded_bound(BOUND, attached(by=by))
    assert (bound[1].name if bound else None) == found
