"""What a restart does to objects: only to the very one that was meant, and never over somebody else's word."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.builders import job
from tests.cluster.fake_api import FakeApi
from webhook.cluster import Api, Done, EventRecorder, Executor, Failed, Moot
from webhook.cluster.suspension import holders
from webhook.model.actions import Delete, Evict, Resume, SetCondition, SetQuorum, Suspend
from webhook.model.groups import RESTART_MANAGER
from webhook.model.objects import Object, ObjectKey

JOBS, PODS = "/apis/batch/v1/namespaces/team-a/jobs", "/api/v1/namespaces/team-a/pods"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/team-a/podgroups"
JOB, GROUP = ObjectKey("batch", "Job", "team-a", "train"), ObjectKey("scheduling.k8s.io", "PodGroup", "team-a", "g")
WHY = "Its group lost a member."


def key(name: str) -> ObjectKey:
    return ObjectKey("", "Pod", "team-a", name)


def held(*managers: str, suspended: bool = True) -> Object:
    """A Job whose suspend field these managers hold."""
    fields = {"f:spec": {"f:suspend": {}}}
    entries = [{"manager": name, "operation": "Update", "fieldsV1": fields} for name in managers]
    status = {"manager": "kube-controller-manager", "subresource": "status", "fieldsV1": {"f:status": {}}}
    return job().at("spec.suspend", suspended).at("metadata.managedFields", [*entries, status]).at("metadata.uid", "u").build()


@pytest.fixture
def executor(api: Api) -> Executor:
    return Executor(api, EventRecorder(api, instance="test"))


async def test_a_running_job_is_suspended_under_a_manager_of_our_own(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{JOBS}/train", held("kubectl", suspended=False))
    (outcome,) = await executor.perform([Suspend(key=JOB, uid="u", path="spec.suspend", reason=WHY)])
    assert isinstance(outcome, Done)
    (sent,) = fake.seen("PATCH")
    assert sent.query["fieldManager"] == RESTART_MANAGER
    assert sent.body == {"spec": {"suspend": True}, "metadata": {"uid": "u"}}


@pytest.mark.parametrize(
    "given, moot",
    [
        pytest.param(held("kubectl"), "held by kubectl", id="a person suspended it first"),
        pytest.param(held(), "not written by us", id="it was created suspended"),
        pytest.param(held("kubectl", RESTART_MANAGER), "held by kubectl", id="both hold it"),
    ],
)
async def test_what_others_suspended_is_neither_ours_nor_resumed(
    fake: FakeApi, executor: Executor, given: Object, moot: str
) -> None:
    await fake.put(f"{JOBS}/train", given)
    for action in (Suspend, Resume):
        (outcome,) = await executor.perform([action(key=JOB, uid="u", path="spec.suspend", reason=WHY)])
        assert isinstance(outcome, Moot)
        assert moot in outcome.because
    assert fake.seen("PATCH") == []


async def test_suspending_again_what_we_suspended_is_done_already(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{JOBS}/train", held(RESTART_MANAGER))
    (outcome,) = await executor.perform([Suspend(key=JOB, uid="u", path="spec.suspend", reason=WHY)])
    assert isinstance(outcome, Done)
    assert fake.seen("PATCH") == []


async def test_what_we_suspended_is_resumed_if_nobody_wrote_in_between(fake: FakeApi, executor: Executor) -> None:
    stored = await fake.put(f"{JOBS}/train", held(RESTART_MANAGER))
    (outcome,) = await executor.perform([Resume(key=JOB, uid="u", path="spec.suspend", reason=WHY)])
    assert isinstance(outcome, Done)
    (sent,) = fake.seen("PATCH")
    assert sent.body["spec"] == {"suspend": False}
    assert sent.body["metadata"] == {"uid": "u", "resourceVersion": stored["metadata"]["resourceVersion"]}


async def test_a_job_that_runs_again_is_left(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{JOBS}/train", held("argocd", suspended=False))
    (outcome,) = await executor.perform([Resume(key=JOB, uid="u", path="spec.suspend", reason=WHY)])
    assert isinstance(outcome, Moot)
    assert fake.seen("PATCH") == []


async def test_a_path_may_lie_deeper(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{JOBS}/train", job().at("metadata.uid", "u").build())
    await executor.perform([Suspend(key=JOB, uid="u", path="spec.runPolicy.suspend", reason=WHY)])
    assert fake.seen("PATCH")[0].body["spec"] == {"runPolicy": {"suspend": True}}


@pytest.mark.parametrize("action", [Suspend, Resume])
@pytest.mark.parametrize("stored", [None, held(RESTART_MANAGER)], ids=["gone", "made anew"])
async def test_another_job_of_the_name_is_left(fake: FakeApi, executor: Executor, action: Any, stored: Object | None) -> None:
    if stored is not None:
        await fake.put(f"{JOBS}/train", stored)
    (outcome,) = await executor.perform([action(key=JOB, uid="other", path="spec.suspend", reason=WHY)])
    assert isinstance(outcome, Moot)
    assert fake.seen("PATCH") == []


async def test_a_quorum_is_set_where_it_is_kept(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{JOBS}/train", held())
    await fake.put(f"{GROUPS}/g", {"metadata": {"namespace": "team-a", "name": "g"}, "spec": {}})
    await executor.perform([SetQuorum(key=one, uid="u", min_count=3, reason=WHY) for one in (GROUP, JOB)])
    ours, native = fake.seen("PATCH")
    assert ours.body["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    assert native.body["spec"] == {"scheduling": ours.body["spec"]}
    assert ours.body["metadata"] == {"uid": "u"}
    assert native.body["metadata"] == {"uid": "u", "annotations": {"gangwarden.dev/quorum-set-to": "3"}}


async def test_an_eviction_that_a_budget_forbids_does_not_hold_up_the_others(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{PODS}/b", {"metadata": {"namespace": "team-a", "name": "b"}})
    fake.failures = [(429, {"reason": "TooManyRequests", "message": "The disruption budget a needs 2"})]
    outcomes = await executor.perform([Evict(key=key(name), uid="u", reason=WHY) for name in ("a", "b")])
    assert [type(outcome) for outcome in outcomes] == [Failed, Done]


async def test_a_pod_on_a_dead_node_is_deleted_without_grace(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{PODS}/a", {"metadata": {"namespace": "team-a", "name": "a", "uid": "u"}})
    await executor.perform([Delete(key=key("a"), uid="u", reason=WHY, force=True)])
    assert fake.seen("DELETE")[0].body["gracePeriodSeconds"] == 0


async def test_a_condition_is_applied_to_the_status_and_taken_away(fake: FakeApi, executor: Executor) -> None:
    await fake.put(f"{GROUPS}/g", {"metadata": {"namespace": "team-a", "name": "g"}, "spec": {}})
    since = datetime(2026, 1, 1, tzinfo=UTC)
    written = SetCondition(
        key=GROUP, uid="u", type="gangwarden.dev/Restart", status=True, word="Awaiting", message="m", since=since, reason=WHY
    )
    await executor.perform([written, SetCondition(key=GROUP, uid="u", type="gangwarden.dev/Restart", status=None, reason=WHY)])
    first, second = fake.seen("PATCH")
    assert first.path.endswith("/podgroups/g/status")
    assert first.query["fieldManager"] == second.query["fieldManager"] == "gangwarden/gangwarden.dev/Restart"
    assert first.body["status"]["conditions"] == [
        {
            "type": "gangwarden.dev/Restart",
            "status": "True",
            "reason": "Awaiting",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    assert second.body["status"] == {"conditions": []}


def test_writers_of_the_status_hold_no_field_of_the_spec() -> None:
    assert holders(held("kubectl"), "spec.suspend") == {"kubectl"}
    assert holders(held("kubectl"), "spec.parallelism") == frozenset()
    assert holders(job().build(), "spec.suspend") == frozenset()
