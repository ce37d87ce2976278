"""What is said of feature gates, alone and together."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from webhook.groups import tell_gates
from webhook.groups.gates import changed_gates, dangerous_mixtures
from webhook.model.actions import Tell
from webhook.model.groups import Capabilities

ALL = Capabilities(**{one.name: True for one in fields(Capabilities)})
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "s", "name": "l"}}


def told(before: Capabilities | None, now: Capabilities, *, asked: bool = True, unsettled: bool = False) -> list[Tell]:
    return list(tell_gates(LEASE, before, now, asked_job_controller=asked, unsettled=unsettled))


@pytest.mark.parametrize("name", [one.name for one in fields(Capabilities)])
def test_every_gate_has_a_name_and_a_component(name: str) -> None:
    off = replace(ALL, **{name: False})
    assert changed_gates(off, ALL).endswith("is on")
    assert changed_gates(ALL, off).endswith("is off")
    assert " in kube-" in changed_gates(ALL, off)


def test_nothing_is_said_where_nothing_changed() -> None:
    assert told(ALL, ALL) == []
    assert told(None, ALL) == []
    assert told(None, Capabilities()) == []


def test_a_gate_that_went_on_is_no_warning_and_one_that_went_off_is() -> None:
    off = replace(ALL, preemption_policy=False)
    (on_now,), (off_now,) = told(off, ALL), told(ALL, off)
    assert (on_now.reason, on_now.warning) == ("CapabilitiesChanged", False)
    assert on_now.message == "What the cluster can do for groups changed: PodGroupPreemptionPolicy in kube-apiserver is on."
    assert (off_now.reason, off_now.warning, off_now.about) == ("CapabilitiesChanged", True, LEASE)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (replace(ALL, native_groups=False), "the Job controller makes no groups of it"),
        (replace(ALL, scheduler_groups=False), "kube-scheduler ignores them, for feature gate GenericWorkload is off there"),
        (replace(ALL, topology=False), "TopologyAwareWorkloadScheduling is off and WorkloadWithJob is on"),
        (replace(ALL, shared_claims=False), "Jobs keep spec.scheduling.resourceClaims, and the PodGroups"),
    ],
)
def test_a_mixture_that_loses_something_is_named_when_it_comes_and_not_again(now: Capabilities, words: str) -> None:
    (mixture,) = dangerous_mixtures(now, asked_job_controller=True)
    assert words in mixture
    for before, expected in ((None, ["DangerousGates"]), (ALL, ["CapabilitiesChanged", "DangerousGates"])):
        assert [one.reason for one in told(before, now)] == expected
    assert told(now, now) == []
    assert all(len(one.message.encode()) <= 1024 for one in told(ALL, now))


def test_a_job_controller_that_nobody_asked_is_not_said_to_be_idle() -> None:
    assert dangerous_mixtures(replace(ALL, native_groups=False), asked_job_controller=False) == ()


def test_a_scheduler_that_nobody_knows_is_neither_news_nor_a_danger() -> None:
    unknown = replace(ALL, scheduler_groups=None)
    assert told(ALL, unknown) == told(unknown, ALL) == told(None, unknown) == []
    (danger,) = told(unknown, replace(ALL, scheduler_groups=False))
    assert danger.reason == "DangerousGates"
    assert dangerous_mixtures(Capabilities(scheduler_groups=False), asked_job_controller=True) == ()


def test_without_the_native_route_its_sub_features_lose_nothing() -> None:
    assert dangerous_mixtures(Capabilities(group_objects=True), asked_job_controller=True) == ()


def test_groups_that_lose_their_gate_are_a_danger_of_the_change() -> None:
    found = told(Capabilities(group_objects=True), Capabilities())
    assert [one.reason for one in found] == ["CapabilitiesChanged", "DangerousGates"]
    assert "groups that wait start pod by pod" in found[1].message


def test_answers_that_change_back_and_forth_are_several_api_servers() -> None:
    found = told(ALL, ALL, unsettled=True)
    assert "the API servers behind one address have different gates" in found[0].message
