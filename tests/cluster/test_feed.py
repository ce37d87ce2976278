"""The snapshot feed: immutable snapshots, listeners that find what they are told of, kinds that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.conftest import QUICK
from tests.cluster.fake_api import FakeApi, Json
from tests.cluster.waiting import until
from webhook.cluster import Api, Change, SnapshotFeed, connect, fetch_snapshot
from webhook.errors import ClusterError
from webhook.model.objects import Kind, ObjectKey
from webhook.model.snapshot import Snapshot

JOB, POD, NODE = Kind("batch", "v1", "Job"), Kind("", "v1", "Pod"), Kind("", "v1", "Node")


def job_path(namespace: str, name: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"


def job(namespace: str, name: str) -> Json:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": namespace, "name": name}}


async def put_job(fake: FakeApi, namespace: str, name: str) -> Json:
    return await fake.put(job_path(namespace, name), job(namespace, name))


@asynccontextmanager
async def following(feed: SnapshotFeed) -> AsyncIterator[SnapshotFeed]:
    task = asyncio.create_task(feed.run())
    try:
        await feed.wait_synced(5)
        yield feed
    finally:
        task.cancel()
        await asyncio.wait({task})


def names(snapshot: Snapshot, namespace: str | None = None) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in snapshot.list("batch", "Job", namespace=namespace))


async def test_what_exists_and_what_happens_is_in_the_snapshot(fake: FakeApi, api: Api) -> None:
    await put_job(fake, "a", "one")
    async with following(SnapshotFeed(api, [JOB])) as feed:
        assert names(feed.current) == ["one"]
        await put_job(fake, "b", "two")
        await fake.remove(job_path("a", "one"))
        await until(lambda: names(feed.current) == ["two"])
        assert feed.current.buckets["batch", "Job"].keys() == {"b"}


async def test_a_snapshot_once_taken_never_changes(fake: FakeApi, api: Api) -> None:
    await put_job(fake, "a", "one")
    async with following(SnapshotFeed(api, [JOB])) as feed:
        taken = feed.current
        await put_job(fake, "a", "two")
        await until(lambda: names(feed.current) == ["one", "two"])
        assert names(taken) == ["one"]


async def test_only_the_bucket_that_was_touched_is_copied(fake: FakeApi, api: Api) -> None:
    await put_job(fake, "a", "one")
    await put_job(fake, "b", "one")
    async with following(SnapshotFeed(api, [JOB])) as feed:
        before = feed.current.buckets["batch", "Job"]
        await put_job(fake, "a", "two")
        await until(lambda: names(feed.current, "a") == ["one", "two"])
        after = feed.current.buckets["batch", "Job"]
        assert (after["b"] is before["b"], after["a"] is before["a"]) == (True, False)


async def test_a_listener_finds_in_the_snapshot_what_it_is_told_of(fake: FakeApi, api: Api) -> None:
    feed, found = SnapshotFeed(api, [JOB]), []

    def listen(key: ObjectKey, old: Json | None, new: Json | None) -> None:
        found.append((key.name, old is None, new is not None and feed.current.get(key) == new))

    feed.listen(listen)
    await put_job(fake, "a", "one")
    async with following(feed):
        await put_job(fake, "a", "two")
        await until(lambda: len(found) == 2)
        assert found == [("one", True, True), ("two", True, True)]


async def test_a_listener_that_fails_does_not_keep_others_from_being_told(fake: FakeApi, api: Api) -> None:
    feed, told = SnapshotFeed(api, [JOB]), []

    def broken(*change: object) -> None:
        raise RuntimeError("a bug")

    feed.listen(broken)
    feed.listen(lambda *change: told.append(change[0].name))
    await put_job(fake, "a", "one")
    async with following(feed):
        await until(lambda: told == ["one"])


async def test_a_kind_without_objects_is_known_to_be_empty(fake: FakeApi, api: Api) -> None:
    async with following(SnapshotFeed(api, [JOB])) as feed:
        assert feed.current.knows("batch", "Job")
        assert not feed.current.knows("", "Pod")


async def test_a_kind_can_be_added_and_dropped_while_running(fake: FakeApi, api: Api) -> None:
    await fake.put(
        "/api/v1/namespaces/a/pods/p", {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": "p"}}
    )
    await put_job(fake, "a", "one")
    async with following(SnapshotFeed(api, [JOB])) as feed:
        feed.want([JOB, POD])
        assert not feed.synced()
        await feed.wait_synced(5)
        assert feed.current.get(ObjectKey("", "Pod", "a", "p")) is not None
        feed.want([POD])
        assert not feed.current.knows("batch", "Job")
        assert feed.synced()
        assert len(fake.seen("GET", "/pods")) == len(fake.seen("GET", "/jobs")) == 1


async def test_a_kind_that_the_server_does_not_have_holds_nobody_up(fake: FakeApi, api: Api) -> None:
    thing = Kind("nowhere.dev", "v1", "Thing")
    async with following(SnapshotFeed(api, [JOB, thing])) as feed:
        assert not feed.current.knows("nowhere.dev", "Thing")
        assert [problem.partition(":")[0] for problem in feed.problems()] == ["nowhere.dev/v1 Thing is not followed"]


async def test_a_kind_that_we_may_not_read_is_named(fake: FakeApi, api: Api) -> None:
    fake.forbidden.append("/pods")
    feed = SnapshotFeed(api, [POD])
    task = asyncio.create_task(feed.run())
    await until(lambda: any("403" in problem for problem in feed.problems()))
    with pytest.raises(ClusterError, match="v1 Pod is not followed: watch v1 Pod: 403 Forbidden"):
        await feed.wait_synced(0.0)
    task.cancel()
    await asyncio.wait({task})


async def test_only_the_given_namespaces_are_read(fake: FakeApi, api: Api) -> None:
    for namespace in "abc":
        await put_job(fake, namespace, f"in-{namespace}")
    async with following(SnapshotFeed(api, [JOB], namespaces=["a", "c"])) as feed:
        assert names(feed.current) == ["in-a", "in-c"]


async def test_many_watches_leave_room_for_calls(fake: FakeApi, tmp_path: Path) -> None:
    namespaces = [f"n{number}" for number in range(120)]
    async with await connect(fake.kubeconfig(tmp_path), settings=replace(QUICK, idle_seconds=60.0)) as connection:
        api = Api.over(connection)
        async with following(SnapshotFeed(api, [JOB], namespaces=namespaces)):
            assert (await api.create(job("a", "one")))["kind"] == "Job"


async def test_age_grows_while_the_server_is_silent(fake: FakeApi, api: Api) -> None:
    async with following(SnapshotFeed(api, [JOB])) as feed:
        fake.hang()
        young = feed.age_seconds
        await until(lambda: feed.age_seconds > young + 0.05)
        assert await asyncio.to_thread(lambda: feed.age_seconds) > young, "large reviews ask from a thread"


async def test_changes_between_two_snapshots_are_told_one_by_one(fake: FakeApi, api: Api) -> None:
    told: list[Change] = []
    feed = SnapshotFeed(api, [JOB])
    feed.listen(lambda *change: told.append(change))
    async with following(feed):
        for _ in range(20):
            await put_job(fake, "a", "one")
        await until(lambda: len(told) == 20)
        versions = [(old or {}).get("metadata", {}).get("resourceVersion") for _, old, _ in told[1:]]
        assert versions == [new["metadata"]["resourceVersion"] for _, _, new in told[:-1] if new]


async def test_a_snapshot_can_be_fetched_once(fake: FakeApi, api: Api) -> None:
    await put_job(fake, "a", "one")
    fake.documents["/apis/nowhere.dev/v1"] = {"resources": []}
    snapshot = await fetch_snapshot(api, [JOB, NODE, Kind("nowhere.dev", "v1", "Thing")])
    assert names(snapshot) == ["one"]
    assert (snapshot.knows("", "Node"), snapshot.knows("nowhere.dev", "Thing")) == (True, False)


async def test_what_stands_in_no_namespace_is_read_once_however_many_are_given(fake: FakeApi, api: Api) -> None:
    feed = SnapshotFeed(api, [JOB, Kind("", "v1", "Namespace")], namespaces=["a", "c"])
    assert sorted(told.partition(" is ")[0] for told in feed.problems()) == ["batch/v1 Job", "batch/v1 Job", "v1 Namespace"]
