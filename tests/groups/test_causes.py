"""One sentence for every silent wait."""

from __future__ import annotations

import pytest

from tests.builders import pod, pod_group
from webhook.groups.causes import why_waiting
from webhook.model.groups import PlannedGroup

GROUP = PlannedGroup(template="workers", pod_group="g", count=4, min_count=4)
UNSCHEDULABLE = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes"}


def members(count: int, **spec: object) -> list:
    built = [pod(f"p{index}", group="g") for index in range(count)]
    for key, value in spec.items():
        built[0] = built[0].at(f"spec.{key}", value)
    return [one.build() for one in built]


@pytest.mark.parametrize(
    ("group", "pods", "reason", "words"),
    [
        pytest.param(
            None, members(4), "PodGroupMissing", "4 pods wait because PodGroup g does not exist", id="the group is missing"
        ),
        pytest.param(
            pod_group("g"), members(2), "QuorumNotReached", "4 pods exist at the same time; 2 of 4 do", id="too few pods"
        ),
        pytest.param(
            pod_group("g"),
            members(4, schedulingGates=[{"name": "x.dev/wait"}]),
            "MemberGated",
            "Pod p0 carries scheduling gate x.dev/wait",
            id="one gate",
        ),
        pytest.param(
            pod_group("g"),
            members(4, priority=7),
            "PriorityMismatch",
            "p0 has priority 7 but group g has 0",
            id="priorities differ",
        ),
        pytest.param(
            pod_group("g"),
            members(4, schedulerName="other"),
            "SchedulerNameMismatch",
            "default-scheduler, other",
            id="schedulers differ",
        ),
        pytest.param(
            pod_group("g").at("status.conditions", [UNSCHEDULABLE]),
            members(4),
            "GroupUnschedulable",
            "no room for the whole group",
            id="no room",
        ),
        pytest.param(
            pod_group("g")
            .at("status.conditions", [UNSCHEDULABLE])
            .at("spec.schedulingConstraints", {"topology": [{"key": "example.dev/rack"}]}),
            members(4),
            "GroupUnschedulable",
            "no room for the whole group within one example.dev/rack, so none of it runs: 0/4 nodes",
            id="no room in one rack",
        ),
    ],
)
def test_a_group_waits_because(group, pods, reason, words):
    cause = why_waiting(GROUP, group.build() if group else None, pods)
    assert cause is not None
    assert cause.reason == reason
    assert words in cause.message


def test_a_running_group_waits_for_nothing():
    running = [one | {"spec": one["spec"] | {"nodeName": "n1"}} for one in members(4)]
    assert why_waiting(GROUP, pod_group("g").build(), running) is None


STARTED = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}


@pytest.mark.parametrize(
    ("group", "left"),
    [
        pytest.param(pod_group("g").at("status.conditions", [STARTED]), 3, id="some have ended"),
        pytest.param(pod_group("g").at("status.conditions", [STARTED]), 0, id="all have ended, before the Job is complete"),
        pytest.param(pod_group("g"), 3, id="the PodGroup was made anew meanwhile"),
    ],
)
def test_a_group_that_ran_waits_for_nothing_when(group, left):
    running = [one | {"spec": one["spec"] | {"nodeName": "n1"}} for one in members(left)]
    assert why_waiting(GROUP, group.build(), running) is None


def test_a_replacement_below_the_quorum_waits_although_the_group_ran():
    """One member has ended, one came back: the scheduler forgot the ended one (kubernetes 142330)."""
    pods = members(3)
    pods[1:] = [one | {"spec": one["spec"] | {"nodeName": "n1"}} for one in pods[1:]]
    cause = why_waiting(GROUP, pod_group("g").at("status.conditions", [STARTED]).build(), pods)
    assert cause is not None
    assert cause.reason == "QuorumNotReached"
    assert "pods that have ended do not count" in cause.message


def test_a_basic_group_never_waits_for_a_quorum():
    basic = pod_group("g").at("spec.schedulingPolicy", {"basic": {}}).build()
    assert why_waiting(GROUP, basic, members(1)) is None


def test_a_group_that_was_just_made_has_no_known_cause():
    assert why_waiting(GROUP, pod_group("g").build(), members(4)) is None


def test_no_pods_and_no_group_is_no_wait():
    assert why_waiting(GROUP, None, []) is None
