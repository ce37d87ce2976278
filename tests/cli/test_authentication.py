"""Flags by which callers are known, the files that they name, and those that are written for an API server."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from tests.cli.conftest import Gangwarden, Write
from tests.cluster.waiting import until
from webhook.admission import Endpoint
from webhook.certs import ClientAuthority, Material, Profile, Tls, mint_authority, mint_leaf
from webhook.cli.api_server_files import user_of
from webhook.cli.authentication import Authentication, Credentials
from webhook.cluster import Api
from webhook.errors import GangwardenError
from webhook.server import Metrics
from webhook.settings import AuthenticationSettings

SERVICE = ("--service", "gw/hook")
NOBODY = cast("Api", None)
"""No API server is asked where no token is bound."""
TOKEN, NEXT = "a-token-of-this-year", "a-token-of-next-year"


def serving() -> Tls:
    now, profile = datetime.now(UTC), Profile()
    authority = mint_authority(profile, now)
    leaf = mint_leaf(profile, authority, now)
    return Tls(Material(ca=authority.certificate, certificate=leaf.certificate, key=leaf.key))


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("serve", "--client-allowed-name", "x"), "--client-allowed-name needs --client-ca-file"),
        (("serve", "--webhook-bound-tokens"), "--webhook-bound-tokens needs --service or --url"),
        (("webhooks", "plan", "--authentication", "bearer-token", "--out", "o"), "say where the webhook is reached"),
        (("webhooks", "plan", *SERVICE, "--authentication", "bearer-token"), "--authentication needs --out"),
        (("webhooks", "plan", *SERVICE, "--out", "o"), "--out and --api-server-dir go with --authentication"),
        (
            ("webhooks", "plan", *SERVICE, "--authentication", "bearer-token", "--out", "o", "--api-server-dir", "etc"),
            "--api-server-dir etc must begin with /",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_flags_that_cannot_be_meant(args: tuple[str, ...], told: str, gangwarden: Gangwarden) -> None:
    result = gangwarden(*args)
    assert (result.exit_code, told in result.stderr) == (2, True)


def written(gangwarden: Gangwarden, mode: str, *flags: str) -> tuple[Any, Any]:
    result = gangwarden("webhooks", "plan", "--authentication", mode, "--out", "out", *flags)
    assert result.exit_code == 0, result.output
    assert {path.stat().st_mode & 0o777 for path in Path("out").iterdir()} == {0o600}
    admission, kubeconfig = (yaml.safe_load(Path("out", name).read_text()) for name in ("admission.yaml", "kubeconfig.yaml"))
    return admission, kubeconfig


@pytest.mark.usefixtures("write")
def test_both_plugins_are_given_the_kubeconfig_by_its_place_on_the_host(gangwarden: Gangwarden) -> None:
    admission, kubeconfig = written(gangwarden, "bearer-token", *SERVICE, "--api-server-dir", "/etc/kubernetes/x/")
    assert admission["kind"] == "AdmissionConfiguration"
    assert {one["name"]: one["configuration"]["kubeConfigFile"] for one in admission["plugins"]} == dict.fromkeys(
        ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"), "/etc/kubernetes/x/kubeconfig.yaml"
    )
    assert kubeconfig["users"] == [{"name": "hook.gw.svc:443", "user": {"tokenFile": "token"}}]
    assert len(Path("out/token").read_text()) > 40


@pytest.mark.usefixtures("write")
def test_a_certificate_is_made_that_the_webhook_accepts(gangwarden: Gangwarden) -> None:
    admission, kubeconfig = written(gangwarden, "client-certificate", "--url", "https://hook.example.com:8443/")
    assert admission["plugins"][0]["configuration"]["kubeConfigFile"] == str(Path("out/kubeconfig.yaml").resolve())
    user = {"client-certificate": "client.crt", "client-key": "client.key"}
    assert kubeconfig["users"] == [{"name": "hook.example.com:8443", "user": user}]
    made = ssl.PEM_cert_to_DER_cert(Path("out/client.crt").read_text())
    accepted = ClientAuthority(Path("out/client-ca.crt").read_bytes(), ["gangwarden-webhook-client"])
    assert accepted.why_refused(made, datetime.now(UTC), verified=False) == ""
    ssl.create_default_context().load_cert_chain("out/client.crt", "out/client.key")


def test_credentials_that_are_there_are_kept(gangwarden: Gangwarden, write: Write) -> None:
    write("out/token", TOKEN)
    Path("out/token").chmod(0o600)
    assert (
        "out/token is kept" in gangwarden("webhooks", "plan", *SERVICE, "--authentication", "bearer-token", "--out", "out").stdout
    )
    assert Path("out/token").read_text() == TOKEN
    write("out/client.crt", "PEM")
    result = gangwarden("webhooks", "plan", *SERVICE, "--authentication", "client-certificate", "--out", "out")
    assert (result.exit_code, "out holds client.crt alone" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("endpoint", "name"),
    [
        (Endpoint(url="https://hook.example.com"), "hook.example.com:443"),
        (Endpoint(url="https://[::1]:9443"), "[::1]:9443"),
        (Endpoint(service_namespace="gw", service_name="hook", service_port=8443), "hook.gw.svc:8443"),
    ],
    ids=["a URL without port", "an address", "a Service"],
)
def test_the_user_has_the_name_by_which_the_api_server_looks_for_it(endpoint: Endpoint, name: str) -> None:
    assert user_of(endpoint) == name


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Authentication(client_ca_file="gone"), "gone cannot be read: No such file or directory"),
        (Authentication(bearer_token_file="tokens"), "tokens:1: a token has at least 16 characters"),
    ],
    ids=["a file that is gone", "a broken one"],
)
def test_a_process_does_not_start_without_its_files(wanted: Authentication, told: str, write: Write) -> None:
    write("tokens", "short")
    with pytest.raises(GangwardenError, match=told):
        Credentials(wanted, AuthenticationSettings()).callers(Metrics(CollectorRegistry()), serving(), NOBODY, None)


async def test_edited_files_are_taken_over_and_broken_ones_told_once(write: Write) -> None:
    write("tokens", TOKEN)
    wanted, tls = Authentication(bearer_token_file="tokens"), serving()
    credentials = Credentials(wanted, AuthenticationSettings(poll_seconds=0.01))
    callers = credentials.callers(Metrics(CollectorRegistry()), tls, NOBODY, None)
    assert callers is not None
    with capture_logs() as lines:
        following = asyncio.create_task(credentials.follow(tls, callers))
        write("tokens", "short")
        await until(lambda: bool(lines), seconds=30)
        assert TOKEN in callers.tokens
        write("tokens", NEXT)
        await until(lambda: NEXT in callers.tokens, seconds=30)
        following.cancel()
    assert TOKEN not in callers.tokens
    events = [line["event"] for line in lines]
    assert events == ["credentials of callers not read; those before stay in force", "credentials of callers read again"]


async def test_without_a_way_that_is_on_nobody_knows_the_callers() -> None:
    credentials, tls = Credentials(Authentication(), AuthenticationSettings(poll_seconds=0.0)), serving()
    assert credentials.callers(Metrics(CollectorRegistry()), tls, NOBODY, None) is None
    await asyncio.wait_for(credentials.follow(tls, None), 30)
    assert tls.context.verify_mode is ssl.CERT_NONE
