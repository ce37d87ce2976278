"""What a process knows of the cluster, and how soon it learns that it knows it no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from webhook.cli import capabilities
from webhook.cli.capabilities import CapabilityWatch
from webhook.errors import ClusterError
from webhook.model.actions import Tell
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, ObjectKey

NATIVE = Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True)
MANAGED = replace(NATIVE, native_jobs=False)
FOLLOWED = replace(NATIVE, native_groups=True)


class Cluster:
    """What is found out at each look, and what was told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Capabilities) -> None:
        self._answers: Iterator[Capabilities] = iter(answers)
        self.canaries, self.makes_groups = 0, True
        self.verdicts: list[bool | ClusterError | None] = []
        self.asked = asyncio.Event()
        self.told: list[str] = []
        self.warned = asyncio.Event()
        monkeypatch.setattr(capabilities, "probe_capabilities", self._probe)
        monkeypatch.setattr(capabilities, "job_controller_makes_groups", self._fly)
        monkeypatch.setattr(capabilities, "scheduler_keeps_groups", self._ask)
        monkeypatch.setattr(capabilities, "_DOUBT_SECONDS", 0.0)

    async def _probe(self, *_: object, **__: object) -> Capabilities:
        return next(self._answers)

    async def _fly(self, *_: object, **__: object) -> bool:
        self.canaries += 1
        return self.makes_groups

    async def _ask(self, *_: object, **__: object) -> bool | None:
        """Give the scheduler's verdicts one by one; without any left nothing comes, which is told to who waits for it."""
        if not self.verdicts:
            self.asked.set()
            await asyncio.Event().wait()
        verdict = self.verdicts.pop(0)
        if isinstance(verdict, ClusterError):
            raise verdict
        return verdict

    async def tell(self, tell: Tell) -> None:
        assert tell.about["metadata"]["uid"] == "uid-of-l"
        self.told.append(tell.reason)
        if tell.reason == "DangerousGates":
            self.warned.set()


LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "s", "name": "l"}}


class Stored:
    """An API server that holds the Lease."""

    async def find(self, key: ObjectKey) -> Object:
        return {**LEASE, "metadata": {**LEASE["metadata"], "uid": f"uid-of-{key.name}"}}


def watch(cluster: Cluster, **parts: Any) -> CapabilityWatch:
    told = {"tell": cluster.tell} | parts
    return CapabilityWatch(Stored(), about=LEASE, **told)  # type: ignore[arg-type]  # all else is asked by what stands in here


async def test_a_doubt_brings_the_next_look_at_once_and_a_canary_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, NATIVE, NATIVE)
    made = watch(cluster, canary_namespace="ns")
    await made.look_first(1)
    assert (made.current, cluster.canaries) == (FOLLOWED, 1)
    cluster.makes_groups = False
    running = asyncio.create_task(made.run())
    try:
        await asyncio.sleep(0)
        await asyncio.to_thread(made.doubt)  # large reviews are decided in a thread
        async with asyncio.timeout(60):
            await cluster.warned.wait()
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert (made.current, cluster.canaries) == (NATIVE, 2)
    assert cluster.told == ["CapabilitiesChanged", "DangerousGates"]


@pytest.mark.parametrize("alpha", [(), ("CompositePodGroup",)], ids=["nobody asked", "asked for"])
async def test_what_is_alpha_counts_where_it_was_asked_for_by_name(
    monkeypatch: pytest.MonkeyPatch, alpha: tuple[str, ...]
) -> None:
    cluster = Cluster(monkeypatch, replace(MANAGED, composite_groups=True))
    made = CapabilityWatch(None, tell=cluster.tell, alpha=alpha)  # type: ignore[arg-type]  # as above
    await made.look_first(1)
    assert made.current == replace(MANAGED, composite_groups=bool(alpha))


async def test_a_doubt_before_the_first_look_is_none() -> None:
    CapabilityWatch(None).doubt()  # type: ignore[arg-type]  # nothing is asked


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ((NATIVE, NATIVE), []),
        ((NATIVE, MANAGED), ["CapabilitiesChanged"]),
        ((NATIVE, MANAGED, NATIVE), ["CapabilitiesChanged", "CapabilitiesChanged", "DangerousGates"]),
        ((replace(NATIVE, topology=False),), ["DangerousGates"]),
    ],
    ids=["nothing new", "a gate went off", "API servers that differ", "a mixture at the start"],
)
async def test_what_changed_is_told(monkeypatch: pytest.MonkeyPatch, answers: tuple[Capabilities, ...], told: list[str]) -> None:
    cluster = Cluster(monkeypatch, *answers)
    made = watch(cluster)
    for _ in answers:
        await made.look_first(1)
    assert cluster.told == told
    assert made.current == answers[-1]


async def test_an_event_that_cannot_be_written_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, NATIVE, MANAGED)

    async def refuse(_: Tell) -> None:
        raise ClusterError("events are forbidden", verb="create", key="", status=403)

    made = watch(cluster, tell=refuse)
    await made.look_first(1)
    await made.look_first(1)
    assert made.current == MANAGED


FORBIDDEN = ClusterError("pods are forbidden", verb="create", key="", status=403)


@pytest.mark.parametrize(
    ("verdicts", "known", "told"),
    [
        ([True], True, []),
        ([False, False], False, ["DangerousGates"]),
        ([None, FORBIDDEN], None, []),
        ([True, None], True, []),
        ([True, False], False, ["CapabilitiesChanged", "DangerousGates"]),
        ([False, True], True, ["DangerousGates", "CapabilitiesChanged"]),
    ],
    ids=["it keeps groups", "it ignores them, told once", "nobody knows", "a silence changes nothing", "off", "on"],
)
async def test_what_the_scheduler_does_is_found_out_beside_the_looks(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[bool | ClusterError | None], known: bool | None, told: list[str]
) -> None:
    monkeypatch.setattr(capabilities, "_LOOK_SECONDS", 0.0)
    cluster = Cluster(monkeypatch, *[NATIVE] * 100)
    cluster.verdicts = list(verdicts)
    monkeypatch.setattr(CapabilityWatch, "_look_again", asyncio.Event().wait)
    made = watch(cluster, canary_namespace="ns")
    await made.look_first(1)
    assert made.current.scheduler_groups is None
    running = asyncio.create_task(made.run())
    try:
        async with asyncio.timeout(60):
            await cluster.asked.wait()
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert (made.current.scheduler_groups, cluster.told) == (known, told)


async def test_a_scheduler_is_not_asked_about_groups_that_there_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, NATIVE, Capabilities())
    made = watch(cluster, canary_namespace="ns")
    await made.look_first(1)
    made.current = replace(made.current, scheduler_groups=True)
    await made.look_first(1)
    assert made.current == Capabilities()
