"""The native route: when it is taken, and what a Job says on it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import Built, job, pod_group
from tests.groups.building import group, workload_policy
from webhook.groups import GroupProblem, check_native, choose_route, is_native, native_group, planned_by_kubernetes, schedule
from webhook.model.groups import Capabilities, GroupPlan, PlannedGroup, Route
from webhook.model.objects import Object
from webhook.model.snapshot import snapshot_of

SERVED = Capabilities(group_objects=True, native_jobs=True)
SEEN = Capabilities(group_objects=True, native_jobs=True, native_groups=True)
CRON_JOB = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "uid": "c"}}


def route(attach: str, obj: Built, capabilities: Capabilities, *groups: Any) -> Route:
    return choose_route(workload_policy(*groups, attach=attach), obj.build(), capabilities)


@pytest.mark.parametrize(
    ("attach", "capabilities", "expected"),
    [
        ("Managed", SEEN, Route.MANAGED),
        ("Auto", SEEN, Route.NATIVE),
        ("Auto", SERVED, Route.MANAGED),
        ("Auto", Capabilities(group_objects=True, native_groups=True), Route.MANAGED),
        ("Native", SEEN, Route.NATIVE),
        ("Native", SERVED, Route.NATIVE),
    ],
)
def test_auto_goes_native_only_where_it_was_seen_to_work(attach: str, capabilities: Capabilities, expected: Route) -> None:
    assert route(attach, job(), capabilities) is expected


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        pytest.param(job("a" * 58), "is no DNS label", id="a name too long for the group's"),
        pytest.param(job("train.v2"), "is no DNS label", id="a name with a dot"),
        pytest.param(
            job().at("metadata", {"generateName": "a" * 53, "namespace": "team-a"}), "is no DNS label", id="a generated name"
        ),
        pytest.param(
            job().at("spec.template.spec.priorityClassName", "system-node-critical"),
            "priority class system-node-critical",
            id="a priority that no group may have",
        ),
    ],
)
def test_what_the_job_controller_cannot_carry_is_managed_or_refused(obj: Built, words: str) -> None:
    assert route("Auto", obj, SEEN) is Route.MANAGED
    with pytest.raises(GroupProblem, match=words):
        route("Native", obj, SEEN)


def test_a_generated_name_that_fits_may_be_native() -> None:
    assert route("Native", job().at("metadata", {"generateName": "a" * 52, "namespace": "team-a"}), SEEN) is Route.NATIVE


def test_jobs_of_a_cron_job_are_managed_whatever_the_policy_says() -> None:
    assert route("Native", job().owned_by(CRON_JOB, controller=True), SEEN) is Route.MANAGED


def test_native_is_refused_where_the_api_server_drops_the_field() -> None:
    with pytest.raises(GroupProblem, match="WorkloadWithJob is off there"):
        route("Native", job(), Capabilities(group_objects=True))


def test_a_group_without_gang_that_is_disrupted_as_a_whole_is_managed() -> None:
    assert route("Auto", job(), SEEN, group(gang=False)) is Route.MANAGED


def planned(**parts: Any) -> GroupPlan:
    default: dict[str, Any] = {"template": "workers", "pod_group": "", "count": 4, "min_count": 4}
    return GroupPlan(policy="gangs", binding="all", route=Route.NATIVE, groups=(PlannedGroup(**(default | parts)),))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, {"schedulingPolicy": {"gang": {}}, "disruptionMode": {"all": {}}}),
        ({"min_count": 3}, {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": {"all": {}}}),
        ({"min_count": None, "disrupt_all": False}, {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"single": {}}}),
        (
            {"topology_key": "rack", "resource_claims": ({"name": "gpus", "resourceClaimTemplateName": "each"},)},
            {
                "schedulingPolicy": {"gang": {}},
                "disruptionMode": {"all": {}},
                "schedulingConstraints": {"topology": [{"key": "rack"}]},
                "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "each"}],
            },
        ),
    ],
    ids=["a gang of every pod follows parallelism", "a smaller quorum is said", "no gang", "topology and claims"],
)
def test_a_job_says_what_it_wants(parts: dict[str, Any], expected: Object) -> None:
    made = schedule(job().parallelism(4).build(), planned(**parts))
    assert made["spec"]["scheduling"] == expected
    assert "schedulingGroup" not in made["spec"]["template"]["spec"]
    assert is_native(made)


def test_a_job_with_its_users_own_wish_is_not_ours() -> None:
    assert not is_native(job().at("spec.scheduling", {}).build())
    assert not is_native(job().build())


def test_a_quorum_above_parallelism_is_refused() -> None:
    with pytest.raises(GroupProblem, match=r"minCount 5 is more than spec\.parallelism 4"):
        check_native(job().parallelism(4).build(), planned(min_count=5).groups)


def test_the_group_is_known_by_its_controller_and_not_by_its_name() -> None:
    stored = job().parallelism(4).stored().build()
    theirs = pod_group("train-123-train-pgt-0-9", 3, owner=stored).build()
    (reference,) = theirs["metadata"]["ownerReferences"]
    ours = {
        **theirs,
        "metadata": {**theirs["metadata"], "name": "other", "ownerReferences": [{**reference, "controller": False}]},
    }
    native = {**theirs, "metadata": {**theirs["metadata"], "ownerReferences": [{**reference, "controller": True}]}}
    assert native_group(stored, snapshot_of([ours])) is None
    assert native_group(stored, snapshot_of([ours, native])) == native
    found = planned_by_kubernetes(native, stored)
    assert (found.pod_group, found.count, found.min_count) == ("train-123-train-pgt-0-9", 4, 3)
