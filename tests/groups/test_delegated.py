"""Jobs that leave their group to their owner, and what is said where the owner has none for them."""

from __future__ import annotations

import pytest

from tests.builders import Built, job, pod_group
from webhook.groups import is_delegated, tell_delegated
from webhook.groups.claims import DELEGATED_ANNOTATION
from webhook.model.objects import Object
from webhook.model.snapshot import snapshot_of

SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set", "uid": "u", "namespace": "team-a"}}
CHILD = job("set-worker-0").annotate(DELEGATED_ANNOTATION, "workers").owned_by(SET, controller=True).stored()
SIBLING = job("set-leader-0").annotate(DELEGATED_ANNOTATION, "workers").owned_by(SET, controller=True).stored()


def workload(*templates: str, owner: str = "set") -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "declared", "namespace": "team-a"},
        "spec": {
            "controllerRef": {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": owner},
            "podGroupTemplates": [{"name": name} for name in templates],
        },
    }


def group_of(owner: Built) -> Object:
    made = pod_group("made").owned_by(owner.build(), controller=True)
    return made.at("spec.workloadRef", {"workloadName": "declared", "templateName": "workers"}).build()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (CHILD, True),
        (CHILD.at("spec.template.spec.schedulingGroup", {"podGroupName": "of-the-set"}), False),
        (job().annotate(DELEGATED_ANNOTATION, "workers"), False),
        (job().owned_by(SET, controller=True), False),
    ],
    ids=["a child with the annotation", "one whose pods are in a group", "one of nobody", "one without"],
)
def test_a_job_leaves_its_group_to_its_owner(given: Built, expected: object) -> None:
    assert is_delegated(given.build()) is expected


@pytest.mark.parametrize(
    ("around", "words"),
    [
        ((), "there is no Workload whose spec.controllerRef is JobSet set"),
        ((workload("workers", owner="other"),), "there is no Workload whose spec.controllerRef is JobSet set"),
        ((workload("leader", "driver"),), "has no template 'workers', only 'driver', 'leader'"),
        ((workload("workers"),), "came too late, or feature gate WorkloadWithJob is off in kube-controller-manager"),
        ((workload("workers"), group_of(SIBLING)), "the PodGroup of that template is Job set-leader-0's"),
        ((workload("workers"), group_of(CHILD)), "came too late"),
    ],
    ids=["no Workload", "another's Workload", "no such template", "too late", "a sibling has it", "its own is no sibling's"],
)
def test_what_is_missing_is_said(around: tuple[Object, ...], words: str) -> None:
    told = tell_delegated(CHILD.build(), snapshot_of(around))
    assert told.reason == "DelegatedGroupMissing"
    assert words in told.message
    assert "Its annotation scheduling.k8s.io/group-template-name leaves its group to JobSet set" in told.message
