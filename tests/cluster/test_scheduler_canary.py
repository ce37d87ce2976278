"""The scheduler's canary against schedulers that keep groups, ignore them, or are away (real ones: tests/e2e/test_gates.py)."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from tests.cluster.fake_api import FakeApi, Json
from webhook.cluster import Api, scheduler_canary, scheduler_keeps_groups
from webhook.errors import ClusterError

PODS = "/api/v1/namespaces/ns/pods"
JUDGED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
LABEL = {"gangwarden.dev/probe": "scheduler"}
NOW, LONG_AGO = "2026-11-30T12:00:00Z", "2026-11-30T11:50:00Z"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_canary, "_LOOK_SECONDS", 0.0)


def scheduling(fake: FakeApi, *, is_judged: Callable[[Json], bool], keeps_field: bool = True) -> None:
    """Let a scheduler judge the pods that it does not hold back, as soon as they come."""

    def admit(body: Json) -> Json:
        pod = copy.deepcopy(body)
        pod["metadata"]["creationTimestamp"] = NOW
        if not keeps_field:
            pod["spec"].pop("schedulingGroup", None)
        return pod | ({"status": JUDGED} if is_judged(pod) else {})

    fake.admit = admit


def is_grouped(pod: Json) -> bool:
    return "schedulingGroup" in pod["spec"]


async def ask(api: Api, *, patience_seconds: float = 10.0) -> bool | None:
    return await scheduler_keeps_groups(api, "ns", patience_seconds=patience_seconds)


@pytest.mark.parametrize(
    ("is_judged", "patience_seconds", "expected"),
    [
        (lambda pod: not is_grouped(pod), 10.0, True),
        (lambda _: True, 10.0, False),
        (lambda _: False, 0.05, None),
        (is_grouped, 0.05, None),
    ],
    ids=["it holds the group back", "it ignores groups", "it is away", "half a judgement"],
)
async def test_the_verdict_needs_a_pod_that_was_judged(
    fake: FakeApi, api: Api, is_judged: Callable[[Json], bool], patience_seconds: float, *, expected: bool | None
) -> None:
    scheduling(fake, is_judged=is_judged)
    assert await ask(api, patience_seconds=patience_seconds) is expected
    assert fake.objects == {}
    assert [request.body["gracePeriodSeconds"] for request in fake.seen("DELETE")] == [0, 0]


async def test_an_api_server_that_drops_the_group_says_nothing_about_the_scheduler(fake: FakeApi, api: Api) -> None:
    scheduling(fake, is_judged=lambda _: True, keeps_field=False)
    assert await ask(api) is None
    assert (fake.objects, len(fake.seen("POST"))) == ({}, 1)


async def test_a_pod_that_is_judged_late_is_still_waited_for(fake: FakeApi, api: Api) -> None:
    scheduling(fake, is_judged=lambda pod: not is_grouped(pod))
    looks = 0
    stored = fake._under

    def under(collection: str) -> list[Json]:
        nonlocal looks
        looks += 1
        return [pod | {"status": JUDGED} if looks > 5 else pod for pod in stored(collection)]

    fake._under = under  # type: ignore[method-assign]  # a scheduler that comes to the grouped pod last
    assert await ask(api) is False


async def test_pods_that_somebody_takes_away_are_no_verdict_and_no_error(fake: FakeApi, api: Api) -> None:
    scheduling(fake, is_judged=lambda _: False)
    fake._under = lambda _: []  # type: ignore[method-assign]  # somebody clears the namespace
    assert await ask(api) is None


async def test_pods_of_a_crash_go_and_those_of_another_replica_stay(fake: FakeApi, api: Api) -> None:
    scheduling(fake, is_judged=lambda pod: not is_grouped(pod))

    async def put(name: str, created: str, labels: Json) -> None:
        meta = {"name": name, "namespace": "ns", "creationTimestamp": created, "labels": labels}
        await fake.put(f"{PODS}/{name}", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}})

    await put("crashed", LONG_AGO, LABEL)
    await put("flying", NOW, LABEL)
    await put("somebody", LONG_AGO, {})
    assert await ask(api) is True
    assert sorted(fake.objects) == [f"{PODS}/flying", f"{PODS}/somebody"]


@pytest.mark.parametrize("after", [0, 1, 2], ids=["the first pod", "the second pod", "the look"])
async def test_what_is_refused_is_an_error_and_leaves_nothing_behind(fake: FakeApi, api: Api, after: int) -> None:
    refusal = (403, {"reason": "Forbidden", "message": "exceeded quota"})

    def admit(body: Json) -> Json:
        if len(fake.seen("POST")) == after:
            fake.failures.append(refusal)
        return copy.deepcopy(body) | {"metadata": body["metadata"] | {"creationTimestamp": NOW}}

    fake.admit = admit
    fake.failures += [refusal] if after == 0 else []
    with pytest.raises(ClusterError, match="exceeded quota"):
        await ask(api)
    assert (fake.objects, len(fake.seen("POST"))) == ({}, min(after + 1, 2))


async def test_the_pods_run_nowhere_and_pass_where_little_is_allowed(fake: FakeApi, api: Api) -> None:
    scheduling(fake, is_judged=lambda _: True)
    await ask(api)
    grouped, alone = (request.body for request in fake.seen("POST"))
    assert grouped["spec"].pop("schedulingGroup") == {"podGroupName": "gangwarden-canary"}
    assert grouped == alone
    assert alone["metadata"]["labels"] == LABEL
    spec = alone["spec"]
    assert spec["nodeSelector"] == {"gangwarden.dev/no-such-node": "true"}
    assert (spec["terminationGracePeriodSeconds"], spec["automountServiceAccountToken"]) == (0, False)
    # What the Pod Security Standard "restricted" asks for (pod-security-admission/policy).
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["requests"] == container["resources"]["limits"]
