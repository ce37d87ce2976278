"""The informer against a server that misbehaves; each case is something kubernetes 37.0.2's own gets wrong or we promise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cluster.fake_api import FakeApi
from tests.cluster.waiting import until
from webhook.cluster import Api, Informer
from webhook.cluster import informer as informer_module
from webhook.cluster.informer import keep_whole
from webhook.model.objects import Kind

JOB = Kind("batch", "v1", "Job")
JOBS = "/apis/batch/v1/namespaces/a/jobs"

Told = list[tuple[str, str, Any, Any]]


def job(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "a", "name": name, "labels": labels}}


@asynccontextmanager
async def informing(api: Api, kind: Kind = JOB, trim: Callable[[Any], Any] = keep_whole) -> AsyncIterator[tuple[Informer, Told]]:
    told: Told = []
    informer = Informer(api, kind, on_event=lambda name, old, new: told.append((*name, old, new)), trim=trim)
    task = asyncio.create_task(informer.run())
    try:
        yield informer, told
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_the_initial_set_arrives_by_watch_list(fake: FakeApi, api: Api) -> None:
    await fake.put(f"{JOBS}/one", job("one"))
    await fake.put(f"{JOBS}/two", job("two"))
    async with informing(api) as (informer, told):
        await informer.synced.wait()
        assert sorted(informer.store) == [("a", "one"), ("a", "two")]
        assert [(name, old) for _, name, old, _ in told] == [("one", None), ("two", None)]
        assert not [request for request in fake.requests if "limit" in request.query]


async def test_a_change_and_a_deletion_come_with_the_old_object(fake: FakeApi, api: Api) -> None:
    await fake.put(f"{JOBS}/one", job("one", v="1"))
    async with informing(api) as (informer, told):
        await informer.synced.wait()
        await fake.put(f"{JOBS}/one", job("one", v="2"))
        await fake.remove(f"{JOBS}/one")
        await until(lambda: len(told) == 3)
        (_, _, changed_from, changed_to), (_, _, deleted, nothing) = told[1:]
        assert (changed_from["metadata"]["labels"], changed_to["metadata"]["labels"]) == ({"v": "1"}, {"v": "2"})
        assert (deleted["metadata"]["labels"], nothing, informer.store) == ({"v": "2"}, None, {})


async def test_without_watch_list_the_initial_set_comes_in_pages(fake: FakeApi, api: Api) -> None:
    fake.watch_list = False
    for number in range(5):
        await fake.put(f"{JOBS}/{number}", job(str(number)))
    async with informing(api) as (informer, told):
        await informer.synced.wait()
        assert [obj["kind"] for obj in informer.store.values()] == ["Job"] * 5
        assert len([request for request in fake.requests if "limit" in request.query]) == 3
        await fake.put(f"{JOBS}/late", job("late"))
        await until(lambda: len(told) == 6)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that informers make from now on."""
    made: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        made.append(seconds)
        await sleep(min(seconds, 1.0))

    monkeypatch.setattr(informer_module, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": noted}))
    return made


async def test_a_server_that_is_down_costs_a_handful_of_attempts(fake: FakeApi, api: Api, pauses: list[float]) -> None:
    async with informing(api) as (informer, _):
        await informer.synced.wait()
        await fake.stop()
        await until(lambda: sum(pauses) > 1.5)
        assert len(pauses) <= 8  # 0.02 s doubled to 0.4 s, each jittered by 1 to 2
        assert max(pauses) <= 0.8
        assert informer.problem is not None
        assert informer.problem.is_unreachable
        await fake.start()
        await until(lambda: informer.problem is None)


async def test_a_cut_watch_resumes_from_the_last_version(fake: FakeApi, api: Api) -> None:
    await fake.put(f"{JOBS}/one", job("one"))
    async with informing(api) as (informer, told):
        await informer.synced.wait()
        last = fake.version
        await fake.cut_watches()
        await fake.put(f"{JOBS}/two", job("two"))
        await until(lambda: len(told) == 2)
        assert [request.query.get("resourceVersion") for request in fake.seen("GET", "jobs")] == [None, str(last)]


async def _expired_then_listed_again(fake: FakeApi, api: Api) -> None:
    await fake.put(f"{JOBS}/kept", job("kept"))
    await fake.put(f"{JOBS}/gone", job("gone"))
    async with informing(api) as (informer, told):
        await informer.synced.wait()
        await fake.stop()
        await fake.remove(f"{JOBS}/gone")
        await fake.put(f"{JOBS}/new", job("new"))
        fake.forget_history()
        await fake.start()
        await until(lambda: len(told) == 4)
        assert sorted(informer.store) == [("a", "kept"), ("a", "new")]
        assert [(name, new is None) for _, name, _, new in told[2:]] == [("gone", True), ("new", False)]


async def test_an_expired_version_as_a_status_is_answered_by_a_new_start_that_tells_the_difference(
    fake: FakeApi, api: Api
) -> None:
    await _expired_then_listed_again(fake, api)


async def test_an_expired_version_as_an_error_event_is_answered_by_a_new_start(fake: FakeApi, api: Api) -> None:
    fake.gone_as_event = True
    await _expired_then_listed_again(fake, api)


@pytest.mark.parametrize("watch_list", [True, False])
async def test_a_second_list_makes_nothing_twice_of_what_did_not_change(fake: FakeApi, api: Api, watch_list: bool) -> None:
    """While a list is read the former one is still in memory; 50,000 pods in both would be held twice."""
    fake.watch_list = watch_list
    for name in ("kept", "changed", "replaced"):
        await fake.put(f"{JOBS}/{name}", job(name))
    trimmed: list[str] = []

    def trim(obj: dict[str, Any]) -> dict[str, Any]:
        trimmed.append(obj["metadata"]["name"])
        return obj

    async with informing(api, trim=trim) as (informer, told):
        await informer.synced.wait()
        trimmed.clear()
        await fake.stop()
        await fake.put(f"{JOBS}/changed", job("changed", v="2"))
        fake.objects[f"{JOBS}/replaced"]["metadata"] |= {"uid": "another"}  # a restored cluster counts its versions anew
        fake.forget_history()
        await fake.start()
        await until(lambda: len(told) == 5)
        assert sorted(trimmed) == ["changed", "replaced"]


async def test_the_store_stays_as_it_was_until_the_new_initial_set_is_complete(fake: FakeApi, api: Api) -> None:
    await fake.put(f"{JOBS}/one", job("one"))
    async with informing(api) as (informer, _):
        await informer.synced.wait()
        fake.forget_history()
        fake.version += 1
        fake.oldest = fake.version
        fake.failures = [(500, {"message": "etcd is away"})] * 2
        before = len(fake.requests)
        await fake.cut_watches()
        await until(lambda: len(fake.requests) >= before + 2)
        assert sorted(informer.store) == [("a", "one")]


async def test_a_silent_server_is_noticed_by_the_idle_limit(fake: FakeApi, api: Api) -> None:
    async with informing(api) as (informer, told):
        await informer.synced.wait()
        fake.hang()
        await fake.put(f"{JOBS}/one", job("one"))
        await until(lambda: informer.problem is not None)
        assert informer.problem.reason == "Timeout"
        fake.resume()
        await until(lambda: len(told) == 1)


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_in_a_hot_loop(
    fake: FakeApi, api: Api, pauses: list[float]
) -> None:
    fake.end_watches = True
    async with informing(api):
        await until(lambda: len(pauses) == 4)
        assert pauses == sorted(pauses)


async def test_retry_after_is_heeded(fake: FakeApi, api: Api, pauses: list[float]) -> None:
    fake.failures = [(429, {"reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}})]
    async with informing(api) as (informer, _):
        await informer.synced.wait()
    assert pauses[0] == 7


async def test_a_line_larger_than_the_read_buffer_is_taken_whole(fake: FakeApi, api: Api) -> None:
    await fake.put(f"{JOBS}/large", job("large", big="x" * 3_000_000))
    async with informing(api) as (informer, _):
        await informer.synced.wait()
        assert len(informer.store["a", "large"]["metadata"]["labels"]["big"]) == 3_000_000


async def test_a_kind_that_is_not_served_is_said_to_be_so(fake: FakeApi, api: Api) -> None:
    async with informing(api, Kind("nowhere.dev", "v1", "Thing")) as (informer, _):
        await until(lambda: informer.problem is not None)
        assert informer.problem.status == 404
