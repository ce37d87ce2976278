"""Who gets no group: in silence where that is somebody's wish, with a warning where pods start one by one for it."""

from __future__ import annotations

import pytest

from tests.admission.attaching import EVERYTHING, admitted, around, bound, denied, group_of, grouped, only
from tests.builders import Built, job
from tests.groups.building import compiled
from webhook.model.groups import (
    GANG_LABEL,
    TOPOLOGY_KEY_ANNOTATION,
    Capabilities,
)
from webhook.model.verdicts import Verdict


def with_scheduling(made: Built | None = None) -> Built:
    return (made or job()).at("spec.scheduling", {"schedulingPolicy": {"gang": {}}})


CRON_JOB = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "uid": "u"}}
JOB_SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set", "uid": "u"}}


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        pytest.param(
            job().at("spec.template.spec.schedulingGroup", {"podGroupName": "a"}), "names a schedulingGroup", id="in a group"
        ),
        pytest.param(with_scheduling(), "has spec.scheduling already", id="with spec.scheduling, where it is acted on"),
        pytest.param(job().owned_by(JOB_SET, controller=True), "controlled by JobSet set", id="another controller's"),
        pytest.param(
            with_scheduling(job().owned_by(JOB_SET, controller=True)), "controlled by JobSet", id="scheduled by its owner"
        ),
        pytest.param(job().label(GANG_LABEL, "false"), "label gangwarden.dev/gang says false", id="of a user who wants none"),
    ],
)
def test_a_workload_is_left_as_it_is_that_is(obj: Built, reason: str) -> None:
    found = admitted(obj, surroundings=around(capabilities=EVERYTHING))
    assert only(found).verdict is Verdict.ALLOW
    assert reason in only(found).message
    assert found.trail.warnings == ()


@pytest.mark.parametrize(
    ("obj", "capabilities", "words"),
    [
        pytest.param(job().label("volcano.sh/queue", "a"), EVERYTHING, "carries marks of Volcano", id="another system's"),
        pytest.param(job(), Capabilities(), "feature gate GenericWorkload", id="in a cluster without groups"),
        pytest.param(job(), Capabilities(), "in kube-apiserver", id="in a cluster without groups, naming the component"),
        pytest.param(with_scheduling(), Capabilities(group_objects=True), "WorkloadWithJob is off", id="with what is dropped"),
        pytest.param(
            job().at("spec.template.spec.schedulingGroup", {"podGroupName": "a"}),
            Capabilities(),
            "names a schedulingGroup, which is dropped, because the API server serves no",
            id="in a group of its own, in a cluster without groups",
        ),
        pytest.param(
            with_scheduling(job().owned_by(CRON_JOB, controller=True)),
            EVERYTHING,
            "does not read on Jobs of a CronJob",
            id="a CronJob's",
        ),
    ],
)
def test_a_workload_whose_pods_start_one_by_one_is_warned_of(obj: Built, capabilities: Capabilities, words: str) -> None:
    found = admitted(obj, surroundings=around(capabilities=capabilities))
    assert only(found).verdict is Verdict.WARN
    (warning,) = found.trail.warnings
    assert warning.startswith("WorkloadPolicy 'gangs' with binding 'everywhere': not grouped: ")
    assert words in warning


def test_a_cron_jobs_job_is_grouped() -> None:
    assert group_of(grouped(job().owned_by(CRON_JOB, controller=True)).object) == "train-0000000000"


def test_to_opt_out_needs_the_policys_leave() -> None:
    found = denied(job().label(GANG_LABEL, "false"), bound(compiled(overrides=())))
    assert "does not allow to opt out" in found.message
    assert only(found).field == f"metadata.labels[{GANG_LABEL}]"


def test_a_topology_without_its_gate_is_refused_and_with_it_kept() -> None:
    asking = job().annotate(TOPOLOGY_KEY_ANNOTATION, "rack")
    assert "TopologyAwareWorkloadScheduling is off" in denied(asking).message
    assert grouped(asking, surroundings=around(capabilities=EVERYTHING))
