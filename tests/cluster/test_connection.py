"""Credentials that change, servers that are not there, and tokens that are refused."""

from __future__ import annotations

import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.cluster.conftest import QUICK
from tests.cluster.fake_api import FakeApi
from tests.cluster.waiting import until
from tests.controlplane.certificates import Authority
from webhook.cluster import Api, Connection, connect
from webhook.errors import ClusterError, UsageError
from webhook.model.objects import ObjectKey

JOB = ObjectKey("batch", "Job", "a", "one")


async def test_the_server_version_is_known_and_our_name_is_said(fake: FakeApi, tmp_path: Path) -> None:
    async with await connect(fake.kubeconfig(tmp_path), settings=QUICK) as connection:
        assert connection.server_version == "v1.37.2"
    assert fake.requests[0].headers["User-Agent"].startswith("gangwarden/")


async def test_a_server_that_is_not_there_is_a_cluster_error_with_its_address(fake: FakeApi, tmp_path: Path) -> None:
    path = fake.kubeconfig(tmp_path)
    await fake.stop()
    with pytest.raises(ClusterError, match=f"http://127.0.0.1:{fake.port} cannot be reached") as caught:
        await connect(path, settings=QUICK)
    assert (caught.value.is_unreachable, caught.value.exit_code) == (True, 5)
    await fake.start()


async def test_a_refused_identity_is_a_cluster_error_with_the_servers_words(fake: FakeApi, tmp_path: Path) -> None:
    fake.token = "another"
    with pytest.raises(ClusterError, match="401 Unauthorized: no such token") as caught:
        await connect(fake.kubeconfig(tmp_path), settings=QUICK)
    assert caught.value.status == 401


async def test_a_kubeconfig_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no kubeconfig at"):
        await connect(str(tmp_path / "nothing"))


async def test_an_address_with_a_password_is_refused_and_never_shown(fake: FakeApi, tmp_path: Path) -> None:
    path, known = tmp_path / "kubeconfig", fake.kubeconfig(tmp_path)
    path.write_text(path.read_text().replace("://127", "://me:hush@127"))
    with pytest.raises(ClusterError, match="holds a name and password; use a token instead") as caught:
        await connect(known, settings=QUICK)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("text", ["[1, 2]", "a: b: c", "{}", "just words", '{"contexts": 3}'])
async def test_a_kubeconfig_of_a_wrong_shape_is_a_cluster_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ClusterError, match="no usable credentials"):
        await connect(str(path))


async def test_a_context_that_is_not_there_is_a_cluster_error(fake: FakeApi, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="name other"):
        await connect(fake.kubeconfig(tmp_path), "other")


async def test_a_token_file_that_was_rotated_is_read_again(fake: FakeApi, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    fake.token = "first"
    async with await connect(fake.kubeconfig(tmp_path, tokenFile="token"), settings=QUICK) as connection:
        token.write_text("second")
        fake.token = "second"
        await until(lambda: connection._credentials.configuration.api_key["BearerToken"] == "Bearer second")
        assert await Api.over(connection).find(JOB) is None


async def test_a_refused_token_is_read_again_at_once(fake: FakeApi, tmp_path: Path) -> None:
    fake.token = "first"
    async with await connect(fake.kubeconfig(tmp_path, token="first")) as connection:
        fake.token = "second"
        fake.kubeconfig(tmp_path, token="second")
        assert await Api.over(connection).find(JOB) is None
        assert [request.headers["Authorization"] for request in fake.requests[-2:]] == ["Bearer first", "Bearer second"]


def plugin(folder: Path, status: dict[str, Any]) -> dict[str, Any]:
    """An exec plugin that prints what stands in a file."""
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    (folder / "credential").write_text(json.dumps(answer))
    return {"command": "cat", "args": [str(folder / "credential")], "apiVersion": "client.authentication.k8s.io/v1"}


async def test_the_token_of_a_plugin_is_renewed_before_it_ends(fake: FakeApi, tmp_path: Path) -> None:
    command = plugin(tmp_path, {"token": "first", "expirationTimestamp": "2020-01-01T00:00:00Z"})
    async with await connect(fake.kubeconfig(tmp_path, exec=command), settings=QUICK) as connection:
        plugin(tmp_path, {"token": "second", "expirationTimestamp": "2100-01-01T00:00:00Z"})
        fake.token = "second"
        await until(lambda: connection._credentials.configuration.api_key["BearerToken"] == "Bearer second")
        assert await Api.over(connection).find(JOB) is None


async def test_a_plugin_that_fails_is_named(fake: FakeApi, tmp_path: Path) -> None:
    command = {"command": "false", "apiVersion": "client.authentication.k8s.io/v1"}
    with pytest.raises(ClusterError, match=r"the credential plugin 'false' of .* failed"):
        await connect(fake.kubeconfig(tmp_path, exec=command))


def serving(folder: Path, authority: Authority) -> ssl.SSLContext:
    pair = authority.issue("api", hosts=("127.0.0.1",))
    (folder / "server.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


async def test_a_rotated_authority_is_trusted_without_a_restart(fake: FakeApi, tmp_path: Path) -> None:
    await fake.stop()
    first, second = Authority("first"), Authority("second")
    fake.tls = serving(tmp_path, first)
    await fake.start()
    ca = tmp_path / "ca.crt"
    ca.write_bytes(first.certificate)
    async with await connect(fake.kubeconfig(tmp_path, ca=str(ca)), settings=QUICK) as connection:
        api = Api.over(connection)
        await fake.stop()
        fake.tls = serving(tmp_path, second)
        await fake.start()
        with pytest.raises(ClusterError, match="cannot be reached"):
            await api.find(JOB)
        client = connection._client
        ca.write_bytes(second.certificate)
        await until(lambda: connection._client is not client)
        assert await api.find(JOB) is None


async def test_a_certificate_that_is_only_half_written_leaves_the_old_in_use(fake: FakeApi, tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_bytes(Authority("first").certificate)
    path = fake.kubeconfig(tmp_path, ca=str(ca))
    async with await connect(path, settings=QUICK, verify=False) as connection:
        client = connection._client
        ca.write_bytes(b"-----BEGIN CERTIFICATE-----")
        assert await connection._refresh() is False
        assert connection._client is client


async def test_credentials_that_cannot_be_read_any_more_leave_the_old_in_use(fake: FakeApi, tmp_path: Path) -> None:
    path = fake.kubeconfig(tmp_path)
    async with await connect(path, settings=QUICK) as connection:
        fake.kubeconfig(tmp_path, tokenFile="gone")
        assert await connection._refresh() is False
        (tmp_path / "kubeconfig").unlink()
        assert await connection._refresh() is False
        assert await Api.over(connection).find(JOB) is None


@pytest.mark.parametrize("namespace", ["", "team-a"])
async def test_the_namespace_of_the_context_is_known(namespace: str, fake: FakeApi, tmp_path: Path) -> None:
    async with await connect(in_namespace(fake.kubeconfig(tmp_path), namespace), settings=QUICK) as opened:
        assert opened.namespace == namespace


def in_namespace(path: str, namespace: str) -> str:
    config = json.loads(Path(path).read_text())
    config["contexts"][0]["context"] |= {"namespace": namespace} if namespace else {}
    Path(path).write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("ahead", [timedelta(hours=5), timedelta(days=-400)], ids=["behind by hours", "ahead by a year"])
async def test_the_time_is_that_of_the_api_server_where_our_clock_is_wrong(
    ahead: timedelta, fake: FakeApi, connection: Connection
) -> None:
    fake.ahead = ahead
    with capture_logs() as logs:
        for _ in range(3):
            await connection.fetch_version()
            told = connection.now() - datetime.now(UTC)
            assert abs(told - ahead) < timedelta(seconds=30)
    (warning,) = [each for each in logs if "clock" in each["event"]]
    assert abs(warning["seconds"] - ahead.total_seconds()) < 30


@pytest.mark.parametrize("ahead", [timedelta(seconds=3), timedelta(0), None], ids=["a little", "none", "undated"])
async def test_the_time_is_our_own_where_the_clocks_agree_or_nothing_is_told(
    ahead: timedelta | None, fake: FakeApi, connection: Connection
) -> None:
    fake.ahead = ahead
    await connection.fetch_version()
    before = datetime.now(UTC)
    assert before <= connection.now() <= datetime.now(UTC)
