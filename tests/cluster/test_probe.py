"""The capability probe against API servers that keep or drop fields (the real ones: tests/e2e/test_cluster_room.py)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.cluster.fake_api import FakeApi, Json
from webhook.cluster import Api, probe_capabilities
from webhook.errors import ClusterError
from webhook.model.groups import Capabilities

DISCOVERY = "/apis/scheduling.k8s.io/v1beta1"
SERVED = {"resources": [{"name": "workloads"}, {"name": "podgroups"}, {"name": "podgroups/status"}]}


def dropping(fake: FakeApi, *paths: str) -> None:
    """Let the server admit what it is sent but for these fields."""

    def admit(body: Json) -> Json:
        answer: Any = copy.deepcopy(body)
        for path in paths:
            place, *steps = answer, *path.split(".")
            for step in steps[:-1]:
                place = place.get(step, {})
            place.pop(steps[-1], None)
        return answer

    fake.admit = admit


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [
        ((), Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True)),
        (("spec.scheduling", "spec.schedulingConstraints", "spec.resourceClaims"), Capabilities(group_objects=True)),
        (("spec.scheduling", "spec.schedulingConstraints"), Capabilities(group_objects=True, shared_claims=True)),
        (("spec.template.spec.schedulingGroup", "spec.scheduling"), Capabilities(topology=True, shared_claims=True)),
    ],
    ids=["all gates on", "GenericWorkload alone", "with DRAWorkloadResourceClaims", "an API server in the middle of an upgrade"],
)
async def test_a_field_that_survives_is_a_capability(
    fake: FakeApi, api: Api, dropped: tuple[str, ...], expected: Capabilities
) -> None:
    fake.documents[DISCOVERY] = SERVED
    dropping(fake, *dropped)
    assert await probe_capabilities(api) == expected


async def test_without_the_group_api_nothing_is_possible_and_nothing_is_sent(fake: FakeApi, api: Api) -> None:
    assert await probe_capabilities(api) == Capabilities()
    assert fake.seen("POST") == []


async def test_probes_are_dry_and_marked(fake: FakeApi, api: Api) -> None:
    fake.documents[DISCOVERY] = SERVED
    await probe_capabilities(api, namespace="ns")
    for request in fake.seen("POST"):
        assert request.query == {"dryRun": "All"}
        assert request.body["metadata"]["labels"] == {"gangwarden.dev/probe": "true"}
    assert fake.objects == {}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, Capabilities(group_objects=True)),
        (Capabilities(topology=True), Capabilities(group_objects=True, topology=True)),
    ],
    ids=["nothing else was known", "what was known stays"],
)
async def test_a_probe_that_is_refused_leaves_what_is_served(
    fake: FakeApi, api: Api, known: Capabilities | None, expected: Capabilities
) -> None:
    """A policy against Jobs in the namespace of the probe must not look like a cluster without groups."""
    fake.documents[DISCOVERY] = SERVED
    fake.forbidden.append("/jobs")
    assert await probe_capabilities(api, known=known) == expected


async def test_an_api_server_that_is_away_teaches_nothing(fake: FakeApi, api: Api) -> None:
    fake.documents[DISCOVERY] = SERVED
    fake.failures += [(503, {"message": "overloaded"})] * 10
    with pytest.raises(ClusterError, match="503"):
        await probe_capabilities(api)
