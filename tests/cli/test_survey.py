"""What ``explain`` reads of a cluster, and what it does without; and who is asked for the scheduler's word on a victim."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.fake_api import FakeApi, Json
from webhook.cli.survey import Survey, served_kind
from webhook.cli.witness import PreemptionWitness
from webhook.cluster import Api
from webhook.errors import ClusterError
from webhook.model.objects import Kind, ObjectKey

JOB = Kind("batch", "v1", "Job")
TAKER = "11111111-2222-3333-4444-555555555555"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2"


async def put(fake: FakeApi, path: str, kind: str, version: str = "v1", **more: Any) -> Json:
    parts = path.split("/")
    meta = {"name": parts[-1]} | ({"namespace": parts[parts.index("namespaces") + 1]} if "namespaces" in parts[:-2] else {})
    return await fake.put(path, {"apiVersion": version, "kind": kind, "metadata": meta | more.pop("metadata", {}), **more})


async def test_a_namespace_is_read_with_the_owners_of_what_is_in_it(fake: FakeApi, api: Api) -> None:
    fake.documents[JOBSETS] = {"resources": [{"name": "jobsets", "kind": "JobSet", "namespaced": True}]}
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "tree", "uid": "u"}
    await put(fake, "/apis/batch/v1/namespaces/a/jobs/train", "Job", "batch/v1", metadata={"ownerReferences": [owner]})
    await put(fake, f"{JOBSETS}/namespaces/a/jobsets/tree", "JobSet", "jobset.x-k8s.io/v1alpha2")
    await put(fake, "/api/v1/nodes/n0", "Node")
    snapshot = await Survey(api, "a").take(JOB)
    for key in (ObjectKey("batch", "Job", "a", "train"), ObjectKey("jobset.x-k8s.io", "JobSet", "a", "tree")):
        assert snapshot.get(key) is not None
    assert snapshot.get(ObjectKey("", "Node", "", "n0")) is not None
    assert [one for one in fake.seen("GET", "/pods") if "/namespaces/a/" not in one.path] == []


async def test_what_may_not_be_read_is_told_and_done_without(fake: FakeApi, api: Api) -> None:
    await put(fake, "/apis/batch/v1/namespaces/a/jobs/train", "Job", "batch/v1")
    fake.forbidden.append("/api/v1/nodes")
    survey = Survey(api, "a")
    snapshot = await survey.take(JOB)
    assert snapshot.get(ObjectKey("batch", "Job", "a", "train")) is not None
    assert not snapshot.knows("", "Node")
    (note,) = survey.notes
    assert note.startswith("warning: Nodes may not be read, so what they would tell is missing:")


async def test_an_api_server_that_fails_is_an_error(fake: FakeApi, api: Api) -> None:
    fake.failures = [(500, {"message": "etcd is away"})] * 50
    with pytest.raises(ClusterError, match="etcd is away"):
        await Survey(api, "a").take(JOB)


async def test_a_preempting_group_is_looked_for_in_all_namespaces(fake: FakeApi, api: Api) -> None:
    path = "/apis/scheduling.k8s.io/v1beta1/namespaces/b/podgroups/serving"
    await put(fake, path, "PodGroup", "scheduling.k8s.io/v1beta1", metadata={"uid": TAKER})
    assert await Survey(api, "a").names_of([(TAKER, "cluster")]) == {TAKER: "PodGroup b/serving"}


async def test_a_preempting_pod_is_looked_for_on_the_node_that_the_event_names(fake: FakeApi, api: Api) -> None:
    await put(fake, "/api/v1/namespaces/b/pods/web", "Pod", metadata={"uid": TAKER})
    assert await Survey(api, "a").names_of([(TAKER, "n3"), ("gone", "n3")]) == {TAKER: "Pod b/web"}
    (asked,) = fake.seen("GET", "/pods")
    assert asked.query["fieldSelector"] == "spec.nodeName=n3"


async def test_who_may_not_read_other_namespaces_is_told_that(fake: FakeApi, api: Api) -> None:
    fake.forbidden.append("/api/v1/pods")
    survey = Survey(api, "a")
    assert await survey.names_of([(TAKER, "n3")]) == {}
    assert survey.notes[0].startswith("note: the preemptor was not looked for among Pods of other namespaces:")


@pytest.mark.parametrize("word", ["jobset", "jobsets"])
async def test_a_kind_that_is_written_in_lower_case_is_found_by_its_resource(word: str, fake: FakeApi, api: Api) -> None:
    fake.documents["/apis/jobset.x-k8s.io"] = {"preferredVersion": {"version": "v1alpha2"}}
    fake.documents[JOBSETS] = {"resources": [{"name": "jobsets", "kind": "JobSet", "namespaced": True}]}
    assert await served_kind(api, Kind("jobset.x-k8s.io", "", word)) == Kind("jobset.x-k8s.io", "v1alpha2", "JobSet")
    assert await served_kind(api, JOB) == JOB


async def test_the_scheduler_s_event_says_who_preempted_a_pod(fake: FakeApi, api: Api) -> None:
    await put(fake, "/api/v1/namespaces/a/events/e", "Event", message=f"Preempted by podgroup {TAKER} on node cluster")
    assert await PreemptionWitness(api)("a", "victim") == TAKER
    (asked,) = fake.seen("GET", "/events")
    assert asked.query["fieldSelector"] == "involvedObject.uid=victim,reason=Preempted"


async def test_without_an_event_or_the_permission_to_read_it_nobody_is_named(fake: FakeApi, api: Api) -> None:
    assert await PreemptionWitness(api)("a", "victim") == ""
    fake.forbidden.append("/api/v1/namespaces/a/events")
    assert await PreemptionWitness(api)("a", "victim") == ""
