"""``certs rotate`` and ``certs show`` where a Secret and live webhook configurations are asked."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.conftest import Gangwarden
from tests.cluster.fake_api import FakeApi, Json
from webhook.certs import Material, Profile, load_material, mint_authority, mint_leaf, write_material

BASE = "/apis/admissionregistration.k8s.io/v1"
SECRET = "/api/v1/namespaces/gw/secrets/certs"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder as ``certs init`` makes it."""
    return make(tmp_path / "certs")


def make(directory: Path) -> Path:
    profile, now = Profile().with_dns_names("hook.gw.svc", "hook.gw.svc.cluster.local"), datetime.now(UTC)
    authority = mint_authority(profile, now)
    leaf = mint_leaf(profile, authority, now)
    material = Material(ca=authority.certificate, ca_key=authority.key, certificate=leaf.certificate, key=leaf.key)
    write_material(directory, material.as_files())
    return directory


class Cluster:
    """A fake API server, and commands that speak with it."""

    def __init__(self, fake: FakeApi, kubeconfig: str, run: Gangwarden) -> None:
        self.fake, self.kubeconfig, self.run = fake, kubeconfig, run

    async def certs(self, *args: Any) -> Result:
        return await asyncio.to_thread(self.run, "certs", *args, "--kubeconfig", self.kubeconfig)

    async def store(self, files: dict[str, bytes]) -> None:
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        metadata = {"namespace": "gw", "name": "certs"}
        await self.fake.put(SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})

    async def register(self, bundle: bytes, **annotations: str) -> None:
        for kind in ("Mutating", "Validating"):
            client = {"service": {"namespace": "gw", "name": "hook"}, "caBundle": base64.b64encode(bundle).decode()}
            obj = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": "gangwarden", "annotations": annotations},
                "webhooks": [{"name": f"fail.{kind.lower()}.gangwarden.dev", "clientConfig": client}],
            }
            await self.fake.put(f"{BASE}/{kind.lower()}webhookconfigurations/gangwarden", obj)

    def stored(self) -> dict[str, bytes]:
        data: Json = self.fake.objects[SECRET]["data"]
        return {name: base64.b64decode(content) for name, content in data.items()}


@pytest.fixture
def cluster(fake: FakeApi, tmp_path: Path, gangwarden: Gangwarden) -> Cluster:
    return Cluster(fake, fake.kubeconfig(tmp_path), gangwarden)


def test_rotate_replaces_the_certificate_and_keeps_its_names(made: Path, gangwarden: Gangwarden) -> None:
    before = load_material(made)
    result = gangwarden("certs", "rotate", made)
    assert (result.exit_code, result.stdout) == (0, "there is a new certificate\n")
    after = load_material(made)
    assert [after[name] == before[name] for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")] == [True, True, False, False]
    assert "hook.gw.svc, hook.gw.svc.cluster.local" in gangwarden("certs", "show", made).stdout


def test_rotate_authority_puts_a_new_one_beside_the_old(made: Path, gangwarden: Gangwarden) -> None:
    before = load_material(made)
    assert gangwarden("certs", "rotate", made, "--authority").exit_code == 0
    after = load_material(made)
    assert after["ca.crt"].endswith(before["ca.crt"])
    assert (after["ca.key"] != before["ca.key"], after["tls.crt"] == before["tls.crt"]) == (True, True)
    again = gangwarden("certs", "rotate", made, "--authority")
    assert again.exit_code == 4
    assert "not in use yet" in again.stderr
    assert gangwarden("certs", "show", made).stdout.count("authority  ") == 2


@pytest.mark.parametrize("args", [(), ("--secret", "x"), (".", "--secret", "gw/certs")])
def test_rotate_wants_one_place(args: tuple[str, ...], gangwarden: Gangwarden) -> None:
    assert gangwarden("certs", "rotate", *args).exit_code == 2


async def test_rotate_writes_the_secret_of_running_replicas(made: Path, cluster: Cluster) -> None:
    before = load_material(made)
    await cluster.store(before)
    assert (await cluster.certs("rotate", "--secret", "gw/certs")).exit_code == 0
    assert cluster.stored()["tls.crt"] != before["tls.crt"]
    assert cluster.stored()["ca.key"] == before["ca.key"]


async def test_rotate_leaves_material_of_others_alone(made: Path, cluster: Cluster) -> None:
    (made / "ca.key").unlink()
    await cluster.store(load_material(made))
    result = await cluster.certs("rotate", "--secret", "gw/certs", "--authority")
    assert (result.exit_code, "somebody else's" in result.stderr) == (4, True)
    assert cluster.stored() == load_material(made)


async def test_show_reads_a_secret_and_asks_the_live_bundles(made: Path, cluster: Cluster) -> None:
    files = load_material(made)
    await cluster.store(files)
    await cluster.register(files["ca.crt"])
    result = await cluster.certs("show", "--secret", "gw/certs", "--live")
    assert result.exit_code == 0, result.output
    assert "verdict      the API server accepts it" in result.stdout
    facts = json.loads((await cluster.certs("show", "--secret", "gw/certs", "--live", "-o", "json")).stdout)
    assert [(one["webhook"], one["injected"], one["problem"]) for one in facts["live"]] == [
        ("fail.mutating.gangwarden.dev", False, ""),
        ("fail.validating.gangwarden.dev", False, ""),
    ]
    assert files["ca.key"].decode() not in json.dumps(facts)


@pytest.mark.parametrize("kind", ["of somebody else", "garbage", "nothing"])
async def test_show_says_that_a_live_bundle_does_not_verify(kind: str, made: Path, tmp_path: Path, cluster: Cluster) -> None:
    foreign = load_material(make(tmp_path / "other"))["ca.crt"]
    bundle = {"of somebody else": foreign, "garbage": b"words", "nothing": b""}[kind]
    await cluster.register(bundle, **{"cert-manager.io/inject-ca-from": "gw/hook"})
    result = await cluster.certs("show", made, "--live")
    assert result.exit_code == 1
    assert "fail.mutating.gangwarden.dev (cert-manager keeps it) trusts " in result.stdout
    assert "does not trust it: " in result.stdout


async def test_show_tells_what_is_registered_without_a_certificate(made: Path, cluster: Cluster) -> None:
    await cluster.register(load_material(made)["ca.crt"])
    result = await cluster.certs("show", "--live")
    assert result.exit_code == 0, result.output
    assert "is registered" in result.stdout


async def test_show_says_what_is_not_there(cluster: Cluster) -> None:
    nothing = await cluster.certs("show", "--live")
    assert (nothing.exit_code, "no webhook configuration is registered" in nothing.stderr) == (4, True)
    absent = await cluster.certs("show", "--secret", "gw/certs")
    assert (absent.exit_code, "there is no Secret gw/certs" in absent.stderr) == (4, True)


def test_show_reads_a_file_of_certificates(made: Path, gangwarden: Gangwarden) -> None:
    result = gangwarden("certs", "show", made / "tls.crt")
    assert result.exit_code == 0
    assert "hook.gw.svc" in result.stdout
    assert "nothing says who trusts it" in result.stdout
    assert gangwarden("certs", "show", made / "tls.key").exit_code == 4


@pytest.mark.parametrize("args", [(), (".", "--secret", "gw/certs"), ("--secret", "gw")])
def test_show_wants_one_place(args: tuple[str, ...], gangwarden: Gangwarden) -> None:
    assert gangwarden("certs", "show", *args).exit_code == 2
