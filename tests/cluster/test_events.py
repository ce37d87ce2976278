"""Events: counted by the API server, never a flood."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.builders import job
from tests.cluster.fake_api import FakeApi
from webhook.cluster import Api, EventRecorder
from webhook.model.actions import Tell
from webhook.model.objects import Object

EVENTS = "/apis/events.k8s.io/v1/namespaces/a/events"
JOB = job("train").at("metadata.namespace", "a").stored().build()


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def recorder(api: Api, clock: Clock) -> EventRecorder:
    return EventRecorder(api, instance="pod-1", now=lambda: datetime(2026, 1, 1, tzinfo=UTC), clock=clock)


def tell(message: str = "It waits for 4 pods.", *, about: Object = JOB) -> Tell:
    return Tell(about=about, reason="QuorumNotReached", message=message)


def counts(fake: FakeApi) -> list[int]:
    return [obj.get("series", {}).get("count", 1) for obj in fake.objects.values()]


async def test_an_event_is_about_its_object(fake: FakeApi, api: Api, clock: Clock) -> None:
    await recorder(api, clock).post(tell())
    (event,) = fake.objects.values()
    meta = JOB["metadata"]
    assert event["regarding"] == {"apiVersion": "batch/v1", "kind": "Job", "namespace": "a", "name": "train", "uid": meta["uid"]}
    assert (event["type"], event["reason"], event["note"]) == ("Warning", "QuorumNotReached", "It waits for 4 pods.")
    assert event["metadata"]["name"].startswith("train.")


async def test_a_repetition_is_counted_on_the_same_event(fake: FakeApi, api: Api, clock: Clock) -> None:
    posting = recorder(api, clock)
    for _ in range(3):
        await posting.post(tell())
        clock.seconds += 100
    assert counts(fake) == [3]
    (event,) = fake.objects.values()
    assert event["series"]["lastObservedTime"] == "2026-01-01T00:00:00.000000Z"


async def test_repetitions_in_the_quiet_time_are_told_with_the_next_one(fake: FakeApi, api: Api, clock: Clock) -> None:
    posting = recorder(api, clock)
    for _ in range(10):
        await posting.post(tell())
    assert (counts(fake), len(fake.seen("POST"))) == ([1], 1)
    clock.seconds += 100
    await posting.post(tell())
    assert counts(fake) == [11]


async def test_the_next_leader_counts_on_where_the_last_one_stopped(fake: FakeApi, api: Api, clock: Clock) -> None:
    await recorder(api, clock).post(tell())
    await recorder(api, clock).post(tell())
    assert counts(fake) == [2]


async def test_another_message_is_another_event(fake: FakeApi, api: Api, clock: Clock) -> None:
    posting = recorder(api, clock)
    await posting.post(tell("It waits for 4 pods."))
    await posting.post(tell("It waits for 3 pods."))
    assert counts(fake) == [1, 1]


async def test_an_object_with_ever_new_messages_gets_a_burst_and_then_one_in_five_minutes(
    fake: FakeApi, api: Api, clock: Clock
) -> None:
    posting = recorder(api, clock)
    for number in range(100):
        await posting.post(tell(f"attempt {number}"))
    assert len(fake.objects) == 25
    clock.seconds += 301
    for number in range(100, 200):
        await posting.post(tell(f"attempt {number}"))
    assert len(fake.objects) == 26


async def test_an_event_that_the_server_has_forgotten_begins_anew(fake: FakeApi, api: Api, clock: Clock) -> None:
    posting = recorder(api, clock)
    await posting.post(tell())
    fake.objects.clear()
    clock.seconds += 100
    await posting.post(tell())
    assert counts(fake) == [1]


async def test_long_words_are_cut_to_what_the_api_takes(fake: FakeApi, api: Api, clock: Clock) -> None:
    long = job("x" * 253).at("metadata.namespace", "a").stored().build()
    await recorder(api, clock).post(tell("ä" * 2000, about=long))
    (event,) = fake.objects.values()
    assert len(event["note"].encode()) <= 1024
    assert len(event["metadata"]["name"]) <= 253


async def test_an_event_on_a_cluster_scoped_object_lives_in_default(fake: FakeApi, api: Api, clock: Clock) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0", "uid": "u"}}
    await recorder(api, clock).post(tell(about=node))
    assert [path.rpartition("/")[0] for path in fake.objects] == ["/apis/events.k8s.io/v1/namespaces/default/events"]
