"""What one workload needs, by the state it is found in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.admission.attaching import around, bound, grouped
from tests.builders import Built, job, pod, pod_group
from tests.groups.building import compiled, group
from tests.rules.building import FakeWorld
from webhook.admission import PolicySet
from webhook.controller.upkeep import Upkeep
from webhook.groups import members_of, schedule
from webhook.model.actions import Apply, PlannedAction, Recheck, Tell
from webhook.model.groups import MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION, Capabilities, GroupPlan, PlannedGroup, Route
from webhook.model.objects import Object
from webhook.model.policies import CompositeSpec
from webhook.model.snapshot import snapshot_of
from webhook.rules import NEEDED_KINDS

CREATED, NOW = "2026-01-01T00:00:00Z", datetime(2026, 1, 1, 1, tzinfo=UTC)
POLICIES = PolicySet(workload=(bound(),))
GROUP = "train-0000000000"
TOPOLOGY = Capabilities(group_objects=True, topology=True)


def attached(given: Built | None = None, *, policy: Any = None, **more: Any) -> Built:
    """A Job as stored after it went through attachment."""
    made = grouped(given or job(), *([bound(policy)] if policy else []), **more).object
    return Built(made).at("metadata.uid", "job-uid").at("metadata.creationTimestamp", CREATED)


JOB = attached().build()
OURS = pod_group(GROUP, owner=JOB)
WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {
        "name": GROUP,
        "namespace": "team-a",
        "uid": "w",
        "ownerReferences": OURS.build()["metadata"]["ownerReferences"],
    },
    "spec": {"podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}]},
}
BOTH = (OURS.build(), WORKLOAD)


def upkeep(*objects: Object, policies: PolicySet = POLICIES, **parts: Any) -> Upkeep:
    snapshot = snapshot_of(objects)
    default = Upkeep(
        policies=policies,
        snapshot=snapshot,
        world=FakeWorld(),
        capabilities=Capabilities(group_objects=True),
        now=NOW,
        silent_wait_seconds=5,
        native_seconds=20,
        expired=lambda: False,
        members=lambda namespace, name, seen: members_of(name, namespace, seen),
    )
    return replace(default, **parts)


def plan(workload: Object, *objects: Object, **parts: Any) -> tuple[PlannedAction, ...]:
    return upkeep(workload, *objects, **parts).plan(workload)


def kinds(actions: tuple[PlannedAction, ...]) -> list[str]:
    return [one.object["kind"] if isinstance(one, Apply) else one.reason for one in actions if not isinstance(one, Recheck)]


def waits(actions: tuple[PlannedAction, ...]) -> list[float]:
    return [one.after_seconds for one in actions if isinstance(one, Recheck)]


def pods(count: int, **parts: Any) -> tuple[Object, ...]:
    return tuple(
        pod(f"p{index}", group=GROUP, **parts).at("metadata.creationTimestamp", CREATED).build() for index in range(count)
    )


def test_a_new_workload_gets_its_objects() -> None:
    assert kinds(plan(JOB)) == ["PodGroup", "Workload"]


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(job().stored().build(), id="one without our record"),
        pytest.param(attached().at("metadata.deletionTimestamp", CREATED).build(), id="one that is being deleted"),
        pytest.param(attached().at("status.conditions", [{"type": "Complete", "status": "True"}]).build(), id="a complete one"),
        pytest.param(attached().at("status.conditions", [{"type": "Failed", "status": "True"}]).build(), id="a failed one"),
        pytest.param(attached().at("spec.parallelism", 0).build(), id="one of no pods"),
    ],
)
def test_nothing_is_to_be_done_for(workload: Object) -> None:
    assert plan(workload) == ()


def test_nothing_is_to_be_done_where_all_is_there_and_started() -> None:
    running = [one | {"spec": one["spec"] | {"nodeName": "n"}} for one in pods(4)]
    assert plan(JOB, *BOTH, *running) == ()


def test_a_suspended_workload_gets_its_objects_and_waits_for_nobody() -> None:
    suspended = attached().at("spec.suspend", True).build()
    assert kinds(plan(suspended)) == ["PodGroup", "Workload"]
    assert plan(suspended, *BOTH) == ()


def test_a_job_of_no_pods_is_told_nothing() -> None:
    assert plan(attached().at("spec.parallelism", 0).build(), *BOTH) == ()


def test_without_group_objects_a_workload_that_misses_them_is_told_and_looked_at_again_soon() -> None:
    found = plan(JOB, capabilities=Capabilities())
    assert kinds(found) == ["NoGroupObjects"]
    assert waits(found) == [10.0]


def test_a_gate_that_seems_off_says_nothing_about_groups_that_exist() -> None:
    assert plan(JOB, *BOTH, capabilities=Capabilities()) == ()


def test_a_topology_whose_gate_went_off_is_told_once_the_group_is_stored_without_it() -> None:
    policy = compiled(group(topology="'rack'"))
    workload = attached(policy=policy, surroundings=around(capabilities=TOPOLOGY)).build()
    policies = PolicySet(workload=(bound(policy),))
    assert kinds(plan(workload, policies=policies)) == ["PodGroup", "Workload"]
    young = OURS.at("metadata.creationTimestamp", "2026-01-01T00:59:30Z")
    told, *_ = plan(workload, young.build(), WORKLOAD, *pods(4), policies=policies)
    assert isinstance(told, Tell)
    assert told.reason == "GroupFieldDropped"
    assert "dropped schedulingConstraints from PodGroup train-0000000000: feature gate TopologyAware" in told.message
    kept = young.at("spec.schedulingConstraints", {"topology": [{"key": "rack"}]}).build()
    assert kinds(plan(workload, kept, WORKLOAD, *pods(4), policies=policies)) == []


def test_a_policy_that_asks_for_more_than_it_did_is_no_dropped_field() -> None:
    old = OURS.at("metadata.creationTimestamp", CREATED).build()
    asking = PolicySet(workload=(bound(compiled(group(topology="'rack'"))),))
    assert kinds(plan(JOB, old, WORKLOAD, *pods(4), policies=asking)) == []


def test_a_tree_is_made_where_trees_are_on_and_its_workload_waits_where_they_went_off() -> None:
    policy = compiled(group(composite="whole"), composites=(CompositeSpec(name="whole"),))
    able = Capabilities(group_objects=True, composite_groups=True)
    workload = attached(policy=policy, surroundings=around(capabilities=able)).build()
    policies = PolicySet(workload=(bound(policy),))
    assert kinds(plan(workload, policies=policies, capabilities=able)) == ["CompositePodGroup", "PodGroup", "Workload"]
    held = plan(workload, policies=policies)
    assert kinds(held) == ["GroupNotPlanned"]
    assert "--enable-alpha=CompositePodGroup" in held[0].message  # type: ignore[union-attr]  # a Tell, as the line above says


def test_without_its_policy_what_is_missing_is_made_and_told() -> None:
    assert kinds(plan(JOB, policies=PolicySet())) == ["PodGroup", "Workload", "GroupPolicyGone"]


def test_without_its_policy_what_exists_keeps_its_quorum_in_silence() -> None:
    """A user asked for 2; a guess at 4 would hold back a gang that may run."""
    low = pod_group(GROUP, 2, owner=JOB).build()
    assert [one for one in plan(JOB, low, WORKLOAD, policies=PolicySet()) if isinstance(one, Apply)] == []
    assert "GroupPolicyGone" not in kinds(plan(JOB, low, WORKLOAD, policies=PolicySet()))


def test_a_policy_that_renamed_its_group_is_as_good_as_gone() -> None:
    renamed = PolicySet(workload=(bound(compiled(group("pods"))),))
    assert kinds(plan(JOB, policies=renamed)) == ["PodGroup", "Workload", "GroupPolicyGone"]


def broken(count: str) -> PolicySet:
    return PolicySet(workload=(bound(compiled(group(count=count))),))


@pytest.mark.parametrize(
    ("workload", "policies", "seconds"),
    [
        pytest.param(JOB, broken("object.spec.nope"), 10.0, id="a policy that fails, soon"),
        pytest.param(attached().annotate(MIN_COUNT_ANNOTATION, "x").build(), POLICIES, 60.0, id="a word that cannot be, later"),
    ],
)
def test_a_workload_that_cannot_be_planned_is_looked_at_again_for(workload: Object, policies: PolicySet, seconds: float) -> None:
    missing, there = plan(workload, policies=policies), plan(workload, *BOTH, policies=policies)
    assert (kinds(missing), waits(missing)) == (["GroupNotPlanned"], [seconds])
    assert (kinds(there), waits(there)) == (["QuorumNotFollowing"], [seconds])
    assert "stays as it is" in next(one.message for one in there if isinstance(one, Tell))


def test_a_policy_may_look_at_the_cluster_here_as_well() -> None:
    policies = broken("cluster.group('other').hasValue() ? 3 : 4")
    assert kinds(plan(JOB, pod_group("other").build(), policies=policies)) == ["PodGroup", "Workload"]
    assert NEEDED_KINDS["group"] == {("scheduling.k8s.io", "PodGroup")}


def quorum(actions: tuple[PlannedAction, ...]) -> list[int]:
    return [
        one.object["spec"]["schedulingPolicy"]["gang"]["minCount"]
        for one in actions
        if isinstance(one, Apply) and one.object["kind"] == "PodGroup"
    ]


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(attached().annotate(MIN_COUNT_ANNOTATION, "2"), [2], id="a lower quorum"),
        pytest.param(attached().at("spec.parallelism", 6).at("spec.completions", 6), [6], id="more pods"),
        pytest.param(
            attached().at("spec.parallelism", 3).annotate(MIN_COUNT_ANNOTATION, "4"), [3], id="fewer pods than the quorum"
        ),
        pytest.param(attached().annotate(TOPOLOGY_KEY_ANNOTATION, "rack"), [], id="a topology, which is fixed"),
        pytest.param(attached().at("spec.parallelism", 0), [], id="no pods for now"),
    ],
)
def test_a_stored_group_follows(workload: Built, expected: list[int]) -> None:
    assert quorum(plan(workload.build(), *BOTH, capabilities=TOPOLOGY)) == expected


def test_a_missing_quorum_is_told_after_a_while() -> None:
    assert kinds(plan(JOB, *BOTH, *pods(3))) == ["QuorumNotReached"]


def test_a_young_wait_is_looked_at_again_when_it_is_old_enough() -> None:
    young = [one | {"metadata": one["metadata"] | {"creationTimestamp": "2026-01-01T00:59:57Z"}} for one in pods(3)]
    found = plan(JOB, *BOTH, *young)
    assert kinds(found) == []
    assert waits(found) == [pytest.approx(2.0)]


@pytest.mark.parametrize("created", ["2026-01-01T09:00:00Z", None], ids=["made by a clock ahead of ours", "of unknown age"])
def test_a_wait_of_no_known_age_is_no_reason_for_a_long_sleep(created: str | None) -> None:
    odd = [one | {"metadata": one["metadata"] | {"creationTimestamp": created}} for one in pods(3)]
    assert waits(plan(JOB, *BOTH, *odd)) == [5.0]


def test_a_job_whose_pods_have_all_ended_waits_for_none() -> None:
    """Between its last pod's end and the condition Complete lies a moment in which it has no members."""
    started = OURS.at("status.conditions", [{"type": "PodGroupInitiallyScheduled", "status": "True"}]).build()
    assert plan(JOB, started, WORKLOAD, *pods(4, phase="Succeeded")) == ()


def test_pods_of_a_group_that_is_missing_are_told_of_while_it_is_made() -> None:
    assert kinds(plan(JOB, *pods(4))) == ["PodGroup", "Workload", "PodGroupMissing"]


NATIVE_JOB = schedule(
    job().parallelism(4).stored().build(),
    GroupPlan(
        policy="gangs",
        binding="all",
        route=Route.NATIVE,
        groups=(PlannedGroup(template="workers", pod_group="", count=4, min_count=4),),
    ),
)


def native_pod_group() -> Object:
    made = pod_group("by-kubernetes", 4, owner=NATIVE_JOB).build()
    made["metadata"]["ownerReferences"][0]["controller"] = True
    return made


def test_a_native_group_is_left_to_the_job_controller() -> None:
    members = pods(4)
    for member in members:
        member["spec"] |= {"schedulingGroup": {"podGroupName": "by-kubernetes"}, "nodeName": "n0"}
    assert kinds(plan(NATIVE_JOB, native_pod_group(), *members)) == []


def test_a_native_group_that_nobody_makes_is_told() -> None:
    assert kinds(plan(NATIVE_JOB)) == ["NativeGroupMissing"]
    assert waits(plan(NATIVE_JOB, native_seconds=10**9)) != []
    assert kinds(plan({**NATIVE_JOB, "spec": {**NATIVE_JOB["spec"], "suspend": True}})) == []


RACK = {"topology": [{"key": "example.dev/rack"}]}
CLAIM = [{"name": "fabric", "resourceClaimTemplateName": "channel"}]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"schedulingConstraints": RACK}, "spec.scheduling.schedulingConstraints"),
        ({"resourceClaims": CLAIM}, "feature gate DRAWorkloadResourceClaims is off there"),
        (
            {"schedulingConstraints": RACK, "resourceClaims": CLAIM},
            "TopologyAwareWorkloadScheduling and DRAWorkloadResourceClaims",
        ),
    ],
)
@pytest.mark.parametrize("suspended", [False, True])
def test_what_the_server_dropped_from_a_native_group_is_told(asked: Object, words: str, *, suspended: bool) -> None:
    """The Job keeps showing it."""
    spec = NATIVE_JOB["spec"]
    wish = {**NATIVE_JOB, "spec": {**spec, "scheduling": spec["scheduling"] | asked, "suspend": suspended}}
    made, members = native_pod_group(), pods(4)
    for member in members:
        member["spec"] |= {"schedulingGroup": {"podGroupName": "by-kubernetes"}, "nodeName": "n0"}
    (told,) = plan(wish, made, *members)
    assert isinstance(told, Tell)
    assert told.reason == "GroupFieldDropped"
    assert words in told.message
    assert kinds(plan(wish, {**made, "spec": made["spec"] | asked}, *members)) == []


def test_a_job_that_lost_its_native_wish_on_the_way_is_told() -> None:
    """An API server whose gate is off stores it without, and Job and pods look as if nobody had asked."""
    spec = {name: value for name, value in NATIVE_JOB["spec"].items() if name != "scheduling"}
    (told,) = plan({**NATIVE_JOB, "spec": spec})
    assert isinstance(told, Tell)
    assert told.reason == "GroupNotAttached"
    assert "the API server dropped spec.scheduling: feature gate WorkloadWithJob is off there" in told.message


ASKING = job().stored().label("gangwarden.dev/gang", "true")
OPERATOR = pod_group("of-an-operator").stored().build()


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        (ASKING, ["NoGroupObjects"]),
        (ASKING.label("gangwarden.dev/gang", "false"), []),
        (job().stored(), []),
        (ASKING.owned_by(OPERATOR, controller=True), []),
    ],
    ids=["asks", "asks for none", "asks for nothing", "an operator decides for it"],
)
def test_who_asks_for_a_gang_where_none_can_be_is_told_on_the_workload(workload: Built, told: list[str]) -> None:
    """A CronJob's controller hears the webhook's warning, and tells nobody."""
    found = plan(workload.build(), capabilities=Capabilities())
    assert kinds(found) == told
    assert all("feature gate GenericWorkload" in one.message for one in found if isinstance(one, Tell))
    assert plan(workload.build()) == ()


def test_what_a_native_group_waits_for_is_told() -> None:
    members = pods(3)
    for member in members:
        member["spec"]["schedulingGroup"] = {"podGroupName": "by-kubernetes"}
    assert kinds(plan(NATIVE_JOB, native_pod_group(), *members)) == kinds(plan(JOB, *BOTH, *pods(3)))


CHILD = job().annotate("scheduling.k8s.io/group-template-name", "workers").owned_by(OPERATOR, controller=True).stored()


def test_a_job_that_leaves_its_group_to_its_owner_is_looked_after_like_a_native_one() -> None:
    child = CHILD.at("metadata.creationTimestamp", CREATED).build()
    assert kinds(plan(child)) == ["DelegatedGroupMissing"]
    assert waits(plan(child, native_seconds=10**9)) != []
    group = pod_group("by-kubernetes", 4, owner=child).build()
    group["metadata"]["ownerReferences"][0]["controller"] = True
    assert kinds(plan(child, group)) == ["QuorumNotReached"]
