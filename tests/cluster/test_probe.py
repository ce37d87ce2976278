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
ALPHA_DISCOVERY = "/apis/scheduling.k8s.io/v1alpha3"
SERVED = {"resources": [{"name": "workloads"}, {"name": "podgroups"}, {"name": "podgroups/status"}]}
ALPHA_SERVED = {"resources": [*SERVED["resources"], {"name": "compositepodgroups"}]}
GATES = (
    "WorkloadWithJob",
    "TopologyAwareWorkloadScheduling",
    "DRAWorkloadResourceClaims",
    "PodGroupPreemptionPolicy",
    "CompositePodGroup",
)


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
        (
            ("spec.parentCompositePodGroupName",),
            Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True),
        ),
    ],
    ids=[
        "all gates on",
        "GenericWorkload alone",
        "with DRAWorkloadResourceClaims",
        "an upgrade at half time",
        "CompositePodGroup off",
    ],
)
async def test_a_field_that_survives_is_a_capability(
    fake: FakeApi, api: Api, dropped: tuple[str, ...], expected: Capabilities
) -> None:
    fake.documents[DISCOVERY] = SERVED
    dropping(fake, *dropped)
    assert await probe_capabilities(api) == expected


@pytest.mark.parametrize("is_served", [True, False])
async def test_groups_of_groups_are_possible_where_their_kind_is_served_as_well(fake: FakeApi, api: Api, is_served: bool) -> None:
    fake.documents |= {DISCOVERY: SERVED, ALPHA_DISCOVERY: ALPHA_SERVED if is_served else SERVED}
    found = await probe_capabilities(api)
    assert (found.composite_groups, found.topology) == (is_served, True)


async def test_a_preemption_policy_that_the_server_fills_in_is_one_that_it_knows(fake: FakeApi, api: Api) -> None:
    fake.documents[DISCOVERY] = SERVED
    fake.admit = lambda body: {**body, "spec": {**body["spec"], "preemptionPolicy": "Never"}}
    assert (await probe_capabilities(api)).preemption_policy
    assert all("preemptionPolicy" not in request.body["spec"] for request in fake.seen("POST"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"WorkloadWithJob": 1, "DRAWorkloadResourceClaims": 1},
            Capabilities(group_objects=True, native_jobs=True, shared_claims=True),
        ),
        ({"PodGroupPreemptionPolicy": 1}, Capabilities(group_objects=True, preemption_policy=True)),
    ],
    ids=["Jobs and claims", "preemptionPolicy"],
)
async def test_gates_are_read_from_metrics_where_the_probe_is_refused(
    fake: FakeApi, api: Api, said: dict[str, int], expected: Capabilities
) -> None:
    fake.documents[DISCOVERY] = SERVED
    fake.forbidden.append("/jobs")
    fake.metrics = "".join(
        f'kubernetes_feature_enabled{{name="{gate}",stage="ALPHA"}} {said.get(gate, 0)}\n' for gate in (*GATES, "Other")
    )
    assert await probe_capabilities(api, known=Capabilities(topology=True)) == expected


async def test_metrics_of_another_release_teach_nothing(fake: FakeApi, api: Api) -> None:
    fake.documents[DISCOVERY] = SERVED
    fake.forbidden.append("/jobs")
    fake.metrics = 'kubernetes_feature_enabled{name="WorkloadWithJob",stage="ALPHA"} 1\n'
    known = Capabilities(topology=True)
    assert await probe_capabilities(api, known=known) == Capabilities(group_objects=True, topology=True)


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
