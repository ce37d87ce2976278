"""Policies about Pods that want to see them before they exist are asked about the pods of templates; others are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import job
from webhook.admission.templates import pod_requests
from webhook.model.objects import Object
from webhook.model.requests import AdmissionRequest

TEMPLATE: Object = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}


def workload(api_version: str, kind: str, spec: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "team-a"}, "spec": spec}


def asked(obj: Object) -> list[tuple[str, AdmissionRequest]]:
    return list(pod_requests(obj))


@pytest.mark.parametrize(
    "api_version, kind, controller",
    [
        ("batch/v1", "Job", "job-controller"),
        ("apps/v1", "Deployment", "replicaset-controller"),
        ("apps/v1", "ReplicaSet", "replicaset-controller"),
        ("apps/v1", "StatefulSet", "statefulset-controller"),
        ("apps/v1", "DaemonSet", "daemon-set-controller"),
        ("v1", "ReplicationController", "replication-controller"),
    ],
)
def test_the_controller_asks_for_a_pod_of_the_template(api_version: str, kind: str, controller: str) -> None:
    ((path, request),) = asked(workload(api_version, kind, {"template": TEMPLATE}))
    assert (path, request.resource.resource, request.namespace) == ("spec.template", "pods", "team-a")
    assert request.user.username == f"system:serviceaccount:kube-system:{controller}"
    assert request.object is not None
    assert request.object["metadata"]["generateName"] == "x-"
    assert request.object["metadata"]["labels"]["app"] == "x"
    assert request.object["spec"] == TEMPLATE["spec"]


def test_the_pods_of_a_job_know_its_name() -> None:
    ((_, request),) = asked(workload("batch/v1", "Job", {"template": TEMPLATE}))
    assert request.object is not None
    assert request.object["metadata"]["labels"] == {"app": "x", "batch.kubernetes.io/job-name": "x", "job-name": "x"}


def test_the_pods_of_a_cron_job_belong_to_jobs_without_a_name_yet() -> None:
    ((path, request),) = asked(workload("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": TEMPLATE}}}))
    assert path == "spec.jobTemplate.spec.template"
    assert request.object is not None
    assert request.object["metadata"]["labels"] == {"app": "x"}


def test_every_template_of_a_list_has_its_own_place() -> None:
    steps = [{"name": "a"}, {"name": "b", "template": {"spec": {"template": TEMPLATE}}}]
    found = asked(workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": steps}))
    assert [path for path, _ in found] == ["spec.replicatedJobs[1].template.spec.template"]


@pytest.mark.parametrize("spec", [None, {}, {"template": None}, {"template": "x"}, {"template": {}}])
def test_what_is_no_template_makes_no_error(spec: Any) -> None:
    assert [request.object for _, request in asked(workload("batch/v1", "Job", spec)) if "spec" in (request.object or {})] == []


def test_pods_and_unknown_kinds_have_no_templates() -> None:
    assert asked(workload("v1", "Pod", {"template": TEMPLATE})) == []
    assert asked(workload("example.com/v1", "Job", {"template": TEMPLATE})) == []
    assert len(asked(job("x").build())) == 1
