"""Points 8, 9, 11, 12, 18, 20 and 26 of the checklist, from the attacker's side: bytes, callers, credentials, what is told."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from aiohttp import web
from click.testing import CliRunner
from structlog.testing import capture_logs

from tests import builders
from tests.certs.material import AUTHORITY, NOW, Wish, issue
from tests.certs.material import material as made_of
from tests.cluster.conftest import QUICK
from tests.cluster.fake_api import FakeApi
from tests.policies.writing import binding, validating, yaml_of
from tests.security.fuzz.price import Price
from tests.security.fuzz.reviews import reviewer_of
from tests.server.running import MATERIAL, Running, head, new_material, review, running, trust
from tests.server.test_callers import TOKEN, Issuer, bearer, by_certificate, by_token
from webhook.certs import check_material, inspect_material, why_untrusted
from webhook.certs.material import BUNDLE_LIMIT_BYTES, CERTIFICATES_LIMIT, KEY_LIMIT_BYTES, parse_certificates, parse_key
from webhook.cli import main
from webhook.cluster import Api, SecretStore, connect
from webhook.cluster.connection import Call
from webhook.errors import CertificateError, ClusterError
from webhook.policies import load_policies
from webhook.settings import ServingSettings

PATHS = ("/validate/fail", "/validate/ignore", "/mutate/fail", "/mutate/ignore")
SECRET = "hunter2-s3cr3t-value"
EVERYTHING = {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}


class Elsewhere:
    """A server that would like to have our token, and what it was sent."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return web.json_response({"gitVersion": "v1.37.2", "items": [], "metadata": {}})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_08_the_token_goes_to_the_api_server_and_nowhere_else(tmp_path: Path, status: int) -> None:
    fake = FakeApi(token="first")
    await fake.start()
    async with Elsewhere() as thief:
        try:
            async with await connect(fake.kubeconfig(tmp_path), settings=QUICK) as connection:
                fake.redirect = f"http://127.0.0.1:{thief.port}/apis/batch/v1/jobs", status
                with pytest.raises(ClusterError, match="redirects to"):
                    await connection.fetch_version()
                with pytest.raises(ClusterError, match="redirects to"):
                    await SecretStore(Api.over(connection), namespace="gangwarden-system", name="certs").save(
                        {"ca.key": b"key"}, None
                    )
                with pytest.raises(ClusterError, match="redirects to"):
                    await anext(connection.lines(Call("GET", "/api/v1/pods", (("watch", "true"),)), key="pods"))
            assert fake.requests[-1].headers["Authorization"] == "Bearer first"
            assert thief.headers == [], "it followed"
        finally:
            await fake.stop()


BODIES: list[tuple[str, bytes, str, int]] = [
    ("nothing", b"", "", 400),
    ("white space", b" \r\n\t", "", 400),
    ("a form", review(), "Content-Type: application/x-www-form-urlencoded\r\n", 415),
    ("JSON that says it is text", review(), "Content-Type: text/json\r\n", 415),
    ("JSON in another coat", review(), "Content-Type: multipart/form-data; boundary=application/json\r\n", 415),
    ("a body that unpacks to a gigabyte", gzip.compress(bytes(1 << 20)), "Content-Encoding: gzip\r\n", 400),
    ("a range that takes its square", review(), f"Range: bytes={','.join('0-' for _ in range(3000))}\r\n", 200),
    ("a byte more than is taken", b" " * (ServingSettings().body_limit_bytes + 1), "", 413),
    ("as much as is taken", b" " * ServingSettings().body_limit_bytes, "", 400),
]


@pytest.mark.parametrize(("body", "headers", "status"), [pytest.param(*more, id=name) for name, *more in BODIES])
async def test_09_bodies_are_bounded_typed_and_never_unpacked(body: bytes, headers: str, status: int) -> None:
    assert ServingSettings().body_limit_bytes == 16 * 1024 * 1024
    async with running() as server:
        for path in PATHS:
            answer = await server.post(body, path, headers)
            assert answer.status == status, answer.text
            assert answer.text.strip()
        assert (await server.post(review())).status == 200


@pytest.mark.parametrize("begun", [head(), head(headers="Content-Type: application/json\r\nContent-Length: 9\r\n") + b"\r\n{"])
async def test_09_slow_headers_and_bodies_are_cut(begun: bytes) -> None:
    async with running(request_seconds=0.2) as server:
        slow = await server.connect()
        await slow.send(begun)
        assert b" 200 " not in await slow.rest()
        assert (await server.post(review())).status == 200


GOOD = issue(AUTHORITY)
PEMS: dict[str, bytes] = {
    "too many bytes": GOOD.pem + b"#" * BUNDLE_LIMIT_BYTES,
    "too many blocks": GOOD.pem * (CERTIFICATES_LIMIT + 1),
    "blocks that begin and never end": b"-----BEGIN CERTIFICATE-----\n" * (BUNDLE_LIMIT_BYTES // 29),
    "dashes": b"-" * (BUNDLE_LIMIT_BYTES - 1),
    "a block of lines without end": b"-----BEGIN CERTIFICATE-----\n" + b"A\n" * 100_000 + b"-----END CERTIFICATE-----\n",
    "headers without end": b"-----BEGIN CERTIFICATE-----\n" + b"A: b\n" * 50_000 + b"\n-----END CERTIFICATE-----\n",
    "base64 of nothing": b"-----BEGIN CERTIFICATE-----\n" + b"=" * 200_000 + b"\n-----END CERTIFICATE-----\n",
}


@pytest.mark.parametrize("pem", PEMS)
def test_11_pem_is_bounded_before_a_parser_sees_it(pem: str) -> None:
    leaf = issue(Wish(), GOOD)

    def read(content: bytes) -> None:
        with pytest.raises(CertificateError):
            parse_certificates(content, what="it")
        with pytest.raises(CertificateError):
            parse_key(content, what="it")
        assert why_untrusted(leaf.pem, content, NOW)
        with pytest.raises(CertificateError):
            check_material(made_of(leaf, GOOD).__class__(ca=content, certificate=leaf.pem, key=leaf.key_pem()), (), NOW)

    Price().check(read, PEMS[pem])
    assert len(GOOD.key_pem()) < KEY_LIMIT_BYTES


@pytest.mark.parametrize("by", [by_certificate, by_token], ids=["certificates are asked for", "tokens are asked for"])
@pytest.mark.parametrize("bring", ["nothing", "a wrong token", "somebody else's certificate", "a token in the query"])
async def test_12_who_is_not_known_is_refused_before_anything_is_read(tmp_path: Path, by: Callable[..., Any], bring: str) -> None:
    known, foreign = Issuer(), Issuer()
    async with running(callers=by, clients=known.accepted()) as server:
        context = foreign.client(tmp_path) if bring.startswith("somebody") else trust()
        headers = bearer("a-token-that-nobody-gave") if bring == "a wrong token" else ""
        query = f"?access_token={TOKEN}" if bring.endswith("query") else ""
        for path in PATHS:
            try:
                connection = await server.connect(context)
                answer = await connection.post(b"{" * 50, path + query, headers)
            except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
                continue  # refused at the handshake
            assert answer.status == 401, answer.text
        assert server.reviewer.asked == []
        granted = known.client(tmp_path, "known") if by is by_certificate else trust()
        allowed = await (await server.connect(granted)).post(review(), headers=bearer(TOKEN))
        assert allowed.status == 200


async def test_18_certificate_and_authority_change_under_load_without_a_failed_call_clocks_apart() -> None:
    generations = [MATERIAL, new_material(), new_material(), new_material()]
    skewed = datetime.now(UTC) - timedelta(seconds=240)  # a client whose clock is behind finds the new leaf valid already
    statuses: list[int] = []

    async def call(server: Running, stop: asyncio.Event) -> None:
        while not stop.is_set():
            connection = await server.connect(trust(*generations))  # both authorities, as while they overlap
            statuses.append((await connection.post(review())).status)
            connection.close()

    async with running() as server:
        stop = asyncio.Event()
        callers = [asyncio.create_task(call(server, stop)) for _ in range(4)]
        for material in generations[1:]:
            before = len(statuses)
            server.tls.offer(material)
            while len(statuses) < before + 12:  # noqa: ASYNC110 - the callers count
                await asyncio.sleep(0)
        stop.set()
        await asyncio.gather(*callers)
    assert set(statuses) == {200}
    for material in generations:
        assert inspect_material(material).leaf.is_valid(skewed)


async def test_20_sigterm_drains_what_was_begun_and_what_comes_meanwhile() -> None:
    body = review()
    begun = head(headers=f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n") + b"\r\n" + body[:20]
    async with running(drain_seconds=3.0) as server:
        halves = [await server.connect() for _ in range(8)]
        idle = await server.connect()
        assert (await idle.post(body)).status == 200
        for half in halves:
            await half.send(begun)
        server.stop.set()  # what SIGTERM does (tests/server/test_serving.py)
        late = await server.post(body)
        for half in halves:
            await half.send(body[20:])
        answers = [await half.answer() for half in halves]
        assert {one.status for one in (*answers, late)} == {200}
        assert {one.headers.get("connection") for one in (*answers, late)} == {"close"}


def secret_object() -> dict[str, Any]:
    meta = {"name": "credentials", "namespace": "team-a", "annotations": {"last-applied": SECRET}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"password": SECRET}, "stringData": {"a": SECRET}}


RULES = (  # each fails in another way, and most quote what they were given
    "quantity(object.data.password).isGreaterThan(quantity('1'))",
    "int(object.data.password) > 0",
    "timestamp(object.data.password) > timestamp('2026-01-01T00:00:00Z')",
    "object.data.password[0] == 'a'",
    "object.data.password == ''",
    "object.data.nope == ''",
    "url(object.data.password).getHost() == ''",
    "object.data.password.matches(object.data.password + '(')",
)


async def test_26_neither_log_nor_counter_holds_a_secret_whatever_happens(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "p.yaml").write_text(yaml_of(validating("sizes", *RULES, matchConstraints=EVERYTHING), binding()))
    honest = reviewer_of(load_policies([tmp_path]))

    class Failing:
        def review(self, body: Any, **_: object) -> None:
            raise ValueError(f"{body}")

    with capture_logs() as lines, caplog.at_level(logging.DEBUG):
        for reviewer in (honest, Failing()):
            async with running(reviewer=reviewer) as server:
                for body in (builders.review(secret_object()), {"request": builders.review(secret_object())}):
                    answers = [await server.post(json.dumps(body).encode(), path) for path in PATHS]
                spoiled = await server.post(json.dumps(builders.review(secret_object())).encode()[:-9])
                metrics = (await server.get("/metrics")).text
                assert spoiled.status == 400
                assert SECRET not in metrics + spoiled.text
                assert all(SECRET not in answer.text for answer in answers if answer.status == 500)
    assert len(lines) >= 16
    assert SECRET not in json.dumps(lines, default=str) + caplog.text


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github"])
def test_26_no_report_holds_a_secret(tmp_path: Path, form: str) -> None:
    (tmp_path / "p.yaml").write_text(yaml_of(validating("sizes", *RULES, matchConstraints=EVERYTHING), binding()))
    (tmp_path / "secret.yaml").write_text(yaml_of(secret_object()))
    done = CliRunner().invoke(main, ["check", "-p", str(tmp_path / "p.yaml"), "-o", form, str(tmp_path / "secret.yaml")])
    assert done.exit_code == 1, done.output
    assert "sizes" in done.output
    assert SECRET not in done.output
