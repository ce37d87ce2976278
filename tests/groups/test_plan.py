"""What the controller has to do, by the state it finds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import job, pod, pod_group
from webhook.groups.objects import pod_group_object, stamp, workload_object
from webhook.groups.plan import plan_group, plan_orphans
from webhook.model.actions import Apply, Delete, Recheck, Tell
from webhook.model.groups import GroupPlan, PlannedGroup, Route
from webhook.model.objects import Object
from webhook.model.snapshot import snapshot_of

GROUP = PlannedGroup(template="workers", pod_group="train-0a", count=4, min_count=4)
PLAN = GroupPlan(policy="labelled-jobs", binding="all", route=Route.MANAGED, groups=(GROUP,))
JOB = stamp(job().gang().stored().build(), PLAN)
STORED = tuple(
    o | {"metadata": o["metadata"] | {"uid": o["kind"]}} for o in (workload_object(JOB, PLAN), pod_group_object(JOB, PLAN, GROUP))
)
NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def acts(*objects: Object, owner: Object = JOB, plan: GroupPlan = PLAN):
    return plan_group(owner, plan, snapshot_of(objects))


def changed(obj: Object, **metadata: object) -> Object:
    return obj | {"metadata": obj["metadata"] | metadata}


def test_a_new_workload_gets_both_objects_in_order():
    kinds = [action.object["kind"] for action in acts() if isinstance(action, Apply)]
    assert kinds == ["Workload", "PodGroup"]


def test_a_complete_workload_needs_nothing():
    assert acts(*STORED) == ()


def test_what_is_missing_is_made_again():
    (action,) = acts(STORED[0])
    assert isinstance(action, Apply)
    assert action.object["kind"] == "PodGroup"


def test_the_quorum_follows_the_workload_and_nothing_immutable_is_touched():
    larger = PlannedGroup(template="workers", pod_group="train-0a", count=6, min_count=6, topology_key="rack")
    workload, group = acts(*STORED, plan=replace(PLAN, groups=(larger,)))
    assert group.object["spec"] == STORED[1]["spec"] | {"schedulingPolicy": {"gang": {"minCount": 6}}}
    assert workload.object["spec"]["podGroupTemplates"][0]["schedulingPolicy"] == {"gang": {"minCount": 6}}


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(changed(JOB, deletionTimestamp="2026-01-01T00:00:00Z"), id="one that is being deleted"),
        pytest.param(JOB | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, id="one that has ended"),
    ],
)
def test_no_object_is_made_for(owner):
    assert acts(owner=owner) == ()


def test_a_dropped_stamp_is_told_and_nothing_is_made():
    (action,) = acts(owner=job().gang().stored().build())
    assert isinstance(action, Tell)
    assert action.reason == "GroupNotAttached"
    assert "GenericWorkload" in action.message


def test_a_group_of_somebody_else_is_left_alone_and_told():
    (action,) = acts(STORED[0], pod_group("train-0a").build())
    assert isinstance(action, Tell)
    assert action.reason == "PodGroupNameTaken"


def test_a_group_on_its_way_out_is_waited_for():
    (action,) = acts(STORED[0], changed(STORED[1], deletionTimestamp="2026-01-01T00:00:00Z"))
    assert isinstance(action, Recheck)


@pytest.mark.parametrize(
    ("objects", "deleted"),
    [
        pytest.param([pod_group("g").build()], ["g"], id="collected once nobody owns or uses it"),
        pytest.param([pod_group("g").build(), pod("p", group="g", phase="Running").build()], [], id="kept while a pod runs"),
        pytest.param(
            [pod_group("g").build(), pod("p", group="g", phase="Failed").build()], ["g"], id="collected with ended pods"
        ),
        pytest.param([pod_group("g", owner=JOB).build()], [], id="kept while it has an owner"),
        pytest.param([pod_group("g").label("app.kubernetes.io/managed-by", "helm").build()], [], id="kept when it is not ours"),
    ],
)
def test_an_orphaned_group_is(objects, deleted):
    planned = plan_orphans(snapshot_of(objects), now=NOW, grace_seconds=30)
    assert [action.key.name for action in planned if isinstance(action, Delete)] == deleted


def test_a_fresh_orphan_is_given_time():
    young = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=10)
    assert plan_orphans(snapshot_of([pod_group("g").build()]), now=young, grace_seconds=30) == ()
