"""The elector: each case is something the package's electors (kubernetes 37.0.2) get wrong, or a promise of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.cluster.fake_api import FakeApi
from tests.cluster.waiting import until
from webhook.cluster import Api, Elector
from webhook.errors import ClusterError
from webhook.settings import ControllerSettings

LEASES = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
LEASE = f"{LEASES}/gang"
TIMES = ControllerSettings(namespace="ns", lease_name="gang", lease_seconds=10, renew_deadline_seconds=0.6, retry_seconds=0.05)
PATIENT = replace(TIMES, lease_seconds=60, renew_deadline_seconds=30.0)
"""Where the deadline is not what is looked at: a machine that stands still for a while must not reach it."""


class Work:
    """Work that runs until it is stopped, and remembers."""

    def __init__(self) -> None:
        self.begun = self.stopped = 0

    async def __call__(self) -> None:
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped += 1


async def leading(elector: Elector, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    task = asyncio.create_task(elector.run(work))
    await until(lambda: elector.leading)
    return task


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def test_an_absent_lease_is_created_in_utc(fake: FakeApi, api: Api) -> None:
    task = await leading(Elector(api, TIMES, identity="one"), Work())
    spec = fake.objects[LEASE]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("one", 0)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(spec["renewTime"])).total_seconds()) < 60
    await stop(task)


async def test_a_hung_server_stops_the_work_before_the_lease_ends(fake: FakeApi, api: Api) -> None:
    work, elector = Work(), Elector(api, TIMES, identity="one")
    task = await leading(elector, work)
    fake.hang()
    await until(lambda: work.stopped == 1, seconds=TIMES.lease_seconds)
    with pytest.raises(ClusterError, match="does not lead"):
        elector.fence()
    fake.resume()
    await until(lambda: work.begun == 2)
    await stop(task)


async def test_a_server_that_is_down_stops_the_work_and_leading_goes_on_later(fake: FakeApi, api: Api) -> None:
    work = Work()
    task = await leading(Elector(api, TIMES, identity="one"), work)
    await fake.stop()
    await until(lambda: work.stopped == 1)
    await fake.start()
    await until(lambda: work.begun == 2)
    await stop(task)


async def test_errors_that_pass_do_not_stop_the_work(fake: FakeApi, api: Api) -> None:
    work, elector = Work(), Elector(api, PATIENT, identity="one")
    task = await leading(elector, work)
    fake.failures = [(500, {}), (409, {}), (429, {}), (403, {})]
    await until(lambda: not fake.failures)
    version = fake.version
    await until(lambda: fake.version > version)
    assert (work.begun, work.stopped) == (1, 0)
    await stop(task)


async def test_stopping_gives_the_lease_back_and_the_next_one_need_not_wait(fake: FakeApi, api: Api) -> None:
    patient = ControllerSettings(namespace="ns", lease_name="gang", lease_seconds=3600, retry_seconds=0.02)
    work = Work()
    first = await leading(Elector(api, patient, identity="one"), work)
    second = asyncio.create_task(Elector(api, patient, identity="two").run(Work()))
    await until(lambda: len(fake.seen("GET", "leases")) > 5)
    assert fake.objects[LEASE]["spec"]["holderIdentity"] == "one"
    await stop(first)
    await until(lambda: fake.objects[LEASE]["spec"]["holderIdentity"] == "two")
    assert work.stopped == 1
    assert fake.objects[LEASE]["spec"]["leaseTransitions"] == 1
    await stop(second)


async def test_a_leader_that_died_is_followed_when_its_lease_has_run_out_by_our_clock(fake: FakeApi, api: Api) -> None:
    spec = {"holderIdentity": "dead", "leaseDurationSeconds": 15, "renewTime": "2100-01-01T00:00:00.000000Z"}
    await fake.put(LEASE, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "gang"}, "spec": spec})
    now = [100.0]
    elector = Elector(api, TIMES, identity="one", clock=lambda: now[0])
    task = asyncio.create_task(elector.run(Work()))
    await until(lambda: len(fake.seen("GET", "leases")) > 2)
    now[0] += 14.9
    asked = len(fake.seen("GET", "leases"))
    await until(lambda: len(fake.seen("GET", "leases")) > asked + 1)
    assert not elector.leading
    now[0] += 0.2
    await until(lambda: elector.leading)
    await stop(task)


async def test_a_leader_that_finds_another_holder_stops_at_once(fake: FakeApi, api: Api) -> None:
    work = Work()
    task = await leading(Elector(api, TIMES, identity="one"), work)
    await fake.put(LEASE, fake.objects[LEASE] | {"spec": {"holderIdentity": "two", "leaseDurationSeconds": 15}})
    await until(lambda: work.stopped == 1)
    assert fake.objects[LEASE]["spec"]["holderIdentity"] == "two"
    await stop(task)


async def test_being_stopped_while_the_work_is_still_ending_is_not_forgotten(fake: FakeApi, api: Api) -> None:
    ending, may_end = asyncio.Event(), asyncio.Event()

    async def slow_to_stop() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()

    task = await leading(Elector(api, TIMES, identity="one"), slow_to_stop)
    await fake.put(LEASE, fake.objects[LEASE] | {"spec": {"holderIdentity": "two", "leaseDurationSeconds": 15}})
    await ending.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_a_failure_of_the_work_surfaces_and_the_lease_is_given_back(fake: FakeApi, api: Api) -> None:
    async def broken() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await Elector(api, TIMES, identity="one").run(broken)
    assert fake.objects[LEASE]["spec"]["holderIdentity"] == ""


async def test_two_that_want_the_lease_at_once_get_one_leader(fake: FakeApi, api: Api) -> None:
    electors = [Elector(api, PATIENT, identity=name) for name in ("one", "two", "three")]
    tasks = [asyncio.create_task(elector.run(Work())) for elector in electors]
    await until(lambda: len(fake.seen("GET", "leases")) > 20)
    assert [elector.leading for elector in electors].count(True) == 1
    for task in tasks:
        await stop(task)


async def test_writes_pass_the_fence_only_while_leading(fake: FakeApi, api: Api) -> None:
    elector = Elector(api, TIMES, identity="one")
    fenced = api.fenced(elector.fence)
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "ns", "name": "j"}}
    with pytest.raises(ClusterError, match="does not lead"):
        await fenced.create(job)
    assert fake.seen("POST") == []
    task = await leading(elector, Work())
    assert (await fenced.create(job))["metadata"]["name"] == "j"
    await stop(task)
