"""Webhook configurations in place: ours as planned, others' as they were, the caBundle as the rotation left it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.cluster.fake_api import FakeApi, Json
from webhook.cluster import Api, WebhookConfigurations
from webhook.cluster.configurations import merge_configuration
from webhook.errors import ClusterError
from webhook.model.objects import ObjectKey

BASE = "/apis/admissionregistration.k8s.io/v1"
PATH = f"{BASE}/mutatingwebhookconfigurations/gangwarden"
KEY = ObjectKey("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "", "gangwarden")
BUNDLE = b"-----BEGIN CERTIFICATE-----\n"
ENCODED = base64.b64encode(BUNDLE).decode()


def webhook(name: str, **fields: Any) -> Json:
    client = {"url": "https://gangwarden.example:9443/mutate/ignore"}
    return {"name": name, "clientConfig": client, "rules": [{"resources": ["jobs"]}], "sideEffects": "None"} | fields


def configuration(*webhooks: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "gangwarden"} | metadata,
        "webhooks": list(webhooks),
    }


OURS = webhook("ignore.mutate.gangwarden.dev")


async def test_what_is_absent_is_created_and_what_is_right_is_left_alone(fake: FakeApi, api: Api) -> None:
    live = WebhookConfigurations(api, "gangwarden")
    assert await live.apply([configuration(OURS)]) == (KEY,)
    assert await live.apply([configuration(OURS)]) == ()
    assert (len(fake.seen("POST")), len(fake.seen("PUT")), len(fake.seen("DELETE"))) == (1, 0, 0)


async def test_a_change_keeps_the_object_and_its_bundle(fake: FakeApi, api: Api) -> None:
    live = WebhookConfigurations(api, "gangwarden")
    await live.apply([configuration(OURS)])
    before = fake.objects[PATH]["metadata"]["uid"]
    await publish(live, BUNDLE)
    await live.apply([configuration(webhook("ignore.mutate.gangwarden.dev", rules=[{"resources": ["jobs", "cronjobs"]}]))])
    (stored,) = fake.objects[PATH]["webhooks"]
    assert stored["rules"] == [{"resources": ["jobs", "cronjobs"]}]
    assert stored["clientConfig"]["caBundle"] == ENCODED
    assert fake.objects[PATH]["metadata"]["uid"] == before


def test_an_empty_list_is_what_the_api_server_stores_of_it_and_takes_away_what_was_there() -> None:
    planned = configuration(webhook("evictions.gangwarden.dev", objectSelector={"matchExpressions": []}, matchConditions=[]))
    stored = configuration(webhook("evictions.gangwarden.dev", objectSelector={}))
    assert merge_configuration(stored, planned) == stored
    edited = webhook(
        "evictions.gangwarden.dev",
        objectSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        matchConditions=[{"name": "mine", "expression": "false"}],
    )
    assert merge_configuration(configuration(edited), planned) == stored


def test_nothing_is_added_to_what_is_selected() -> None:
    """Else one label that nothing carries takes a webhook out of use, and every look finds it as planned."""
    planned = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}
    selectors = {"namespaceSelector": planned, "objectSelector": {"matchExpressions": []}}
    added = {"matchLabels": {"no": "such"}}
    live = configuration(webhook(OURS["name"], namespaceSelector=planned | added, objectSelector=added))
    (merged,) = merge_configuration(live, configuration(webhook(OURS["name"], **selectors)))["webhooks"]
    assert (merged["namespaceSelector"], merged["objectSelector"]) == (planned, {})


def test_what_others_wrote_stays() -> None:
    live = configuration(
        webhook("policy.example.com", failurePolicy="Fail"),
        webhook("ignore.mutate.gangwarden.dev", matchConditions=[{"name": "not-us"}]),
        annotations={"cert-manager.io/inject-ca-from": "ns/name"},
    )
    merged = merge_configuration(live, configuration(OURS, labels={"app.kubernetes.io/managed-by": "gangwarden"}))
    assert [item["name"] for item in merged["webhooks"]] == ["ignore.mutate.gangwarden.dev", "policy.example.com"]
    assert merged["webhooks"][0]["matchConditions"] == [{"name": "not-us"}]
    assert merged["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "ns/name"}


def test_ours_that_are_no_longer_planned_go() -> None:
    live = configuration(OURS, webhook("fail.mutate.gangwarden.dev"))
    assert [item["name"] for item in merge_configuration(live, configuration(OURS))["webhooks"]] == [OURS["name"]]


def test_a_service_does_not_stay_beside_a_new_url() -> None:
    service = {"service": {"name": "gangwarden", "namespace": "ns"}, "caBundle": ENCODED}
    live = configuration(webhook(OURS["name"], clientConfig=service))
    (merged,) = merge_configuration(live, configuration(OURS))["webhooks"]
    assert merged["clientConfig"] == OURS["clientConfig"] | {"caBundle": ENCODED}


async def publish(live: WebhookConfigurations, bundle: bytes) -> None:
    await live.publish(bundle, {each.place: each.version for each in await live.published()})


async def bundles(live: WebhookConfigurations) -> list[bytes]:
    return [each.bundle for each in await live.published()]


async def test_a_bundle_is_published_to_ours_only(fake: FakeApi, api: Api) -> None:
    await fake.put(PATH, configuration(OURS, webhook("policy.example.com")))
    live = WebhookConfigurations(api, "gangwarden")
    assert await bundles(live) == [b""]
    await publish(live, BUNDLE)
    await publish(live, BUNDLE)
    assert await bundles(live) == [BUNDLE]
    assert "caBundle" not in fake.objects[PATH]["webhooks"][1]["clientConfig"]
    assert len(fake.seen("PUT")) == 1


async def test_a_bundle_is_published_only_over_what_was_seen(fake: FakeApi, api: Api) -> None:
    await fake.put(PATH, configuration(OURS))
    live = WebhookConfigurations(api, "gangwarden")
    seen = {each.place: each.version for each in await live.published()}
    await publish(live, BUNDLE)
    with pytest.raises(ClusterError) as caught:
        await live.publish(b"older", seen)
    assert caught.value.status == 409
    assert await bundles(live) == [BUNDLE]


async def test_a_bundle_that_is_no_base64_trusts_nobody(fake: FakeApi, api: Api) -> None:
    client = OURS["clientConfig"] | {"caBundle": "half a li"}
    await fake.put(PATH, configuration(webhook(OURS["name"], clientConfig=client)))
    assert await bundles(WebhookConfigurations(api, "gangwarden")) == [b""]


INJECTED = {"cert-manager.io/inject-ca-from": "gangwarden-system/gangwarden"}


@pytest.mark.parametrize(("annotations", "foreign"), [(INJECTED, True), ({"cert-manager.io/other": "x"}, False), ({}, False)])
async def test_an_annotation_says_that_an_injector_keeps_the_bundle(
    annotations: Json, foreign: bool, fake: FakeApi, api: Api
) -> None:
    await fake.put(PATH, configuration(OURS, annotations=annotations))
    (each,) = await WebhookConfigurations(api, "gangwarden").published()
    assert each.foreign == foreign
    (each,) = await WebhookConfigurations(api, "gangwarden", foreign=True).published()
    assert each.foreign


async def test_a_plan_fills_in_bundles_and_overwrites_none(fake: FakeApi, api: Api) -> None:
    await fake.put(PATH, configuration(with_bundle(OURS, ENCODED)))
    live = WebhookConfigurations(api, "gangwarden")
    other = webhook("fail.mutate.gangwarden.dev")
    planned = configuration(with_bundle(OURS, "b3RoZXI="), with_bundle(other, "b3RoZXI="))
    await live.apply([planned], keep_bundles=True)
    assert await bundles(live) == [BUNDLE, b"other"]
    await live.apply([planned])
    assert await bundles(live) == [b"other", b"other"]


def with_bundle(given: Json, encoded: str) -> Json:
    return given | {"clientConfig": given["clientConfig"] | {"caBundle": encoded}}


async def test_without_a_registration_nothing_is_published_and_nothing_made(fake: FakeApi, api: Api) -> None:
    live = WebhookConfigurations(api, "gangwarden")
    await live.publish(BUNDLE, {str(KEY): "1"})
    assert (await live.published(), fake.objects) == ((), {})


async def test_deleting_takes_ours_away_and_says_what_was_there(fake: FakeApi, api: Api) -> None:
    await fake.put(PATH, configuration(OURS))
    await fake.put(f"{BASE}/mutatingwebhookconfigurations/other", configuration(OURS, name="other"))
    live = WebhookConfigurations(api, "gangwarden")
    assert (await live.delete(), await live.delete()) == ((KEY,), ())
    assert list(fake.objects) == [f"{BASE}/mutatingwebhookconfigurations/other"]
