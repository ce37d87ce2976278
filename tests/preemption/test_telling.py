"""What is recorded of a group that loses members: one id, one cause in a sentence, on the objects where people look."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import job, pod, pod_group
from webhook.model.disruption import GroupState, Health, Intent, Loss, LossCause, RestartOutcome, Step
from webhook.model.snapshot import snapshot_of
from webhook.preemption.telling import (
    MOST_PODS,
    About,
    loss_sentence,
    preemptor_name,
    tell_begun,
    tell_ended,
    tell_held,
    tell_lost,
    tell_stuck,
    tell_taken,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB = job().stored().build()
GROUP = pod_group("train-g", owner=JOB).build()
MEMBERS = tuple(pod(f"train-{index}", group="train-g").at("metadata.uid", f"uid-{index}").build() for index in range(3))
ABOUT = About(owner=JOB, pod_group=GROUP, members=MEMBERS)
LOSS = Loss(pod="train-3", uid="uid-3", cause=LossCause.EVICTED, since=NOON, message="Eviction API: evicting", node="n1")
HEALTH = Health(
    state=GroupState.LOST_A_MEMBER, because="train-3 was evicted", way_out="The group restarts.", losses=(LOSS,), bound=3
)
INTENT = Intent(
    id="3f9a", step=Step.SUSPENDING, owner_uid="u", cause=LossCause.EVICTED, victim="train-3", began=NOON, step_since=NOON
)


def kinds(tells) -> list[str]:
    return [f"{tell.about['kind']}/{tell.about['metadata']['name']}" for tell in tells]


def test_the_begin_is_told_on_the_workload_its_group_and_every_pod_the_lost_one_first() -> None:
    tells = tell_begun(ABOUT, INTENT, HEALTH)
    assert kinds(tells) == ["Job/train", "PodGroup/train-g", "Pod/train-3", "Pod/train-0", "Pod/train-1", "Pod/train-2"]
    assert len({(tell.reason, tell.message) for tell in tells}) == 1
    assert tells[0].reason == "GroupRestarting"


def test_a_pod_that_is_gone_is_told_of_by_name_and_uid() -> None:
    gone = tell_begun(ABOUT, INTENT, HEALTH)[2].about
    assert gone["metadata"] == {"name": "train-3", "namespace": "team-a", "uid": "uid-3"}


def test_the_begin_says_cause_place_time_survivors_and_id() -> None:
    assert tell_begun(ABOUT, INTENT, HEALTH)[0].message == (
        "Pod train-3 (node n1) was evicted at 2026-01-01T12:00:00Z, which says: Eviction API: evicting. 3 other members hold "
        "their nodes and cannot go on without it, so the whole group is restarted together (restart 3f9a)."
    )


def test_a_deadline_that_begins_anew_is_said() -> None:
    limited = job().at("spec.activeDeadlineSeconds", 3600).stored().build()
    (first, *_) = tell_begun(replace(ABOUT, owner=limited), INTENT, HEALTH)
    assert first.message.endswith("Its activeDeadlineSeconds (3600) begins anew when it is resumed.")


def test_restarts_in_a_row_are_counted() -> None:
    (first, *_) = tell_begun(ABOUT, replace(INTENT, attempt=4), HEALTH)
    assert "(restart 3f9a, number 4 in a row)" in first.message


def test_members_lost_together_are_named_up_to_three() -> None:
    losses = tuple(replace(LOSS, pod=f"train-{index}", uid=f"u{index}") for index in range(6))
    (first, *_) = tell_begun(ABOUT, INTENT, replace(HEALTH, losses=losses))
    assert "; lost as well: train-1, train-2, train-3 and 2 more." in first.message


def test_events_on_pods_are_bounded() -> None:
    many = tuple(pod(f"p-{index}").at("metadata.uid", f"u-{index}").build() for index in range(1000))
    assert len(tell_begun(replace(ABOUT, members=many), INTENT, HEALTH)) == MOST_PODS + 2


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (LossCause.PREEMPTED, "was preempted by the scheduler"),
        (LossCause.TAINTED, "was deleted because of a NoExecute taint on its node"),
        (LossCause.DEVICE_TAINTED, "was deleted because a device of its claim is tainted"),
        (LossCause.COLLECTED, "was removed by pod garbage collection"),
        (LossCause.KUBELET, "was ended by the kubelet of its node"),
        (LossCause.NODE_GONE, "was on a node that is gone"),
        (LossCause.NODE_SILENT, "is on a node that reports nothing any more"),
        (LossCause.DELETED, "was deleted by somebody"),
        (LossCause.FAILED, "failed by itself"),
        (LossCause.UNSEEN, "is missing, and nobody saw it go"),
    ],
)
def test_every_cause_has_its_words(cause: LossCause, said: str) -> None:
    assert loss_sentence(replace(LOSS, cause=cause, message="")) == f"Pod train-3 (node n1) {said} at 2026-01-01T12:00:00Z"


def test_a_preemptor_is_named_with_its_uid() -> None:
    taken = replace(LOSS, cause=LossCause.PREEMPTED, message="", by="uid-p")
    assert " for PodGroup serving (UID uid-p) at" in loss_sentence(taken, "PodGroup serving")
    assert " for a pod or group that is gone (UID uid-p) at" in loss_sentence(taken)


def test_a_preemptor_is_found_by_its_uid_and_named_only_within_the_namespace() -> None:
    other = pod_group("serving").at("metadata.uid", "uid-p").build()
    far = pod("secret", namespace="team-b").at("metadata.uid", "uid-q").build()
    snapshot = snapshot_of([other, far])
    assert preemptor_name("uid-p", snapshot, "team-a") == "PodGroup serving"
    assert preemptor_name("uid-q", snapshot, "team-a") == "a Pod of another namespace"
    assert preemptor_name("uid-x", snapshot, "team-a") == ""
    assert preemptor_name("", snapshot_of([pod("no-uid").build()]), "team-a") == ""


@pytest.mark.parametrize(
    ("tells", "reason"),
    [
        (tell_held(ABOUT, HEALTH), "GroupHeld"),
        (tell_stuck(ABOUT, HEALTH), "GroupStuck"),
        (tell_lost(ABOUT, HEALTH), "GroupLostMember"),
    ],
)
def test_what_needs_somebody_says_why_and_the_way_out(tells, reason: str) -> None:
    assert {tell.reason for tell in tells} == {reason}
    assert {tell.message for tell in tells} == {"train-3 was evicted. The group restarts."}
    assert all(tell.warning for tell in tells)


def test_a_hold_in_the_middle_of_a_restart_carries_its_id() -> None:
    assert tell_held(ABOUT, HEALTH, INTENT)[0].message.endswith("(restart 3f9a)")


@pytest.mark.parametrize(
    ("outcome", "reason", "warning", "said"),
    [
        (RestartOutcome.WHOLE, "GroupRestarted", False, "All members run again, started together, 90 s after train-3 was lost"),
        (RestartOutcome.FINISHED, "GroupRestartAbandoned", False, "Nothing was left to restart"),
        (RestartOutcome.ABANDONED, "GroupRestartAbandoned", True, "Somebody else changed it in the middle of the restart"),
        (RestartOutcome.FAILED, "GroupRestartFailed", True, "The restart was given up after 90 s, in step Suspending"),
    ],
)
def test_the_end_says_how_it_went(outcome: RestartOutcome, reason: str, warning: bool, said: str) -> None:
    (first, *_) = tell_ended(ABOUT, INTENT, outcome, now=NOON + timedelta(seconds=90), note="it says suspend: true.")
    assert (first.reason, first.warning) == (reason, warning)
    assert first.message.startswith(said)
    assert first.message.endswith(": it says suspend: true (restart 3f9a).")


def test_pods_can_be_spared() -> None:
    assert kinds(tell_ended(ABOUT, INTENT, RestartOutcome.WHOLE, now=NOON, pods=False)) == ["Job/train", "PodGroup/train-g"]


def test_a_group_that_was_taken_as_a_whole_says_by_whom_and_what_comes_next() -> None:
    taken = replace(LOSS, cause=LossCause.PREEMPTED, message="", by="uid-p")
    tells = tell_taken(ABOUT, replace(HEALTH, losses=(taken, taken)), preemptor="PodGroup serving")
    assert kinds(tells) == ["Job/train", "PodGroup/train-g"]
    assert tells[0].reason == "GroupTaken"
    assert tells[0].message == (
        "Pod train-3 (node n1) was preempted by the scheduler for PodGroup serving (UID uid-p) at 2026-01-01T12:00:00Z and 1 "
        "more with it. No member of the group holds a node any more; Job train makes new ones, which start together when there "
        "is room for all."
    )
