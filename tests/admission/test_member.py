"""Pods that get their group when they are created: by the workload above them, and by nothing that they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import GROUPS, around, bound, grouped, only, said, watching
from tests.builders import Built, job, job_set, pod
from tests.groups.building import compiled, group
from tests.groups.test_other_kinds import COUNT, SETS, sets
from tests.rules.building import binding, request, situation, text
from webhook.admission import PolicySet, attach, member_resources, webhook_needs
from webhook.groups import (
    CompiledWorkload,
    is_recorded_for_pods,
    name_for_pods,
    plan_group,
    plan_recorded,
    recorded_names,
    seen_keys,
)
from webhook.model.actions import Apply
from webhook.model.groups import GROUP_POLICY_ANNOTATION, GROUPED_AS_ANNOTATION
from webhook.model.objects import Kind, Object, Resource
from webhook.model.policies import Action, FailurePolicy
from webhook.model.snapshot import snapshot_of
from webhook.model.verdicts import Admitted, Answer, Denied, Patched

POD = Kind("", "v1", "Pod")
MINE = "item.metadata.?labels[?'role'].hasValue()"


def on_pods(where: str = MINE, *, key: str = "", count: str = COUNT, **parts: Any) -> CompiledWorkload:
    instances = {"instances": "Key", "instance_key": text(key)} if key else {}
    entry = group(stamp="Pod", paths=(), where=text(where), count=count, through=("jobs.batch",), **instances)
    return compiled(entry, match_constraints=SETS, **parts)


def owner(policy: CompiledWorkload) -> Object:
    return Built(grouped(job_set(), bound(policy)).object).at("metadata.uid", "set-uid").build()


def chain(policy: CompiledWorkload) -> tuple[Object, Object]:
    top = owner(policy)
    return top, job("child").owned_by(top, controller=True).at("metadata.uid", "child-uid").build()


def new_pod(above: Object, **labels: str) -> Object:
    made = pod("p").owned_by(above, controller=True)
    for name, value in (labels or {"role": "worker"}).items():
        made = made.label(name, value)
    return made.build()


def member(above: Object, role: str, name: str) -> Object:
    """A pod as stored, in a group."""
    made = Built(new_pod(above, role=role)).at("metadata.name", role)
    return made.at("spec.schedulingGroup", {"podGroupName": name}).build()


def created(obj: Object, *objects: Object, policy: CompiledWorkload, bindings: Any = ()) -> Answer:
    asked = situation(request(obj, kind=POD, resource=Resource("", "v1", "pods"), namespace="team-a"))
    answer, plan = attach((bound(policy, *bindings),), asked, around(*objects, capabilities=GROUPS))
    assert plan is None
    return answer


def test_the_workload_keeps_the_record_and_its_templates_nothing() -> None:
    found = grouped(job_set(), bound(on_pods()))
    assert found.object["metadata"]["annotations"] == {
        GROUP_POLICY_ANNOTATION: "gangs/everywhere",
        GROUPED_AS_ANNOTATION: "train",
    }
    assert found.object["spec"] == job_set().build()["spec"]
    assert only(found).message == "5 pods in one PodGroup, 5 at once or none"
    assert is_recorded_for_pods(found.object)
    assert recorded_names(found.object) == {}


@pytest.mark.parametrize("depth", [0, 1], ids=["its own pod", "a pod of its Job"])
def test_a_pod_gets_the_group_of_the_workload_above_it(depth: int) -> None:
    policy = on_pods()
    objects = chain(policy)
    found = created(new_pod(objects[depth]), *objects, policy=policy)
    assert isinstance(found, Patched)
    name = name_for_pods(objects[0], "workers")
    assert found.patch == ({"op": "add", "path": "/spec/schedulingGroup", "value": {"podGroupName": name}},)
    assert name == name_for_pods(owner(policy), "workers")
    assert name != name_for_pods(Built(objects[0]).at("metadata.uid", "another").build(), "workers")


def test_a_key_tells_groups_of_one_workload_apart() -> None:
    policy = on_pods(key="item.metadata.labels['role']")
    objects = chain(policy)
    found = created(new_pod(objects[1], role="left"), *objects, policy=policy)
    assert isinstance(found, Patched)
    assert found.object["spec"]["schedulingGroup"]["podGroupName"] == name_for_pods(objects[0], "workers/left")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda top, child: new_pod(child, other="x"), "the policy does not choose it"),
        (lambda top, child: new_pod(child) | {"spec": {"schedulingGroup": {"podGroupName": "mine"}}}, "it names a group itself"),
        (lambda top, child: pod("p").label("role", "worker").build(), "nobody controls it"),
        (lambda top, child: new_pod(job("plain").at("metadata.uid", "plain-uid").build()), "its owner is no gang"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_pod_is_left_alone_where(made: Any, why: str) -> None:
    policy = on_pods()
    objects = (*chain(policy), job("plain").at("metadata.uid", "plain-uid").build())
    found = created(made(*objects[:2]), *objects, policy=policy)
    assert (said(found), isinstance(found, Admitted)) == ([], True), why


def test_a_pod_whose_owner_was_not_seen_yet_is_to_be_made_again() -> None:
    policy = on_pods()
    top, child = chain(policy)
    other = job("other").at("metadata.uid", "o").build()
    found = created(new_pod(child), top, other, policy=policy)
    assert isinstance(found, Denied)
    assert found.code == 503
    assert "Job child has not been seen here yet" in found.message


def test_an_owner_of_a_kind_that_is_not_followed_is_told() -> None:
    policy = on_pods()
    top, child = chain(policy)
    found = created(new_pod(child), top, policy=policy)
    assert "name it in members.through" in found.trail.warnings[0]


def test_what_cannot_be_decided_is_refused() -> None:
    policy = on_pods("item.metadata.labels['nope'] == 'x'")
    found = created(new_pod(chain(policy)[1]), *chain(policy), policy=policy)
    assert isinstance(found, Denied)
    assert "members.where failed" in found.message
    policy = on_pods(key="'two words'")
    assert "cannot be part of a name" in said(created(new_pod(chain(policy)[1]), *chain(policy), policy=policy))[0][1]


def test_a_binding_that_only_watches_stamps_nothing() -> None:
    policy = on_pods()
    objects = chain(policy)
    assert isinstance(created(new_pod(objects[1]), *objects, policy=policy, bindings=(watching(Action.AUDIT),)), Admitted)


def test_only_the_pods_in_question_are_sent_to_the_webhook() -> None:
    needs = webhook_needs(PolicySet(workload=(bound(on_pods()),))).mutating[FailurePolicy.IGNORE]
    assert [rule.resources for rule in needs.rules] == [("jobsets",), ("pods",)]
    assert f"[object].exists(item,\n{MINE}\n)" in needs.condition
    assert ("pods",) not in [
        rule.resources for rule in webhook_needs(PolicySet(workload=(bound(sets()),))).mutating[FailurePolicy.IGNORE].rules
    ]


def test_what_tells_whose_a_pod_is_must_be_known() -> None:
    found = member_resources(PolicySet(workload=(bound(sets()), bound(on_pods()))))
    assert {resource.resource: [each.resource for each in between] for resource, between in found.items()} == {
        "jobsets": ["jobs"]
    }
    assert member_resources(PolicySet(workload=(bound(sets()),))) == {}


def test_the_controller_makes_the_group_that_the_pods_name() -> None:
    policy = on_pods()
    top = owner(policy)
    plan = plan_recorded(policy, binding(), situation(request(top)))
    made = [action.object for action in plan_group(top, plan, snapshot_of(())) if isinstance(action, Apply)]
    assert [obj["metadata"]["name"] for obj in made] == [name_for_pods(top, "workers")] * 2


def test_groups_with_a_key_are_those_of_the_pods_that_were_seen() -> None:
    policy = on_pods(key="item.metadata.labels['role']", count="2")
    top, child = chain(policy)
    right = [
        new_pod(child, role=role) | {"metadata": new_pod(child, role=role)["metadata"] | {"name": role}} for role in ("a", "b")
    ]
    for each, role in zip(right, ("a", "b"), strict=True):
        each["spec"] = {"schedulingGroup": {"podGroupName": name_for_pods(top, f"workers/{role}")}}
    foreign = member(child, "c", "x")
    keys = seen_keys(policy, situation(request(top)), top, snapshot_of((top, child, *right, foreign)))
    assert keys == ("a", "b")
    plan = plan_recorded(policy, binding(), situation(request(top)), keys=keys)
    assert [(each.pod_group, each.count) for each in plan.groups] == [(name_for_pods(top, f"workers/{role}"), 2) for role in "ab"]


@pytest.mark.parametrize("spec", ["text", [], 7, None])
def test_a_pod_whose_spec_is_none_is_left_to_validation(spec: Any) -> None:
    policy = on_pods()
    top, child = chain(policy)
    assert isinstance(created({**new_pod(child), "spec": spec}, top, child, policy=policy), Admitted)
