"""What the controller has to do, by the state it finds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import job, pod, pod_group
from webhook.groups import age_seconds, plan_group, plan_orphans
from webhook.groups.objects import pod_group_object, stamp, workload_object
from webhook.model.actions import Apply, Delete, Recheck, Tell
from webhook.model.groups import GROUPED_AS_ANNOTATION, GroupPlan, PlannedGroup, Route
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


def of_size(count: int, owner: Object = JOB) -> Object:
    """Return the Job with as many pods to run."""
    return owner | {"spec": owner["spec"] | {"parallelism": count, "completions": count}}


def changed(obj: Object, **metadata: object) -> Object:
    return obj | {"metadata": obj["metadata"] | metadata}


def test_a_new_workload_gets_both_objects_and_first_what_its_pods_wait_for():
    planned = acts()
    assert [action.object["kind"] for action in planned] == ["PodGroup", "Workload"]
    assert all(action.is_new for action in planned)


def test_a_complete_workload_needs_nothing():
    assert acts(*STORED) == ()


def test_what_is_missing_is_made_again():
    (action,) = acts(STORED[0])
    assert isinstance(action, Apply)
    assert action.object["kind"] == "PodGroup"


def resized(count: int, **parts: object) -> GroupPlan:
    return replace(PLAN, groups=(replace(GROUP, count=count, min_count=count, **parts),))


@pytest.mark.parametrize("count", [6, 3], ids=["up", "down"])
def test_the_quorum_follows_the_workload_and_nothing_else_is_stated(count):
    """Whatever else were stated once would have to be stated for ever, also by a later policy that has it not."""
    group, workload = acts(*STORED, owner=of_size(count), plan=resized(count, topology_key="rack", priority_class_name="other"))
    quorum = {"schedulingPolicy": {"gang": {"minCount": count}}}
    assert (group.object["kind"], group.object["spec"], group.is_new) == ("PodGroup", quorum, False)
    assert (workload.object["kind"], workload.object["spec"]) == (
        "Workload",
        {"podGroupTemplates": [{"name": "workers"} | quorum]},
    )


def test_the_quorum_follows_what_is_left_of_the_job_and_the_workload_says_what_was_asked():
    """Once some have succeeded, a quorum of all can never be met again: the scheduler counts only pods that have not ended."""
    (group,) = acts(*STORED, owner=JOB | {"status": {"succeeded": 1}})
    assert (group.object["kind"], group.object["spec"]["schedulingPolicy"]) == ("PodGroup", {"gang": {"minCount": 3}})


def test_a_gang_does_not_become_a_basic_group_nor_the_other_way_round():
    assert acts(*STORED, plan=replace(PLAN, groups=(replace(GROUP, min_count=None),))) == ()
    basic = [with_policy(obj, {"basic": {}}) for obj in STORED]
    assert acts(*basic) == ()


def with_policy(obj: Object, policy: Object) -> Object:
    if "podGroupTemplates" not in obj["spec"]:
        return obj | {"spec": obj["spec"] | {"schedulingPolicy": policy}}
    templates = [one | {"schedulingPolicy": policy} for one in obj["spec"]["podGroupTemplates"]]
    return obj | {"spec": obj["spec"] | {"podGroupTemplates": templates}}


def test_a_group_of_no_pods_is_not_made_yet_and_keeps_its_quorum():
    """With a quorum of 1 the first pod of many would start alone before the quorum had followed."""
    assert acts(plan=resized(0)) == ()
    assert acts(*STORED, plan=resized(0)) == ()


def test_of_two_groups_only_the_one_with_pods_moves():
    driver = replace(GROUP, template="driver", pod_group="train-0b", paths=("spec.driver",))
    plan = replace(PLAN, groups=(GROUP, driver))
    owner = JOB | {"spec": JOB["spec"] | {"driver": {"spec": {"schedulingGroup": {"podGroupName": "train-0b"}}}}}
    stored = [workload_object(owner, plan), *(pod_group_object(owner, plan, group) for group in plan.groups)]
    moved = replace(PLAN, groups=(replace(GROUP, count=6, min_count=6), replace(driver, count=0, min_count=1)))
    group, workload = acts(*stored, owner=of_size(6, owner), plan=moved)
    assert group.object["metadata"]["name"] == "train-0a"
    assert [one["schedulingPolicy"]["gang"]["minCount"] for one in workload.object["spec"]["podGroupTemplates"]] == [6, 4]


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(changed(JOB, deletionTimestamp="2026-01-01T00:00:00Z"), id="one that is being deleted"),
        pytest.param(JOB | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, id="one that has ended"),
    ],
)
def test_no_object_is_made_for(owner):
    assert acts(owner=owner) == ()


@pytest.mark.parametrize("written_as", ["train", "tr"], ids=["by name", "by generateName"])
def test_a_dropped_stamp_is_told_and_nothing_is_made(written_as):
    recorded = job().at("metadata.generateName", "tr").annotate(GROUPED_AS_ANNOTATION, written_as)
    (action,) = acts(owner=recorded.stored().build())
    assert isinstance(action, Tell)
    assert action.reason == "GroupNotAttached"
    assert "GenericWorkload" in action.message


OTHER_JOB = job("other").stored().build()


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(pod_group("train-0a").build(), id="nobody"),
        pytest.param(pod_group("train-0a", owner=OTHER_JOB).build(), id="another Job, as when two name one group"),
    ],
)
def test_a_group_that_belongs_to_others_is_left_alone_told_and_looked_at_again(group):
    told, again = acts(STORED[0], group, OTHER_JOB)
    assert isinstance(told, Tell)
    assert told.reason == "PodGroupNameTaken"
    assert isinstance(again, Recheck)


def test_a_group_whose_job_was_created_anew_at_once_is_waited_for():
    """The garbage collector takes it; until then its owner is a Job of the same name and another UID."""
    old = changed(JOB, uid="of the Job before")
    (action,) = acts(STORED[0], pod_group("train-0a", owner=old).build(), JOB)
    assert isinstance(action, Recheck)
    assert "is being deleted" in action.reason


def test_a_workload_of_somebody_else_is_left_alone():
    stranger = changed(STORED[0], ownerReferences=[])
    (action,) = acts(stranger, STORED[1], owner=of_size(6), plan=resized(6))
    assert action.object["kind"] == "PodGroup"


NAMED_ELSEWHERE = job().at("spec.template.spec.schedulingGroup", {"podGroupName": "mine"})


def test_pods_that_a_user_put_elsewhere_are_left_there_and_told():
    (action,) = acts(owner=NAMED_ELSEWHERE.stored().build())
    assert isinstance(action, Tell)
    assert action.reason == "GroupOfSomebodyElse"
    assert "its pods name mine" in action.message


def test_a_record_that_was_only_copied_along_means_nothing():
    copied = job("other").annotate(GROUPED_AS_ANNOTATION, "train").stored().build()
    assert acts(owner=copied) == ()


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


def test_an_orphan_of_unknown_age_is_given_time():
    ageless = pod_group("g").at("metadata.creationTimestamp", None).build()
    assert plan_orphans(snapshot_of([ageless]), now=NOW, grace_seconds=30) == ()


@pytest.mark.parametrize(
    ("created", "age"),
    [("2026-01-01T00:59:50Z", 10.0), ("2026-01-01T02:00:00Z", 0.0), (None, 0.0)],
    ids=["by our clock", "none from a clock ahead of ours", "none where it is not known"],
)
def test_the_age_of_an_object_is(created, age):
    assert age_seconds(job().at("metadata.creationTimestamp", created).build(), NOW) == age


def test_a_fresh_orphan_is_given_time():
    young = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=10)
    assert plan_orphans(snapshot_of([pod_group("g").build()]), now=young, grace_seconds=30) == ()
