"""Certificate material in a Secret, written only over the version that was read."""

from __future__ import annotations

import pytest

from tests.cluster.fake_api import FakeApi
from webhook.cluster import Api, SecretStore
from webhook.errors import ClusterError

PATH = "/api/v1/namespaces/ns/secrets/certs"


@pytest.fixture
def store(api: Api) -> SecretStore:
    return SecretStore(api, namespace="ns", name="certs")


async def test_what_is_saved_is_loaded(store: SecretStore) -> None:
    assert await store.load() is None
    version = await store.save({"tls.crt": b"\x00leaf", "ca.key": b"key"}, None)
    assert await store.load() == ({"tls.crt": b"\x00leaf", "ca.key": b"key"}, version)


async def test_a_slower_process_is_told_so(store: SecretStore) -> None:
    read = await store.save({"tls.crt": b"one"}, None)
    await store.save({"tls.crt": b"two"}, read)
    with pytest.raises(ClusterError) as caught:
        await store.save({"tls.crt": b"three"}, read)
    assert caught.value.status == 409
    loaded = await store.load()
    assert loaded is not None
    assert loaded[0] == {"tls.crt": b"two"}


async def test_who_writes_over_a_deleted_secret_is_told_to_look_again(fake: FakeApi, store: SecretStore) -> None:
    read = await store.save({"tls.crt": b"one"}, None)
    await fake.remove(PATH)
    with pytest.raises(ClusterError) as caught:
        await store.save({"tls.crt": b"two"}, read)
    assert caught.value.status == 409


async def test_two_that_create_at_once_find_one_winner(store: SecretStore) -> None:
    await store.save({"tls.crt": b"one"}, None)
    with pytest.raises(ClusterError) as caught:
        await store.save({"tls.crt": b"two"}, None)
    assert caught.value.status == 409


async def test_a_secret_that_somebody_prepared_keeps_type_and_labels(fake: FakeApi, store: SecretStore) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    prepared = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"namespace": "ns", "name": "certs", "labels": labels},
    }
    await fake.put(PATH, prepared)
    loaded = await store.load()
    assert loaded is not None
    await store.save({"tls.crt": b"leaf"}, loaded[1])
    assert (fake.objects[PATH]["type"], fake.objects[PATH]["metadata"]["labels"]) == ("kubernetes.io/tls", labels)
