"""What ``explain`` says: the cause by its code, the sentence with names and times, and the order in which things happened."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import job, pod, pod_group
from tests.preemption.groups import NOW, Group, ago, at
from webhook.groups.catalogue import CATALOGUE
from webhook.model.disruption import Intent, LossCause, Step
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot, snapshot_of
from webhook.model.stories import Story
from webhook.preemption.diagnosis import _QUIET
from webhook.preemption.intent import write_intent
from webhook.preemption.story import tell_story
from webhook.preemption.timeline import MOST_ENTRIES

SERVING = "11111111-2222-3333-4444-555555555555"


def told(
    group: Group, kind: str = "Job", name: str = "train", *, events: tuple[Object, ...] = (), seconds: float = 0, **more: Any
) -> Story:
    snapshot = snapshot_of(
        [*(obj for spaces in group.snapshot().buckets.values() for b in spaces.values() for obj in b.values()), *events]
    )
    api = {"Job": "batch", "Pod": "", "PodGroup": "scheduling.k8s.io"}[kind]
    target = snapshot.get(ObjectKey(api, kind, "team-a", name))
    assert target is not None
    return tell_story(target, snapshot, spec_of=lambda _: group.spec, now=NOW + timedelta(seconds=seconds), **more)


def event(reason: str, message: str, name: str = "train", *, kind: str = "Job", uid: str = "", since: float = -10) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{since}", "namespace": "team-a"},
        "involvedObject": {"kind": kind, "name": name, "uid": uid},
        "reason": reason,
        "message": message,
        "lastTimestamp": at(since),
    }


def preempted(
    name: str = "train-3", *, uid: str = "uid-3", by: str = "podgroup", node: str = "cluster", since: float = -10
) -> Object:
    return event("Preempted", f"Preempted by {by} {SERVING} on node {node}", name, kind="Pod", uid=uid, since=since)


def waiting(**change: Any) -> Group:
    """A gang that has waited for an hour."""
    group = Group(**change).waiting()
    for member in group.pods.values():
        member["spec"]["priority"] = 0
    return group


def unscheduled(group: Group, message: str = "0/4 nodes are available") -> Group:
    return group.condition("PodGroupInitiallyScheduled", "False", "Unschedulable", message)


CASES = {
    "a group that works": (Group().run(), "Running", "4 of 4 members work"),
    "a Job that has ended": (Group().run().job_condition("Complete"), "Finished", "has ended"),
    "a Job that is being deleted": (Group().run().with_job("metadata.deletionTimestamp", at(0)), "Finished", "being deleted"),
    "a member evicted": (
        Group().run().doomed(3, "EvictionByEvictionAPI").deleted(3),
        "EvictionByEvictionAPI",
        "Pod train-3 (node n3) was evicted at 2026-03-01T11:59:55Z. 3 of 4 members go on without making progress.",
    ),
    "a member whose node was tainted": (
        Group().run().doomed(3, "DeletionByTaintManager").deleted(3),
        "DeletionByTaintManager",
        "NoExecute taint",
    ),
    "a member deleted by hand": (Group().run().deleted(3), "Deleted", "was deleted by somebody"),
    "a member that failed": (Group().run().failed(3), "Failed", "failed by itself at"),
    "a member whose node is gone": (Group().run().without_node("n3"), "NodeGone", "was on a node that is gone"),
    "a member whose node is silent": (
        Group().run().node("n3", ready="Unknown", taint="node.kubernetes.io/unreachable"),
        "NodeSilent",
        "on a node that reports nothing",
    ),
    "pods that wait for room": (unscheduled(waiting()), "GroupUnschedulable", "0/4 nodes are available"),
    "pods that wait for one domain": (
        unscheduled(waiting(), "0/2 placements are available").with_group(
            "spec.schedulingConstraints", {"topology": [{"key": "rack"}]}
        ),
        "NoDomain",
        "0/2 placements are available",
    ),
    "pods of which the scheduler says nothing": (waiting(), "NotLooked", "4 of 4 pods wait"),
    "too few pods": (Group().waiting(2), "QuorumNotReached", "starts when 4 pods exist at the same time; 2 of 4 do"),
    "a suspended Job": (Group().with_job("spec.suspend", True), "Suspended", "Job train is suspended"),
    "a suspended Job of Kueue": (
        Group().with_job("spec.suspend", True).with_job("metadata.labels", {"kueue.x-k8s.io/queue-name": "q"}),
        "Suspended",
        "Kueue suspends and resumes it",
    ),
    "a PodGroup of nobody": (
        Group().run().with_group("metadata.ownerReferences", []),
        "GroupHeld",
        "names no workload that it was made for",
    ),
}


@pytest.mark.parametrize(("group", "code", "said"), CASES.values(), ids=CASES.keys())
def test_the_cause_has_a_code_and_a_sentence(group: Group, code: str, said: str) -> None:
    story = told(group, "PodGroup", "g")
    (found,) = story.groups
    assert found.code == code
    assert said in found.cause
    assert found.is_finding is (code not in _QUIET)
    assert CATALOGUE[code].next_step in found.next_step


def test_a_gated_member_holds_back_its_group() -> None:
    group = waiting()
    group.pod(1)["spec"]["schedulingGates"] = [{"name": "quota"}]
    assert told(group).groups[0].code == "MemberGated"


@pytest.mark.parametrize(
    ("field", "value", "code"), [("schedulerName", "other", "SchedulerNameMismatch"), ("priority", 7, "PriorityMismatch")]
)
def test_members_that_do_not_fit_together_never_start(field: str, value: object, code: str) -> None:
    group = waiting()
    group.pod(1)["spec"][field] = value
    (found,) = told(group).groups
    assert (found.code, found.state) == (code, "stuck")


def test_a_quota_is_found_in_the_events_of_the_workload() -> None:
    refused = event("FailedCreate", 'Error creating: pods "train-2" is forbidden: exceeded quota: q, requested: cpu=1')
    (found,) = told(Group().waiting(2), events=(refused,)).groups
    assert found.code == "QuotaExceeded"
    assert "2 of 4 do; the others are refused: Error creating: pods" in found.cause


def test_another_refusal_of_pods_is_found_there_as_well() -> None:
    refused = event("FailedCreate", "Error creating: admission webhook denied the request")
    assert told(Group().waiting(2), events=(refused,)).groups[0].code == "PodsRefused"


def test_a_group_bound_in_part_without_a_start_was_lost_sight_of() -> None:
    group = waiting()
    for index in (0, 1):
        group.node(f"n{index}")
        group.pod(index)["spec"]["nodeName"] = f"n{index}"
    (found,) = told(group).groups
    assert found.code == "BoundInPart"
    assert found.cause == "2 of 4 members have nodes and 2 wait, though the group was never started as a whole."


def test_a_group_that_is_only_just_being_bound_is_not() -> None:
    group = Group()
    for index in range(4):
        group.replaced(index, created=-1, node=f"n{index}" if index < 2 else "")
    assert told(group).groups[0].code == "Forming"


def test_a_member_that_nobody_saw_go_is_missed() -> None:
    group = Group().run().gone(3).replaced(3, created=-60)
    (found,) = told(group).groups
    assert found.code == "Unseen"
    assert found.state == "lost-a-member"


def test_a_preemptor_is_named_from_the_scheduler_s_event_while_it_lives() -> None:
    group = Group().run().doomed(3, "PreemptionByScheduler").deleted(3)
    serving = pod_group("serving", namespace="team-b").at("metadata.uid", SERVING).build()
    group.others.append(serving)
    story = told(group, events=(preempted(),))
    assert story.groups[0].code == "PreemptionByScheduler"
    assert f"for PodGroup team-b/serving (UID {SERVING})" in story.groups[0].cause
    assert story.unresolved == ()


def test_one_that_is_not_in_the_snapshot_can_be_named_from_elsewhere() -> None:
    group = Group().run().doomed(3, "PreemptionByScheduler").deleted(3)
    story = told(group, events=(preempted(by="pod", node="n3"),))
    assert story.unresolved == ((SERVING, "n3"),)
    assert "for a pod or group that is gone" in story.groups[0].cause
    named = told(group, events=(preempted(by="pod", node="n3"),), names={SERVING: "Pod team-b/web"})
    assert "for Pod team-b/web" in named.groups[0].cause
    assert named.unresolved == ()


def test_a_group_that_the_scheduler_took_as_a_whole_says_so_while_it_waits_again() -> None:
    group = unscheduled(waiting())
    group.pod_group["metadata"]["creationTimestamp"] = at(-7200)
    events = tuple(preempted(f"train-{index}-old", uid=f"old-{index}") for index in range(4))
    (found,) = told(group, events=events).groups
    assert found.code == "GroupUnschedulable"
    assert found.cause.startswith(
        f"The scheduler preempted it for a pod or group that is gone (UID {SERVING}) at 2026-03-01T11:59:50Z"
    )


def test_an_event_of_an_earlier_workload_of_the_same_name_explains_nothing() -> None:
    group = unscheduled(waiting())
    group.pod_group["metadata"]["creationTimestamp"] = at(-60)
    (found,) = told(group, events=(preempted("train-0-old", uid="old", since=-600),)).groups
    assert not found.cause.startswith("The scheduler preempted it")


def test_a_job_that_lost_all_its_pods_waits_for_its_own_pause() -> None:
    group = Group().run()
    for index in range(4):
        group.failed(index, ended=-60)
    (found,) = told(group).groups
    assert found.code == "JobBackOff"
    assert "the Job makes new ones by 2026-03-01T12:09:00Z at the latest" in found.cause
    assert not found.is_finding


def restarting(step: Step, note: str = "") -> Group:
    group = Group().run().deleted(3)
    intent = Intent(
        id="3f9a",
        step=step,
        owner_uid="u",
        cause=LossCause.EVICTED,
        victim="train-3",
        began=ago(60),
        step_since=ago(30),
        note=note,
    )
    write = write_intent(group.pod_group, intent)
    condition = {"type": write.type, "status": "True", "reason": write.word, "message": write.message}
    group.pod_group["status"]["conditions"].append(condition | {"lastTransitionTime": at(-30)})
    return group


def test_a_restart_under_way_tells_its_step_and_how_it_began() -> None:
    (found,) = told(restarting(Step.AWAITING, "train-3 on n3")).groups
    assert found.code == "GroupRestarting"
    assert "Restart 3f9a of the group is at step Awaiting" in found.cause
    assert "It began at 2026-03-01T11:59:00Z, when train-3 was lost (EvictionByEvictionAPI)." in found.cause


def test_a_restart_that_is_held_says_by_what() -> None:
    (found,) = told(restarting(Step.HOLDING, "PodDisruptionBudget a allows 2")).groups
    assert found.code == "GroupHeld"
    assert "PodDisruptionBudget a allows 2" in found.cause


def test_a_podgroup_that_is_missing_is_told_from_pod_and_workload() -> None:
    group = waiting().with_job("metadata.annotations.gangwarden~dev/pod-group", "workers=g")
    objects = [group.job, *group.pods.values()]
    for target in (group.job, group.pod(0)):
        story = tell_story(target, snapshot_of(objects), spec_of=lambda _: group.spec, now=NOW)
        assert [(one.pod_group, one.code, one.is_finding) for one in story.groups] == [("g", "PodGroupMissing", True)]
        assert "4 pods wait because PodGroup g does not exist" in story.groups[0].cause


def test_a_workload_that_is_to_have_a_group_and_has_no_pods_yet_needs_nobody() -> None:
    made = job().annotate("gangwarden.dev/pod-group", "workers=g").stored().build()
    (found,) = tell_story(made, snapshot_of([made]), spec_of=lambda _: Group().spec, now=NOW).groups
    assert (found.code, found.is_finding) == ("PodGroupMissing", False)


def test_what_is_in_no_group_says_so() -> None:
    made = job().stored().build()
    member = pod().owned_by(made, controller=True).build()
    snapshot = snapshot_of([made, member])
    assert [why(made, snapshot), why(member, snapshot)] == [
        "Job train is in no group, so its pods start and go one by one. 1 pod of it names no group.",
        "Pod train-0 is in no group, so its pods start and go one by one. It is controlled by Job train.",
    ]


def test_a_job_that_has_asked_for_a_group_in_vain_is_to_be_made_again() -> None:
    made = job().label("gangwarden.dev/gang", "true").stored().build()
    (found,) = tell_story(made, snapshot_of([made]), spec_of=lambda _: Group().spec, now=NOW).groups
    assert "while the webhook was away" in found.next_step
    assert "create it again" in found.next_step


def why(target: Object, snapshot: Snapshot) -> str:
    (found,) = tell_story(target, snapshot, spec_of=lambda _: Group().spec, now=NOW).groups
    assert (found.code, found.is_finding) == ("NotGrouped", False)
    return found.cause


def test_of_several_groups_the_one_that_needs_somebody_comes_first() -> None:
    group = Group().run().with_job("metadata.annotations.gangwarden~dev/pod-group", "a=g,b=missing")
    group.others.append(pod("other-0", group="missing").owned_by(group.job, controller=True).build())
    assert [(one.pod_group, one.code) for one in told(group).groups] == [("missing", "PodGroupMissing"), ("g", "Running")]


@pytest.mark.parametrize(("kind", "name"), [("Job", "train"), ("PodGroup", "g"), ("Pod", "train-0")])
def test_the_same_story_is_told_from_every_side(kind: str, name: str) -> None:
    story = told(Group().run().deleted(3), kind, name)
    assert story.about == f"{kind} team-a/{name}"
    assert story.workload == "Job team-a/train"
    assert [one.code for one in story.groups] == ["Deleted"]
    assert story.entries == told(Group().run().deleted(3)).entries


def test_things_are_told_in_the_order_of_time_and_equal_ones_once() -> None:
    group = Group().run().doomed(3, "EvictionByEvictionAPI", message="evicting", since=-7).deleted(3, since=-7)
    group.pod_group["metadata"]["creationTimestamp"] = group.job["metadata"]["creationTimestamp"] = at(-3605)
    ours = [
        event("GroupRestarting", "restart 3f9a", one, kind=kind, since=-6) for kind, one in (("Job", "train"), ("Pod", "train-0"))
    ]
    told_ = told(group, events=tuple(ours)).entries
    assert [(one.about, one.what) for one in told_] == [
        (("Job train", "PodGroup g"), "Created"),
        (("Pod train-0", "Pod train-1", "Pod train-2", "Pod train-3"), "Created"),
        (("Pod train-3",), "Deleted"),
        (("Pod train-3",), "DisruptionTarget=True"),
        (("Job train", "Pod train-0"), "GroupRestarting"),
    ]
    assert told_[3].text == "EvictionByEvictionAPI: evicting"


def test_events_of_pods_that_are_gone_are_told_by_the_name_of_their_workload() -> None:
    theirs = event("Killing", "Stopping container", "other-0", kind="Pod", uid="x")
    gone = event("Killing", "Stopping container main", "train-7", kind="Pod", uid="y")
    texts = [one.text for one in told(Group().run(), events=(gone, theirs)).entries if one.source == "event"]
    assert texts == ["Stopping container main"]


def test_events_of_an_earlier_pod_of_the_same_name_are_not_told() -> None:
    earlier = event("Killing", "Stopping", "train-0", kind="Pod", uid="earlier")
    assert [one for one in told(Group().run(), events=(earlier,)).entries if one.source == "event"] == []


def test_repetitions_of_an_event_are_counted() -> None:
    often = event("FailedScheduling", "no room", "train-0", kind="Pod", uid="uid-0") | {"count": 7}
    (entry,) = [one for one in told(Group().run(), events=(often,)).entries if one.source == "event"]
    assert entry.text == "no room (7 times)"


def test_the_newer_form_of_events_is_read_as_well() -> None:
    newer = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "team-a"},
        "regarding": {"kind": "Job", "name": "train"},
        "reason": "GroupRestarted",
        "note": "all run again",
        "eventTime": "2026-03-01T11:59:59.123456Z",
        "series": {"count": 2, "lastObservedTime": "2026-03-01T12:00:00.000000Z"},
    }
    (entry,) = [one for one in told(Group().run(), events=(newer,)).entries if one.source == "event"]
    assert (entry.at, entry.what, entry.text) == (NOW, "GroupRestarted", "all run again (2 times)")


def test_a_long_story_is_cut_at_its_begin() -> None:
    many = tuple(event(f"Reason{index}", "x", since=-index) for index in range(MOST_ENTRIES + 50))
    story = told(Group().run(), events=many)
    assert len(story.entries) == MOST_ENTRIES
    assert story.left_out == 52
    assert story.entries[-1].what == "Reason0"


def test_the_machine_s_form_leads_with_what_matters_most() -> None:
    found = told(Group().run().deleted(3)).as_json()
    assert {key: found[key] for key in ("object", "workload", "state", "code", "finding")} == {
        "object": "Job team-a/train",
        "workload": "Job team-a/train",
        "state": "lost-a-member",
        "code": "Deleted",
        "finding": True,
    }
    assert found["groups"][0]["podGroup"] == "g"
    assert found["timeline"][-1]["at"] == "2026-03-01T11:59:55Z"


def test_names_of_groups_come_from_the_record_and_from_owners() -> None:
    group = Group().run()
    other = pod_group("native", owner=group.job).build()
    metadata_of(other)["uid"] = "n"
    group.others.append(other)
    assert {one.pod_group for one in told(group).groups} == {"g", "native"}


def test_a_policy_that_ignores_losses_says_so_in_the_next_step() -> None:
    group = Group().run().deleted(3)
    group.spec = replace(group.spec, on_disruption="Ignore")
    (found,) = told(group).groups
    assert found.next_step.startswith("The policy says onDisruption: Ignore")
