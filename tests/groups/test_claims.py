"""Whose a workload is: every mark of another system, every owner, every word of a user's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import Built, job
from tests.rules.building import config_map
from webhook.groups import foreign_system, has_native_scheduling, is_cron_jobs, reason_to_leave_alone

PATHS = ("spec.template",)
TEMPLATE = "spec.template.metadata"


def owner(api_version: str, kind: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "its-owner", "uid": "u"}}


def owned(api_version: str, kind: str, *, controller: bool = True) -> Built:
    return job().owned_by(owner(api_version, kind), controller=controller)


def named(group: Any) -> Built:
    return job().at("spec.template.spec.schedulingGroup", group)


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        pytest.param(owned("jobset.x-k8s.io/v1alpha2", "JobSet"), "it is controlled by JobSet its-owner", id="a JobSet's"),
        pytest.param(owned("example.com/v1", "CronJob"), "it is controlled by CronJob", id="another API's CronJob's"),
        pytest.param(owned("batch/v1", "Job"), "it is controlled by Job", id="a Job's"),
        pytest.param(
            job().at("spec.managedBy", "kueue.x-k8s.io/multikueue"), "spec.managedBy gives it to kueue", id="MultiKueue's"
        ),
        pytest.param(named({"podGroupName": "mine"}), "names a schedulingGroup already", id="in a group of the user's"),
        pytest.param(named({}), "names a schedulingGroup already", id="in a group without a name, which the API refuses"),
        pytest.param(named("odd"), "names a schedulingGroup already", id="in something odd, which the API refuses"),
    ],
)
def test_a_workload_is_left_alone_that_is(obj: Built, reason: str) -> None:
    assert reason in reason_to_leave_alone(obj.build(), PATHS)


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(job(), id="nobody's"),
        pytest.param(owned("batch/v1", "CronJob"), id="a CronJob's"),
        pytest.param(owned("batch/v2alpha1", "CronJob"), id="a CronJob's of any version"),
        pytest.param(owned("example.com/v1", "Study", controller=False), id="owned, but not controlled"),
        pytest.param(job().at("spec.managedBy", "kubernetes.io/job-controller"), id="the Job controller's by name"),
        pytest.param(job().at("spec.managedBy", None), id="managed by null"),
        pytest.param(named(None), id="in a group of null"),
        pytest.param(job().at("metadata.labels", None).at("metadata.ownerReferences", None), id="full of nulls"),
    ],
)
def test_a_workload_may_be_grouped_that_is(obj: Built) -> None:
    assert reason_to_leave_alone(obj.build(), PATHS) == ""
    assert foreign_system(obj.build(), PATHS) == ""


def test_a_group_that_came_with_a_copied_record_is_nobodys_wish() -> None:
    copy, mixed = named({"podGroupName": "old"}).build(), named({"podGroupName": "mine"}).build()
    assert reason_to_leave_alone(copy, PATHS, stale=frozenset({"old"})) == ""
    assert reason_to_leave_alone(mixed, PATHS, stale=frozenset({"old"})) != ""


def test_a_copied_record_does_not_hide_whose_the_workload_is() -> None:
    copy = owned("jobset.x-k8s.io/v1alpha2", "JobSet").at("spec.template.spec.schedulingGroup", {"podGroupName": "old"})
    assert "controlled by JobSet" in reason_to_leave_alone(copy.build(), PATHS, stale=frozenset({"old"}))


@pytest.mark.parametrize(("value", "expected"), [({}, True), ({"schedulingPolicy": {"basic": {}}}, True), (None, False)])
def test_a_user_asks_the_job_controller_by(value: Any, expected: bool) -> None:
    assert has_native_scheduling(job().at("spec.scheduling", value).build()) is expected


def test_only_a_controlling_cron_job_makes_a_cron_jobs_job() -> None:
    assert is_cron_jobs(owned("batch/v1", "CronJob").build())
    assert not is_cron_jobs(owned("batch/v1", "CronJob", controller=False).build())
    assert not is_cron_jobs(job().build())


@pytest.mark.parametrize(
    ("scheduler", "system"),
    [
        ("volcano", "Volcano"),
        ("yunikorn", "YuniKorn"),
        ("kai-scheduler", "KAI Scheduler"),
        ("koord-scheduler", "Koordinator"),
        ("scheduler-plugins-scheduler", "coscheduling"),
        ("default-scheduler", ""),
        ("my-own", ""),
    ],
)
def test_a_scheduler_tells_its_system(scheduler: str, system: str) -> None:
    assert foreign_system(job().at("spec.template.spec.schedulerName", scheduler).build(), PATHS) == system


MARKS = [
    ("scheduling.volcano.sh/queue-name", "Volcano"),
    ("volcano.sh/job-name", "Volcano"),
    ("scheduling.k8s.io/group-name", "Volcano"),
    ("yunikorn.apache.org/task-groups", "YuniKorn"),
    ("scheduling.x-k8s.io/pod-group", "coscheduling"),
    ("pod-group.scheduling.sigs.k8s.io/name", "coscheduling"),
    ("kai.scheduler/queue", "KAI Scheduler"),
    ("gang.scheduling.koordinator.sh/min-available", "Koordinator"),
    ("quota.scheduling.koordinator.sh/name", "Koordinator"),
]


@pytest.mark.parametrize(("key", "system"), MARKS)
@pytest.mark.parametrize("place", ["metadata.labels", "metadata.annotations", f"{TEMPLATE}.labels", f"{TEMPLATE}.annotations"])
def test_a_mark_tells_its_system_wherever_it_stands(place: str, key: str, system: str) -> None:
    assert foreign_system(job().at(place, {key: "x"}).build(), PATHS) == system


@pytest.mark.parametrize(
    "key",
    ["queue", "applicationId", "kueue.x-k8s.io/queue-name", "not-volcano.sh/x", "scheduling.k8s.io/group-name-2", "volcano.sh"],
)
def test_what_proves_nothing_is_no_mark(key: str) -> None:
    assert foreign_system(job().label(key, "x").build(), PATHS) == ""


def test_an_object_without_a_template_is_nobodys() -> None:
    assert foreign_system(config_map("a"), PATHS) == ""
    assert foreign_system(job().at("spec.template", "odd").build(), PATHS) == ""
