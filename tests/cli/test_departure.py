"""``webhooks delete`` and ``webhooks probe``: what goes, in which order, and how a call of the webhook is seen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.builders import Built, job
from tests.cli.conftest import Gangwarden
from tests.cluster.fake_api import FakeApi, Json
from tests.cluster.waiting import until
from tests.controller.test_upkeep import attached
from webhook.cli import looking
from webhook.cli.calling import look_for_a_call
from webhook.cli.departure import delete_by_key, end, release, settle, survey, unbind, withdraw
from webhook.cluster import Api
from webhook.errors import ClusterError
from webhook.model.objects import ObjectKey
from webhook.policies import bundled_policies

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
DEPLOYMENT = "/apis/apps/v1/namespaces/gw/deployments/webhook"
WEBHOOK = ObjectKey("apps", "Deployment", "gw", "webhook")
SERVED = {"resources": [{"name": "podgroups"}, {"name": "workloads"}]}


async def put(fake: FakeApi, path: str, kind: str, version: str = "admissionregistration.k8s.io/v1", **more: Any) -> Json:
    return await fake.put(path, {"apiVersion": version, "kind": kind, "metadata": {"name": path.rpartition("/")[2]}, **more})


async def configured(fake: FakeApi) -> None:
    await put(fake, f"{ADMISSION}/mutatingwebhookconfigurations/gangwarden", "MutatingWebhookConfiguration")
    await put(fake, f"{ADMISSION}/validatingwebhookconfigurations/gangwarden", "ValidatingWebhookConfiguration")


async def replicas(fake: FakeApi, *pods: str) -> None:
    deployment = await put(
        fake, DEPLOYMENT, "Deployment", "apps/v1", spec={"replicas": 2, "selector": {"matchLabels": {"a": "b"}}}
    )
    deployment["metadata"]["namespace"] = "gw"
    for pod in pods:
        stored = await put(fake, f"/api/v1/namespaces/gw/pods/{pod}", "Pod", "v1")
        stored["metadata"]["labels"] = {"a": "b"}


async def test_bindings_go_by_name_and_what_is_not_there_is_no_error(fake: FakeApi, api: Api) -> None:
    await put(fake, f"{ADMISSION}/validatingadmissionpolicybindings/stamped", "ValidatingAdmissionPolicyBinding")
    (line,) = await unbind(api, ["stamped", "unknown"])
    assert line.endswith("ValidatingAdmissionPolicyBinding stamped deleted")
    assert await unbind(api, ["stamped"]) == []


async def test_replicas_end_before_the_configurations_are_deleted_for_the_last_time(fake: FakeApi, api: Api) -> None:
    await configured(fake)
    await replicas(fake, "one")
    leaving = asyncio.create_task(withdraw(api, WEBHOOK, patience_seconds=20.0))
    await until(lambda: bool(fake.seen("GET", "/pods")))
    await configured(fake)  # a replica was in the middle of writing them
    await fake.remove("/api/v1/namespaces/gw/pods/one")
    assert len(await leaving) == 4
    assert fake.objects[DEPLOYMENT]["spec"]["replicas"] == 0
    assert [path for path in fake.objects if path.endswith("gangwarden")] == []


async def test_a_replica_that_does_not_end_is_told_and_the_configurations_are_gone_all_the_same(fake: FakeApi, api: Api) -> None:
    await configured(fake)
    await replicas(fake, "one")
    with pytest.raises(ClusterError, match="pods of it have not ended after"):
        await withdraw(api, WEBHOOK, patience_seconds=0.1)
    assert [path for path in fake.objects if path.endswith("gangwarden")] == []


async def test_without_a_deployment_only_the_configurations_go(fake: FakeApi, api: Api) -> None:
    await configured(fake)
    assert len(await withdraw(api, None, patience_seconds=1.0)) == 2
    assert fake.seen("PATCH") == []


async def stored(fake: FakeApi, given: Built) -> None:
    fake.documents["/apis/scheduling.k8s.io/v1beta1"] = SERVED
    for path in ("/apis/batch/v1/namespaces/default/jobs", "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"):
        fake.documents.pop(path, None)
    obj = given.build()
    await fake.put(f"/apis/batch/v1/namespaces/{obj['metadata']['namespace']}/jobs/{obj['metadata']['name']}", obj)


async def test_a_stamped_job_without_its_group_gets_it_once(fake: FakeApi, api: Api) -> None:
    await stored(fake, attached())
    told = await settle(api, await survey(api, [bundled_policies()], namespaces=()))
    assert sorted(line.split()[0] for line in told if line.endswith("created")) == ["PodGroup", "Workload"]
    assert any("/podgroups/" in path for path in fake.objects)
    assert await settle(api, await survey(api, [bundled_policies()], namespaces=())) == []


async def test_what_cannot_be_read_is_an_error_and_not_taken_for_nothing(fake: FakeApi, api: Api) -> None:
    await stored(fake, attached())
    fake.forbidden.append("/podgroups")
    with pytest.raises(ClusterError, match="you may not"):
        await survey(api, [bundled_policies()], namespaces=())


async def test_a_deployment_ends_and_what_only_it_used_goes_after_it(fake: FakeApi, api: Api) -> None:
    await replicas(fake)
    await end(api, WEBHOOK, patience_seconds=5.0)
    await end(api, ObjectKey("apps", "Deployment", "gw", "unknown"), patience_seconds=0.0)
    await put(fake, "/api/v1/namespaces/gw/secrets/certs", "Secret", "v1")
    keys = [ObjectKey("", "Secret", "gw", "certs"), ObjectKey("coordination.k8s.io", "Lease", "gw", "leader")]
    assert await delete_by_key(api, keys) == ["Secret gw/certs deleted"]
    assert fake.objects[DEPLOYMENT]["spec"]["replicas"] == 0


def suspended_by(manager: str, name: str) -> Built:
    held = [{"manager": manager, "fieldsV1": {"f:spec": {"f:suspend": {}}}}]
    return attached(job(name)).at("metadata.name", name).at("spec.suspend", True).at("metadata.managedFields", held)


async def test_what_a_restart_left_suspended_goes_on_and_what_somebody_else_suspended_stays(fake: FakeApi, api: Api) -> None:
    await stored(fake, suspended_by("gangwarden-restart", "ours"))
    await stored(fake, suspended_by("kubectl-edit", "theirs"))
    told = await release(api, await survey(api, [bundled_policies()], namespaces=()))
    assert told == ["Job team-a/ours resumed"]
    jobs = {path.rpartition("/")[2]: obj for path, obj in fake.objects.items() if "/jobs/" in path}
    assert {name: obj["spec"]["suspend"] for name, obj in jobs.items()} == {"ours": False, "theirs": True}


def test_a_deployment_is_named_with_its_namespace(gangwarden: Gangwarden) -> None:
    result = gangwarden("webhooks", "delete", "--deployment", "webhook")
    assert (result.exit_code, "must be NAMESPACE/NAME" in result.stderr) == (2, True)


def stamping(body: Json) -> Json:
    template = body["spec"]["template"]
    return body | {
        "spec": body["spec"] | {"template": template | {"spec": template["spec"] | {"schedulingGroup": {"podGroupName": "a"}}}}
    }


def grouped(body: Json) -> Json:
    return stamping(body) if body["kind"] == "Job" else body


async def test_a_job_that_comes_back_with_its_group_shows_a_call(fake: FakeApi, api: Api) -> None:
    fake.admit = stamping
    assert "the webhook is called" in await look_for_a_call(api, namespace="default", timeout_seconds=1.0)
    (request,) = fake.seen("POST")
    assert (request.query["dryRun"], request.body["metadata"]["labels"]) == ("All", {"gangwarden.dev/gang": "true"})


async def test_it_is_tried_until_the_webhook_answers(fake: FakeApi, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_AGAIN_SECONDS", 0.01)
    fake.admit = stamping
    fake.failures = [(500, {"message": 'failed calling webhook "fail.validate.gangwarden.dev": refused'})] * 2
    assert "the webhook is called" in await look_for_a_call(api, namespace="default", timeout_seconds=5.0)


async def test_a_refusal_by_the_webhook_is_a_call_and_one_by_a_native_policy_is_none(fake: FakeApi, api: Api) -> None:
    fake.failures = [(400, {"message": 'admission webhook "fail.validate.gangwarden.dev" denied the request: too large'})]
    assert "refused the Job" in await look_for_a_call(api, namespace="default", timeout_seconds=1.0)
    fake.failures = [(422, {"message": "ValidatingAdmissionPolicy 'stamped-when-away.gangwarden.dev' denied request: no"})]
    with pytest.raises(ClusterError, match="stamped-when-away"):
        await look_for_a_call(api, namespace="default", timeout_seconds=0.0)


async def test_a_webhook_that_is_not_asked_is_told(fake: FakeApi, api: Api) -> None:
    fake.documents["/apis/scheduling.k8s.io/v1beta1"] = SERVED
    fake.admit = lambda body: body if body["metadata"]["generateName"] != "gangwarden-probe-" else grouped(body)
    with pytest.raises(ClusterError, match="the webhook was not asked"):
        await look_for_a_call(api, namespace="default", timeout_seconds=0.0)


async def test_without_podgroups_a_call_cannot_be_seen_and_that_is_said(fake: FakeApi, api: Api) -> None:
    assert "GenericWorkload" in await look_for_a_call(api, namespace="default", timeout_seconds=1.0)
