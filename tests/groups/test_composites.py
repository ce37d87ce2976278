"""Groups of groups: who asks for them, what they are made of, and what would never start together."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.builders import Object
from tests.groups.building import compiled, group, run_of
from tests.rules.building import request, situation, text
from webhook.errors import PolicySetError
from webhook.groups import GroupFailure, GroupProblem, check_composites, choose_route, plan_group, plan_orphans, resolve_tree
from webhook.groups.objects import composite_object, pod_group_object, stamp, workload_object
from webhook.model.actions import Apply, Delete, Recheck, Tell
from webhook.model.groups import TOPOLOGY_KEY_ANNOTATION, Capabilities, GroupPlan, PlannedComposite, PlannedGroup, Route
from webhook.model.policies import CompositeSpec, Expression
from webhook.model.snapshot import snapshot_of

PATH = "spec.jobs[*].template"
ON = Capabilities(group_objects=True, native_jobs=True, native_groups=True, composite_groups=True)


def job_set(**priorities: str) -> Object:
    jobs = [{"name": name, "template": {"spec": {"priorityClassName": value}}} for name, value in priorities.items()]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "team-a", "uid": "u-1"},
        "spec": {"jobs": jobs},
    }


def expression(cel: str) -> Expression | None:
    return text(cel, "spec.compositePodGroups[0].schedulingPolicy.gang.minGroupCountExpression") if cel else None


def tree(obj: Object, *, counts: dict[str, int] | None = None, least: str = "", topology: str = "", **parts: Any) -> GroupPlan:
    """Resolve the tree of an object whose Jobs are instances of one group."""
    spec = CompositeSpec(
        name="whole",
        min_group_count=expression(least),
        topology_keys=(text(topology, "x"),) if topology else (),
        **parts,
    )
    policy = compiled(group("jobs", path=PATH, instances="PerItem", composite="whole"), composites=(spec,))
    groups = tuple(
        PlannedGroup(
            template="jobs",
            pod_group=f"train-{one['name']}",
            count=(counts or {}).get(one["name"], 2),
            min_count=2,
            instance=one["name"],
            priority_class_name=one["template"]["spec"]["priorityClassName"],
            paths=(f"spec.jobs[{index}].template",),
        )
        for index, one in enumerate(obj["spec"]["jobs"])
    )
    groups, composites = resolve_tree(policy, run_of(policy, situation(request(obj))), groups)
    return GroupPlan(policy="gangs", binding="all", route=Route.MANAGED, groups=groups, composites=composites)


SET = job_set(driver="", workers="")
PLAN = tree(SET)


def test_all_groups_start_together_where_nobody_says_less() -> None:
    (composite,) = PLAN.composites
    assert (composite.count, composite.min_group_count, composite.disrupt_all) == (2, 2, True)
    assert [one.parent for one in PLAN.groups] == [composite.name] * 2


def test_each_instance_is_a_tree_where_the_policy_says_so() -> None:
    plan = tree(SET, per_instance=True)
    assert [one.count for one in plan.composites] == [1, 1]
    assert [one.parent for one in plan.groups] == [one.name for one in plan.composites]
    assert plan.composites[0].name != plan.composites[1].name


def test_a_group_without_pods_does_not_count() -> None:
    plan = tree(SET, counts={"driver": 0})
    assert [(one.count, one.min_group_count) for one in plan.composites] == [(1, 1)]


def test_a_tree_without_pods_is_not_made() -> None:
    assert tree(SET, counts={"driver": 0, "workers": 0}).composites == ()


def test_the_policy_may_ask_for_fewer() -> None:
    assert [one.min_group_count for one in tree(SET, least="object.spec.jobs.size() - 1").composites] == [1]
    assert [one.min_group_count for one in tree(SET, gang=False).composites] == [None]


@pytest.mark.parametrize("least", ["3", "0", "dyn('two')"])
def test_a_number_of_groups_that_cannot_be_is_a_failure(least: str) -> None:
    with pytest.raises(GroupFailure, match="minGroupCountExpression gave"):
        tree(SET, least=least)


def test_the_topology_that_is_asked_for_is_that_of_the_whole() -> None:
    asked = {**SET, "metadata": {**SET["metadata"], "annotations": {TOPOLOGY_KEY_ANNOTATION: "example.com/rack"}}}
    plan = tree(asked, topology="'example.com/zone'")
    assert ([one.topology_key for one in plan.composites], [one.topology_key for one in plan.groups]) == (
        ["example.com/rack"],
        ["", ""],
    )
    assert [one.topology_key for one in tree(SET, topology="'example.com/zone'").composites] == ["example.com/zone"]


def test_groups_of_different_priority_never_start_together() -> None:
    with pytest.raises(GroupProblem, match=r"priorityClassName differs between groups .* \('high', 'low'\)") as raised:
        tree(job_set(driver="high", workers="low"))
    assert raised.value.field == "spec.jobs[1].template.spec.priorityClassName"
    assert [one.priority_class_name for one in tree(job_set(driver="high", workers="high")).composites] == ["high"]


@pytest.mark.parametrize("name", ["schedulerName", "preemptionPolicy"])
def test_nor_do_groups_that_differ_otherwise(name: str) -> None:
    obj = job_set(driver="", workers="")
    obj["spec"]["jobs"][1]["template"]["spec"][name] = "other"
    with pytest.raises(GroupProblem, match=f"{name} differs between groups"):
        tree(obj)


def test_without_the_flag_trees_are_refused_and_the_flag_is_named() -> None:
    with pytest.raises(GroupProblem, match="--enable-alpha=CompositePodGroup") as raised:
        check_composites(PLAN.composites, Capabilities(group_objects=True))
    assert raised.value.rule == "compositePodGroups"
    check_composites(PLAN.composites, ON)
    check_composites((), Capabilities())


def test_what_the_cluster_has_on_counts_only_where_it_was_asked_for() -> None:
    assert not ON.within(()).composite_groups
    assert ON.within(("CompositePodGroup",)) == ON


def test_trees_are_never_left_to_the_job_controller() -> None:
    policy = compiled(group(composite="whole"), composites=(CompositeSpec(name="whole"),), attach="Auto")
    assert choose_route(policy.source, {"apiVersion": "batch/v1", "kind": "Job"}, ON) is Route.MANAGED


@pytest.mark.parametrize(
    ("parts", "field", "message"),
    [
        ({"attach": "Native"}, "spec.attach", "makes no groups of groups"),
        (
            {"composites": (CompositeSpec(name="whole", per_instance=True),)},
            "spec.compositePodGroups[0].instances",
            "one workers",
        ),
        (
            {"composites": (CompositeSpec(name="whole", min_group_count=expression("'two'")),)},
            "spec.compositePodGroups[0].schedulingPolicy.gang.minGroupCountExpression",
            "must evaluate to int",
        ),
    ],
    ids=["attach: Native", "a tree for each of what there is one of", "a text for a number"],
)
def test_what_cannot_be_is_refused_when_it_is_loaded(parts: dict[str, Any], field: str, message: str) -> None:
    given = {"composites": (CompositeSpec(name="whole"),)} | parts
    with pytest.raises(PolicySetError, match=message) as raised:
        compiled(group(composite="whole"), **given)
    assert [error.field for error in raised.value.errors] == [field]


# what the controller does

OWNER = stamp(SET, PLAN)
(COMPOSITE,) = PLAN.composites
STORED = tuple(
    one | {"metadata": one["metadata"] | {"uid": one["metadata"]["name"]}}
    for one in (
        composite_object(OWNER, PLAN, COMPOSITE),
        *(pod_group_object(OWNER, PLAN, each) for each in PLAN.groups),
        workload_object(OWNER, PLAN),
    )
)


def test_the_tree_is_made_before_what_stands_in_it() -> None:
    actions = plan_group(OWNER, PLAN, snapshot_of([]))
    made = [action.object for action in actions if isinstance(action, Apply)]
    assert [one["kind"] for one in made] == ["CompositePodGroup", "PodGroup", "PodGroup", "Workload"]
    assert made[0]["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    assert made[0]["spec"] == {
        "workloadRef": {"workloadName": "train-driver", "templateName": "whole"},
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "disruptionMode": {"all": {}},
    }
    assert [one["spec"].get("parentCompositePodGroupName") for one in made[1:3]] == [COMPOSITE.name] * 2


def test_the_workload_describes_the_tree() -> None:
    spec = workload_object(OWNER, PLAN)["spec"]
    (described,) = spec["compositePodGroupTemplates"]
    assert (described["name"], [one["name"] for one in described["podGroupTemplates"]]) == ("whole", ["jobs"])
    assert "podGroupTemplates" not in spec


def test_where_all_is_there_nothing_is_done() -> None:
    assert plan_group(OWNER, PLAN, snapshot_of(list(STORED))) == ()


def test_a_tree_of_somebody_else_is_left_alone_and_told() -> None:
    theirs = {**STORED[0], "metadata": {**STORED[0]["metadata"], "ownerReferences": []}}
    told, again = plan_group(OWNER, PLAN, snapshot_of([theirs, *STORED[1:]]))
    assert isinstance(told, Tell)
    assert isinstance(again, Recheck)
    assert f"CompositePodGroup {COMPOSITE.name} exists but does not belong to this workload" in told.message


@pytest.mark.parametrize(("left", "deleted"), [((), True), (STORED[1:2], False)], ids=["alone", "with a group in it"])
def test_a_tree_that_outlived_its_workload_goes_after_its_groups(left: tuple[Object, ...], deleted: bool) -> None:
    meta = {key: value for key, value in STORED[0]["metadata"].items() if key != "ownerReferences"}
    orphan = {**STORED[0], "metadata": {**meta, "creationTimestamp": "2026-01-01T00:00:00Z"}}
    actions = plan_orphans(snapshot_of([orphan, *left]), now=datetime(2026, 1, 2, tzinfo=UTC), grace_seconds=60)
    assert [isinstance(action, Delete) and action.key.kind for action in actions] == (["CompositePodGroup"] if deleted else [])


def test_a_basic_tree_with_constraints_is_written_out() -> None:
    composite = PlannedComposite(
        template="whole",
        name="c",
        count=1,
        min_group_count=None,
        disrupt_all=False,
        topology_key="zone",
        priority_class_name="high",
    )
    assert composite_object(OWNER, PLAN, composite)["spec"] == {
        "workloadRef": {"workloadName": "train-driver", "templateName": "whole"},
        "schedulingPolicy": {"basic": {}},
        "disruptionMode": {"single": {}},
        "schedulingConstraints": {"topology": [{"key": "zone"}]},
        "priorityClassName": "high",
    }
