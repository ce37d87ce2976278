"""What a controller counts: groups by state, restarts, stranded resources, who leads; and the page it is read from."""

from __future__ import annotations

import asyncio
import urllib.request
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from webhook.model.disruption import GroupState, LossCause, RestartOutcome
from webhook.server import GroupMetrics, Metrics, build_status_app, serve
from webhook.settings import ServingSettings


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def test_every_state_is_there_from_the_begin() -> None:
    registry = CollectorRegistry()
    metrics = GroupMetrics(registry, stranded=dict, leads=lambda: False)
    assert {state.value: value(registry, "gangwarden_groups", state=state.value) for state in GroupState} == dict.fromkeys(
        GroupState, 0
    )
    metrics.groups({GroupState.WHOLE: 3})
    metrics.groups({GroupState.HELD: 1})
    assert value(registry, "gangwarden_groups", state="whole") == 0
    assert value(registry, "gangwarden_groups", state="held") == 1


def test_restarts_are_counted_by_cause_and_outcome() -> None:
    registry = CollectorRegistry()
    metrics = GroupMetrics(registry, stranded=dict, leads=lambda: False)
    metrics.restarted(LossCause.EVICTED, RestartOutcome.WHOLE)
    metrics.restarted(LossCause.EVICTED, RestartOutcome.WHOLE)
    found = value(registry, "gangwarden_group_restarts_total", cause="EvictionByEvictionAPI", outcome="whole")
    assert found == 2


def test_stranded_seconds_follow_their_totals_at_each_scrape() -> None:
    registry, totals = CollectorRegistry(), {("cpu", "NodeGone"): 5.0}
    GroupMetrics(registry, stranded=lambda: totals, leads=lambda: False)
    labels = {"resource": "cpu", "cause": "NodeGone"}
    assert value(registry, "gangwarden_stranded_resource_seconds_total", **labels) == 5.0
    totals["cpu", "NodeGone"] = 7.5
    assert value(registry, "gangwarden_stranded_resource_seconds_total", **labels) == 7.5


@pytest.mark.parametrize(("leads", "shown"), [(True, 1.0), (False, 0.0)])
def test_who_leads_is_told(leads: bool, shown: float) -> None:
    registry = CollectorRegistry()
    GroupMetrics(registry, stranded=dict, leads=lambda: leads)
    assert value(registry, "gangwarden_leader") == shown


def test_the_age_of_the_snapshot_is_asked_for_at_each_scrape() -> None:
    metrics, ages = Metrics(CollectorRegistry()), iter([1.0, 2.0])
    metrics.snapshot_ages(lambda: next(ages))
    assert [value(metrics.registry, "gangwarden_snapshot_age_seconds") for _ in range(2)] == [1.0, 2.0]


async def test_a_process_without_reviews_tells_how_it_is_over_plain_http() -> None:
    metrics, stop, unmet = Metrics(CollectorRegistry()), asyncio.Event(), ["pods are still being read"]
    app = build_status_app(lambda: unmet, metrics=metrics, stop=stop, policies=lambda: {"hash": "abc"})
    ports: asyncio.Queue[int] = asyncio.Queue()
    place = replace(ServingSettings(), host="127.0.0.1", port=0, drain_seconds=0)
    serving = asyncio.create_task(serve(app, None, place, stop=stop, started=ports.put_nowait))
    base = f"http://127.0.0.1:{await asyncio.wait_for(ports.get(), 10)}"
    try:
        assert await fetched(f"{base}/healthz") == (200, "ok\n")
        assert await fetched(f"{base}/readyz") == (503, "not ready:\n- pods are still being read\n")
        unmet.clear()
        assert await fetched(f"{base}/readyz") == (200, "ok\n")
        assert "gangwarden_snapshot_age_seconds" in (await fetched(f"{base}/metrics"))[1]
        assert (await fetched(f"{base}/validate/fail"))[0] == 404
        assert await fetched(f"{base}/debug/policies") == (200, '{\n  "hash": "abc"\n}\n')
    finally:
        stop.set()
        await serving


async def fetched(url: str) -> tuple[int, str]:
    def get() -> tuple[int, str]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(get)
