"""The verbs: what is sent, and what a refusal becomes."""

from __future__ import annotations

import pytest

from tests.cluster.fake_api import FakeApi, Json
from webhook.cluster import Api
from webhook.errors import ClusterError
from webhook.model.objects import Kind, ObjectKey, Resource

JOBS = "/apis/batch/v1/namespaces/a/jobs"
KEY = ObjectKey("batch", "Job", "a", "one")
JOB: Json = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "a", "name": "one"}}


async def test_an_object_is_created_read_patched_and_deleted(fake: FakeApi, api: Api) -> None:
    created = await api.create(JOB | {"spec": {"parallelism": 4}})
    patched = await api.merge_patch(KEY, {"spec": {"suspend": True}})
    assert patched["spec"] == {"parallelism": 4, "suspend": True}
    await api.delete(KEY, uid=created["metadata"]["uid"])
    assert await api.find(KEY) is None


async def test_server_side_apply_names_the_manager_and_forces(fake: FakeApi, api: Api) -> None:
    await api.server_side_apply(JOB, manager="gangwarden")
    (request,) = fake.seen("PATCH")
    assert (request.path, request.query) == (f"{JOBS}/one", {"fieldManager": "gangwarden", "force": "true"})
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"


async def test_a_dry_run_says_so(fake: FakeApi, api: Api) -> None:
    await api.create(JOB, dry_run=True)
    assert fake.seen("POST")[0].query == {"dryRun": "All"}


async def test_a_status_is_patched_by_its_subresource(fake: FakeApi, api: Api) -> None:
    await api.create(JOB)
    await api.patch_status(KEY, {"conditions": []})
    assert (fake.seen("PATCH")[0].path, fake.seen("PATCH")[0].body) == (f"{JOBS}/one/status", {"status": {"conditions": []}})


async def test_a_json_patch_is_sent_as_one(fake: FakeApi, api: Api) -> None:
    fake.failures = [(422, {"reason": "Invalid", "message": "the test failed"})]
    with pytest.raises(ClusterError, match="422 Invalid: the test failed"):
        await api.json_patch(KEY, [{"op": "test", "path": "/metadata/uid", "value": "x"}])
    assert fake.seen("PATCH")[0].headers["Content-Type"] == "application/json-patch+json"


async def test_an_eviction_carries_the_uid(fake: FakeApi, api: Api) -> None:
    await fake.put(
        "/api/v1/namespaces/a/pods/p", {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": "p"}}
    )
    await api.evict(ObjectKey("", "Pod", "a", "p"), uid="u")
    assert fake.seen("POST", "eviction")[0].body["deleteOptions"] == {"preconditions": {"uid": "u"}}


async def test_a_deletion_of_another_object_of_that_name_is_refused(fake: FakeApi, api: Api) -> None:
    await api.create(JOB)
    with pytest.raises(ClusterError) as caught:
        await api.delete(KEY, uid="somebody else's")
    assert (caught.value.status, caught.value.verb, caught.value.key) == (409, "delete", "Job a/one")


async def test_a_refusal_says_verb_key_status_reason_and_when_to_come_back(fake: FakeApi, api: Api) -> None:
    details = {"retryAfterSeconds": 3}
    fake.failures = [(429, {"reason": "TooManyRequests", "message": "slow down", "details": details})]
    with pytest.raises(ClusterError) as caught:
        await api.get(KEY)
    error = caught.value
    assert str(error) == "get Job a/one: 429 TooManyRequests: slow down"
    assert (error.status, error.reason, error.retry_after, error.is_unreachable) == (429, "TooManyRequests", 3.0, False)


async def test_a_server_that_hangs_is_a_timeout(fake: FakeApi, api: Api) -> None:
    fake.hang()
    with pytest.raises(ClusterError, match="did not answer in time") as caught:
        await api.get(KEY, timeout_seconds=0.05)
    assert (caught.value.reason, caught.value.is_unreachable) == ("Timeout", True)


async def test_a_list_comes_in_pages_and_each_item_knows_its_kind(fake: FakeApi, api: Api) -> None:
    for name in "12345":
        await fake.put(f"{JOBS}/{name}", JOB | {"metadata": {"namespace": "a", "name": name}})
    found = await api.list(Kind("batch", "v1", "Job"), namespace="a")
    assert [(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in found] == [
        ("batch/v1", "Job", n) for n in "12345"
    ]
    assert len(fake.seen("GET", "jobs")) == 3


async def test_a_change_is_tried_again_when_somebody_wrote_in_between(fake: FakeApi, api: Api) -> None:
    await api.create(JOB)
    seen: list[str] = []

    def edit(live: Json) -> Json:
        seen.append(live["metadata"]["resourceVersion"])
        if len(seen) == 1:
            fake.failures = [(409, {"reason": "Conflict"})]
        return live | {"spec": {"suspend": True}}

    changed = await api.change(KEY, edit)
    assert changed is not None
    assert len(seen) == 2


async def test_a_change_that_is_none_writes_nothing(fake: FakeApi, api: Api) -> None:
    await api.create(JOB)
    assert await api.change(KEY, lambda live: None) is None
    assert fake.seen("PUT") == []


async def test_a_custom_kind_is_found_by_discovery_once(fake: FakeApi, api: Api) -> None:
    fake.documents["/apis/jobset.x-k8s.io"] = {"preferredVersion": {"version": "v1alpha2"}}
    resources = [
        {"name": "jobsets", "kind": "JobSet", "namespaced": True},
        {"name": "jobsets/status", "kind": "JobSet", "namespaced": True},
    ]
    fake.documents["/apis/jobset.x-k8s.io/v1alpha2"] = {"resources": resources}
    for _ in range(2):
        assert await api.find(ObjectKey("jobset.x-k8s.io", "JobSet", "a", "js")) is None
    paths = [request.path for request in fake.requests if "jobset" in request.path]
    object_path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/a/jobsets/js"
    assert paths == ["/apis/jobset.x-k8s.io", "/apis/jobset.x-k8s.io/v1alpha2", object_path, object_path]


@pytest.mark.parametrize("version", ["*", "v1alpha2", ""])
async def test_the_kind_of_a_resource_is_found_by_discovery_once(fake: FakeApi, api: Api, version: str) -> None:
    fake.documents["/apis/jobset.x-k8s.io"] = {"preferredVersion": {"version": "v1alpha2"}}
    fake.documents["/apis/jobset.x-k8s.io/v1alpha2"] = {
        "resources": [
            {"name": "jobsets/status", "kind": "JobSet", "namespaced": True},
            {"name": "jobsets", "kind": "JobSet", "namespaced": True},
        ]
    }
    for _ in range(2):
        found = await api.mapper.kind_of(Resource("jobset.x-k8s.io", version, "jobsets"))
        assert found == Kind("jobset.x-k8s.io", "v1alpha2", "JobSet")
    assert len([request for request in fake.requests if request.path.endswith("/v1alpha2")]) == 1


async def test_the_kind_of_a_resource_in_use_needs_no_discovery(fake: FakeApi, api: Api) -> None:
    assert await api.mapper.kind_of(Resource("batch", "v1", "jobs")) == Kind("batch", "v1", "Job")
    assert [request.path for request in fake.requests if request.path.startswith("/apis")] == []


@pytest.mark.parametrize("group", ["served.example", "missing.example"])
async def test_a_resource_that_is_not_served_is_not_found(fake: FakeApi, api: Api, group: str) -> None:
    fake.documents["/apis/served.example"] = {"preferredVersion": {"version": "v1"}}
    fake.documents["/apis/served.example/v1"] = {"resources": []}
    with pytest.raises(ClusterError) as caught:
        await api.mapper.kind_of(Resource(group, "*", "things"))
    assert caught.value.status == 404


async def test_a_kind_that_its_group_does_not_have_is_not_found(fake: FakeApi, api: Api) -> None:
    fake.documents["/apis/batch/v1"] = {"resources": []}
    with pytest.raises(ClusterError, match="does not serve batch/v1 Task") as caught:
        await api.list(Kind("batch", "v1", "Task"))
    assert caught.value.status == 404


async def test_names_are_quoted_into_paths(fake: FakeApi, api: Api) -> None:
    assert await api.find(ObjectKey("", "Pod", "a", "../../secrets?x=1")) is None
    assert fake.requests[-1].path.startswith("/api/v1/namespaces/a/pods/..")
    assert fake.requests[-1].query == {}
