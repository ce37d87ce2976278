"""Certificates on a real API server: two replicas with one Secret are rotated and robbed of it while calls go on; and material
of others, an injector and a wrong clock, with the room alone."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.certs.fakes import Listener
from tests.certs.material import AUTHORITY, Wish, issue, material
from tests.controlplane.client import wait_for
from tests.e2e.installation import SYSTEM_NAMESPACE, Installation
from tests.e2e.outside import bundles, is_stamped, served
from webhook.certs import Profile, Rotator, inspect_material
from webhook.cluster import Api, SecretStore, WebhookConfigurations, connect
from webhook.cluster import connection as connection_module
from webhook.model.objects import ObjectKey, metadata_of

ROOT = Path(__file__).resolve().parents[2]
SECRETS = "v1/secrets"
SECRET = "certs-of-replicas"
PLACE = f"{SYSTEM_NAMESPACE}/{SECRET}"
WAIT_SECONDS = 90.0
PROFILE = """
apiVersion: gangwarden.dev/v1alpha1
kind: CertificateProfile
metadata: {name: patient}
spec:
  overlapSeconds: 10
  checkSeconds: 1
"""


@pytest.fixture(scope="module")
def two(control_plane, tmp_path_factory):
    """Two replicas with one Secret; the API server calls the first."""
    directory = tmp_path_factory.mktemp("certificates")
    (directory / "profile.yaml").write_text(PROFILE)
    made = Installation(control_plane, ROOT / "policies", directory)
    shared = ("--cert-secret", PLACE, "--cert-profile", str(directory / "profile.yaml"))
    replica = None
    try:
        made.start_webhook("serve", *shared)
        replica, made.second_port = made.start_replica(*shared)
        yield made
    finally:
        if replica is not None:
            replica.stop()
        made.close()
        made.client.delete(SECRETS, SYSTEM_NAMESPACE, SECRET)
        print(made.logs())


class Callers:
    """Calls through the API server, and handshakes with each replica by what is live, until the block ends."""

    def __init__(self, two, namespace):
        self.two, self.namespace, self.failures, self.count = two, namespace, [], 0
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._call)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _call(self):
        while not self._stop.wait(0.05):
            try:
                if not is_stamped(self.two.client, self.namespace):
                    self.failures.append("not stamped")
                for bundle in bundles(self.two.client):
                    for port in (self.two.port, self.two.second_port):
                        served(port, trusting=base64.b64decode(bundle).decode())
                self.count += 1
            except TimeoutError:
                continue  # a busy machine: no certificate makes a handshake slow
            except Exception as error:  # noqa: BLE001 - whatever a caller meets is what is looked for
                self.failures.append(repr(error))


def stored(two):
    found = two.client.find(SECRETS, SYSTEM_NAMESPACE, SECRET)
    return {name: base64.b64decode(value) for name, value in found["data"].items()} if found else {}


def shown(two):
    """Return the certificate of each replica, whoever trusts it."""
    trusting = base64.b64decode(next(iter(bundles(two.client)))).decode()
    return [served(port, trusting=trusting) for port in (two.port, two.second_port)]


def certs(two, *args):
    command = [str(Path(sys.executable).parent / "gangwarden"), "certs", *args, "--kubeconfig", str(two.cluster.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def both_serve_another(two, before):
    def changed():
        now = shown(two)
        return now[0] == now[1] and not set(now) & set(before)

    wait_for(changed, seconds=WAIT_SECONDS, what="both replicas serve the new certificate")


@pytest.mark.parametrize("what", ["certificate", "authority"])
def test_no_call_fails_while_something_is_replaced(two, namespace, what):
    before, files = shown(two), stored(two)
    with Callers(two, namespace) as callers:
        done = certs(two, "rotate", "--secret", PLACE, *(["--authority"] if what == "authority" else []))
        assert done.returncode == 0, done.stderr
        both_serve_another(two, before)
        seen = callers.count
        wait_for(lambda: callers.count > seen + 2 or callers.failures, seconds=WAIT_SECONDS, what="calls went on after it")
    assert callers.failures == []
    after = stored(two)
    assert (after["ca.crt"] != files["ca.crt"]) == (what == "authority")
    assert after["ca.crt"].endswith(files["ca.crt"])
    verdict = certs(two, "show", "--secret", PLACE, "--live", "-o", "json")
    assert verdict.returncode == 0, verdict.stdout
    assert {one["problem"] for one in json.loads(verdict.stdout)["live"]} == {""}


LOSSES = {
    "deleted": lambda two: two.client.delete(SECRETS, SYSTEM_NAMESPACE, SECRET),
    "damaged": lambda two: two.client.patch(
        SECRETS, SYSTEM_NAMESPACE, SECRET, {"data": {"tls.crt": base64.b64encode(stored(two)["tls.crt"][:200]).decode()}}
    ),
    "without its authority": lambda two: two.client.patch(
        SECRETS, SYSTEM_NAMESPACE, SECRET, {"data": {"ca.crt": "", "ca.key": "", "tls.key": ""}}
    ),
}


@pytest.mark.parametrize("how", LOSSES)
def test_no_call_fails_while_the_secret_is_restored(two, namespace, how):
    before = stored(two)
    with Callers(two, namespace) as callers:
        LOSSES[how](two)
        wait_for(lambda: stored(two) == before, seconds=WAIT_SECONDS, what="the Secret is back as it was")
        seen = callers.count
        wait_for(lambda: callers.count > seen + 2 or callers.failures, seconds=WAIT_SECONDS, what="calls went on after it")
    assert callers.failures == []


def test_no_key_is_logged(two):
    logs = "".join(path.read_text() for path in two.directory.glob("*.log"))
    keys = [stored(two)[name].decode().splitlines()[1] for name in ("ca.key", "tls.key")]
    assert not any(key in logs for key in keys)
    assert "PRIVATE KEY" not in logs


def configuration(name, **annotations):
    webhook = {
        "name": "ignore.mutate.gangwarden.dev",
        "clientConfig": {"service": {"namespace": "none", "name": "none", "path": "/mutate/ignore"}},
        "rules": [{"apiGroups": ["none.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nones"]}],
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return kind | {"metadata": {"name": name, "annotations": annotations}, "webhooks": [webhook]}


def of_cert_manager(namespace, files, *, version=""):
    """Return a Secret as cert-manager writes it: typed, and without the authority's key."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"namespace": namespace, "name": "issued", "annotations": {"cert-manager.io/certificate-name": "hook"}}
        | ({"resourceVersion": version} if version else {}),
        "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
    }


def issued():
    now = datetime.now(UTC)
    dates = {"start": now - timedelta(days=1), "end": now + timedelta(days=30)}
    root = issue(AUTHORITY.but(**dates))
    return material(issue(Wish().but(**dates), root), root)


async def test_what_cert_manager_issues_is_served_and_an_injected_bundle_is_left_alone(control_plane, namespace):
    first, second = issued(), issued()
    async with await connect(str(control_plane.kubeconfig)) as opened:
        api = Api.over(opened)
        live, secret = WebhookConfigurations(api, namespace), SecretStore(api, namespace=namespace, name="issued")
        created = await api.create(of_cert_manager(namespace, first.as_files()))
        seconds, listener = [0.0], Listener()
        rotator = Rotator(secret, profile=Profile(), clock=opened.now, publisher=live, timer=lambda: seconds[0])
        (key,) = await live.apply([configuration(namespace, **{"cert-manager.io/inject-ca-from": f"{namespace}/hook"})])
        try:
            rotator.attach(listener, await rotator.follow(["gangwarden.test"]))
            assert [each.bundle for each in await live.published()] == [b""]  # the injector has not come by yet
            assert "the CA bundle is empty" in await rotator.distrust()
            await api.merge_patch(key, {"webhooks": [injected((await api.get(key))["webhooks"][0], first.ca)]})
            await rotator.follow(["gangwarden.test"])
            assert (await rotator.distrust(), listener.material) == ("", first)
            # cert-manager issues anew, under another authority, and the injector is late
            version = metadata_of(created)["resourceVersion"]
            await api.replace(of_cert_manager(namespace, second.as_files(), version=version))
            await rotator.follow(["gangwarden.test"])
            assert (await rotator.distrust(), listener.material) == ("", first)
            await api.merge_patch(key, {"webhooks": [injected((await api.get(key))["webhooks"][0], second.ca)]})
            await rotator.follow(["gangwarden.test"])
            assert (await rotator.distrust(), listener.material) == ("", second)
            # without the annotation the replicas keep the bundle, and both authorities stay in it for a while
            await api.merge_patch(key, {"metadata": {"annotations": {"cert-manager.io/inject-ca-from": None}}})
            version = metadata_of(await api.get(ObjectKey.of(created)))["resourceVersion"]
            await api.replace(of_cert_manager(namespace, first.as_files(), version=version))
            await rotator.follow(["gangwarden.test"])
            assert [each.bundle for each in await live.published()] == [first.ca + second.ca]
            assert listener.material == second
            for _ in range(40):
                seconds[0] += 30.0
                await rotator.follow(["gangwarden.test"])
            assert (await rotator.distrust(), listener.material) == ("", first)
            assert [each.bundle for each in await live.published()] == [first.ca]
        finally:
            await live.delete()


def injected(webhook, bundle):
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": base64.b64encode(bundle).decode()}}


@pytest.mark.parametrize("hours", [5, -5, 24 * 400])
async def test_a_replica_whose_clock_is_wrong_makes_certificates_by_the_api_servers_clock(
    control_plane, namespace, monkeypatch, hours
):
    class Wrong(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=hours)

    async with await connect(str(control_plane.kubeconfig)) as opened:
        monkeypatch.setattr(connection_module, "datetime", Wrong)
        store = SecretStore(Api.over(opened), namespace=namespace, name="certs")
        wrong = Rotator(store, profile=Profile(), clock=opened.now)
        leaf = inspect_material(await wrong.renew()).leaf
        assert leaf.is_valid(datetime.now(UTC))
        assert abs(leaf.not_after - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=5)
        before = await store.load()
        await Rotator(store, profile=Profile(), clock=lambda: datetime.now(UTC)).renew()
        await wrong.renew()
        assert await store.load() == before  # neither undoes what the other made
