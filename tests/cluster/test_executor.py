"""Planned actions done: in order, what no longer matters passed over, the rest left after a refusal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.builders import job
from tests.cluster.fake_api import FakeApi
from webhook.cluster import Api, Done, EventRecorder, Executor, Failed, Moot
from webhook.model.actions import Apply, Delete, Recheck, Tell
from webhook.model.objects import ObjectKey

GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/a/podgroups"
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"namespace": "a", "name": "g"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
}
KEY = ObjectKey.of(GROUP)
APPLY = Apply(object=GROUP, reason="The Job has no PodGroup yet.")
TELL = Tell(
    about=job("train").at("metadata.namespace", "a").stored().build(), reason="GroupCreated", message="It has a group now."
)


@pytest.fixture
def executor(api: Api) -> Executor:
    return Executor(api, EventRecorder(api, instance="test", now=lambda: datetime(2026, 1, 1, tzinfo=UTC)))


async def test_what_is_applied_is_stored_under_our_manager(fake: FakeApi, executor: Executor) -> None:
    (outcome,) = await executor.perform([APPLY])
    assert isinstance(outcome, Done)
    assert outcome.object is not None
    assert outcome.object["spec"] == GROUP["spec"]
    assert fake.seen("PATCH")[0].query["fieldManager"] == "gangwarden"


async def test_only_the_very_object_is_deleted(fake: FakeApi, executor: Executor) -> None:
    stored = await fake.put(f"{GROUPS}/g", GROUP)
    other = await executor.perform([Delete(key=KEY, uid="another", reason="It is an orphan.")])
    mine = await executor.perform([Delete(key=KEY, uid=stored["metadata"]["uid"], reason="It is an orphan.")])
    gone = await executor.perform([Delete(key=KEY, uid=stored["metadata"]["uid"], reason="It is an orphan.")])
    assert [type(outcome) for outcomes in (other, mine, gone) for outcome in outcomes] == [Moot, Done, Moot]
    assert fake.objects == {}


async def test_after_a_refused_write_nothing_else_is_tried(fake: FakeApi, executor: Executor) -> None:
    fake.failures = [(422, {"reason": "Invalid", "message": "spec.schedulingPolicy: field is immutable"})]
    (outcome,) = await executor.perform([APPLY, TELL, APPLY])
    assert isinstance(outcome, Failed)
    assert "immutable" in str(outcome.error)
    assert len(fake.requests) == 2  # connect, and the refused one


async def test_an_event_that_is_refused_stops_nothing(fake: FakeApi, executor: Executor) -> None:
    fake.failures = [(403, {"reason": "Forbidden"})]
    outcomes = await executor.perform([TELL, APPLY])
    assert [type(outcome) for outcome in outcomes] == [Failed, Done]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (403, "podgroups is forbidden: unable to create new content in namespace a because it is being terminated"),
        (404, 'namespaces "a" not found'),
    ],
    ids=["it is terminating", "it is gone"],
)
async def test_in_a_namespace_that_goes_nothing_needs_to_be_made(
    fake: FakeApi, executor: Executor, code: int, message: str
) -> None:
    fake.failures = [(code, {"message": message})]
    assert [type(outcome) for outcome in await executor.perform([APPLY])] == [Moot]


async def test_a_recheck_is_left_to_the_caller(fake: FakeApi, executor: Executor) -> None:
    recheck = Recheck(after_seconds=5, reason="The group still waits.")
    assert await executor.perform([recheck]) == (Done(recheck),)
    assert len(fake.requests) == 1
