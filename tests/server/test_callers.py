"""Who may ask: known by certificate, by token or by a bound token; all others hear why not, and nothing of theirs is read."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.server.running import Response, head, review, running, trust
from webhook.certs import ClientAuthority, Pair, Profile, Tls, mint_authority, mint_client
from webhook.errors import InputError
from webhook.model.tokens import ATTESTED_GROUPS, TokenAnswer, TokenTold
from webhook.server import BearerTokens, BoundTokens, Callers, Metrics
from webhook.settings import AuthenticationSettings

NOW, PROFILE = datetime.now(UTC), Profile()
SETTINGS = AuthenticationSettings()
TOKEN, OTHER_TOKEN = "a-token-of-the-api-server", "a-token-of-somebody-else"
ORIGIN = "https://gangwarden.gangwarden-system.svc:443"
EVERYWHERE = ["/validate/fail", "/validate/ignore", "/mutate/fail", "/mutate/ignore", "/evictions"]


@dataclass(frozen=True)
class Issuer:
    """An authority for clients."""

    pair: Pair = field(default_factory=lambda: mint_authority(PROFILE, NOW))

    def client(self, folder: Path, name: str = "kube-apiserver") -> ssl.SSLContext:
        made = mint_client(PROFILE, self.pair, NOW, name=name)
        path = folder / f"{name}.pem"
        path.write_bytes(made.certificate + made.key)
        context = trust()
        context.load_cert_chain(path)
        return context

    def accepted(self, *names: str) -> ClientAuthority:
        return ClientAuthority(self.pair.certificate, names)


def by_certificate(metrics: Metrics, tls: Tls) -> Callers:
    return Callers(metrics, SETTINGS, certificates=tls)


def by_token(metrics: Metrics, _tls: Tls) -> Callers:
    return Callers(metrics, SETTINGS, tokens=BearerTokens(TOKEN, source="tokens"))


def either(metrics: Metrics, tls: Tls) -> Callers:
    return Callers(metrics, SETTINGS, certificates=tls, tokens=BearerTokens(TOKEN, source="tokens"))


def bearer(token: str) -> str:
    return f"Authorization: Bearer {token}\r\n"


@dataclass
class Asker:
    """Answers as a test says."""

    told: TokenTold
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def answer(self, token: str, audience: str) -> TokenTold:
        self.asked.append((token, audience))
        return self.told

    def callers(self, metrics: Metrics, _tls: Tls) -> Callers:
        return Callers(metrics, SETTINGS, bound=BoundTokens(asker=self, origin=ORIGIN, configuration="gangwarden"))


def bound(kind: str = "validating", name: str = "gangwarden", groups: tuple[str, ...] = ("batch",)) -> TokenAnswer:
    extra = {f"authentication.kubernetes.io/{kind}webhookconfiguration-name": (name,), ATTESTED_GROUPS: groups}
    return TokenAnswer(authenticated=True, user="system:apiserver", extra=extra)


async def test_without_a_way_that_is_on_anybody_may_ask_and_no_certificate_is_asked_for(tmp_path: Path) -> None:
    async with running() as server:
        assert (await server.post(review())).status == 200
        assert (await (await server.connect(Issuer().client(tmp_path))).post(review())).status == 200


async def test_a_client_certificate_opens_reviews_and_nobody_needs_one_for_the_probes(tmp_path: Path) -> None:
    issuer = Issuer()
    async with running(clients=issuer.accepted(), callers=by_certificate) as server:
        known = await server.connect(issuer.client(tmp_path))
        assert [(await known.post(review())).status for _ in range(2)] == [200, 200]
        refused = await server.post(review())
        assert (refused.status, refused.headers["connection"]) == (401, "close")
        assert refused.text == "this webhook answers known callers only, and no client certificate came along"
        assert "www-authenticate" not in refused.headers
        assert [(await server.get(path)).status for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]
        assert server.counted("callers_refused_total", reason="none") == 1
        assert len(server.reviewer.asked) == 2


async def test_a_certificate_of_another_authority_ends_the_handshake(tmp_path: Path) -> None:
    async with running(clients=Issuer().accepted(), callers=by_certificate) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await (await server.connect(Issuer().client(tmp_path))).post(review())
        assert server.reviewer.asked == []


async def test_a_certificate_of_another_name_is_refused_by_name(tmp_path: Path) -> None:
    issuer = Issuer()
    async with running(clients=issuer.accepted("kube-apiserver"), callers=by_certificate) as server:
        assert (await (await server.connect(issuer.client(tmp_path))).post(review())).status == 200
        refused = await (await server.connect(issuer.client(tmp_path, "somebody"))).post(review())
        assert (refused.status, server.counted("callers_refused_total", reason="certificate")) == (401, 1)
        assert refused.text == ("the client certificate is not accepted: its names are somebody, and none of them is allowed")


async def test_an_authority_that_is_taken_out_counts_no_more_on_open_connections_either(tmp_path: Path) -> None:
    old, new = Issuer(), Issuer()
    async with running(clients=old.accepted(), callers=by_certificate) as server:
        before = await server.connect(old.client(tmp_path))
        server.tls.trust(ClientAuthority(new.pair.certificate + old.pair.certificate))
        assert (await before.post(review())).status == 200
        after = await server.connect(new.client(tmp_path))
        server.tls.trust(new.accepted())
        assert [(await each.post(review())).status for each in (after, before)] == [200, 401]
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await (await server.connect(old.client(tmp_path))).post(review())


async def test_no_session_is_resumed_for_it_would_bring_back_a_certificate_unverified(tmp_path: Path) -> None:
    issuer = Issuer()
    async with running(clients=issuer.accepted(), callers=by_certificate) as server:
        connection = await server.connect(issuer.client(tmp_path))
        assert (await connection.post(review())).status == 200
        spoken = connection.writer.get_extra_info("ssl_object")
        assert (spoken.version(), spoken.session.has_ticket) == ("TLSv1.3", False)


async def test_the_served_certificate_may_change_beside(tmp_path: Path) -> None:
    issuer = Issuer()
    async with running(clients=issuer.accepted(), callers=by_certificate) as server:
        known = await server.connect(issuer.client(tmp_path))
        server.tls.offer(replace(server.tls._material))
        assert [(await each.post(review())).status for each in (known, await server.connect(issuer.client(tmp_path)))] == [
            200, 200,
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        (bearer(TOKEN), 200, ""),
        (f"authorization: bearer   {TOKEN}\r\n", 200, ""),
        ("", 401, "no bearer token came along"),
        (bearer(OTHER_TOKEN), 401, "the bearer token is none of those that are accepted"),
        (bearer(TOKEN[:-1]), 401, "none of those"),
        (f"Authorization: Basic {TOKEN}\r\n", 401, "no bearer token came along"),
        ("Authorization: Bearer \r\n", 401, "no bearer token came along"),
    ],
    ids=["the token", "another spelling", "none", "another's", "a part of it", "another scheme", "an empty one"],
)
async def test_a_bearer_token(headers: str, status: int, words: str) -> None:
    async with running(callers=by_token) as server:
        answer = await server.post(review(), headers=headers)
        assert (answer.status, answer.headers.get("www-authenticate")) == (status, None if status == 200 else "Bearer")
        assert words in answer.text


async def test_any_way_that_is_on_is_enough(tmp_path: Path) -> None:
    issuer = Issuer()
    async with running(clients=issuer.accepted(), callers=either) as server:
        assert (await (await server.connect(issuer.client(tmp_path))).post(review())).status == 200
        assert (await server.post(review(), headers=bearer(TOKEN))).status == 200
        assert "no client certificate or bearer token came along" in (await server.post(review())).text


async def test_every_path_of_reviews_is_guarded() -> None:
    async with running(callers=by_token) as server:
        evictions = running(callers=by_token, evictions=server.reviewer)
        async with evictions as guarded:
            assert [(await guarded.post(review(), path)).status for path in EVERYWHERE] == [401] * len(EVERYWHERE)
            assert [(await guarded.post(review(), path, bearer(TOKEN))).status for path in EVERYWHERE] == [200] * len(EVERYWHERE)


async def test_who_is_refused_is_answered_before_he_sends_a_body() -> None:
    async with running(callers=by_token) as server:
        connection = await server.connect()
        await connection.send(head(headers="Content-Type: application/json\r\nContent-Length: 1000000\r\n") + b"\r\n")
        assert (await connection.answer()).status == 401
        assert await connection.rest() == b""


async def test_tokens_are_replaced_without_a_restart() -> None:
    made: list[Callers] = []

    def callers(metrics: Metrics, tls: Tls) -> Callers:
        made.append(by_token(metrics, tls))
        return made[0]

    async with running(callers=callers) as server:
        made[0].tokens = BearerTokens(f"# of this year\n{OTHER_TOKEN}\n\n", source="tokens")
        assert (await server.post(review(), headers=bearer(OTHER_TOKEN))).status == 200
        assert (await server.post(review(), headers=bearer(TOKEN))).status == 401


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "tokens: there is no token; write one on each line"),
        ("# only\n\n", "tokens: there is no token"),
        (f"{TOKEN}\n\nshort\n", "tokens:3: a token has at least 16 characters and no blanks"),
        (f"{TOKEN},admin,1 \nlonger than that", "tokens:2: a token has"),
    ],
    ids=["empty", "a comment", "a short one", "one with blanks"],
)
def test_a_file_of_tokens_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InputError) as refusal:
        BearerTokens(text, source="tokens")
    assert str(refusal.value).startswith(told)


async def test_a_bound_token_is_asked_about_for_the_path_it_came_to() -> None:
    asker = Asker(bound())
    async with running(callers=asker.callers) as server:
        assert (await server.post(review(), headers=bearer("x.y.z"))).status == 200
        assert asker.asked == [("x.y.z", f"{ORIGIN}/validate/fail")]


@pytest.mark.parametrize(
    ("told", "path", "words"),
    [
        (TokenAnswer(authenticated=False, error="it has expired"), "/validate/fail", "is not accepted: it has expired"),
        (bound(name="another"), "/validate/fail", "is not bound to the validatingwebhookconfiguration gangwarden"),
        (bound(kind="mutating"), "/validate/fail", "is not bound to the validatingwebhookconfiguration gangwarden"),
        (bound(), "/mutate/fail", "is not bound to the mutatingwebhookconfiguration gangwarden"),
        (TokenAnswer(authenticated=True, user="alice"), "/validate/fail", "is not bound to"),
        (bound(groups=("apps",)), "/validate/fail", "does not speak for API group 'batch'"),
        (bound(groups=()), "/validate/fail", "does not speak for API group 'batch'"),
    ],
    ids=["expired", "another's", "the other kind's", "to another path", "of a user", "another group's", "of no group"],
)
async def test_a_bound_token_that_does_not_fit(told: TokenAnswer, path: str, words: str) -> None:
    async with running(callers=Asker(told).callers) as server:
        answer = await server.post(review(), path, bearer("x.y.z"))
        assert answer.status == 401
        assert words in answer.text
        assert server.reviewer.asked == []


async def refused(body: bytes, groups: tuple[str, ...]) -> Response:
    async with running(callers=Asker(bound(groups=groups)).callers) as server:
        return await server.post(body, headers=bearer("x.y.z"))


@pytest.mark.parametrize(
    "body",
    [review(resource={"group": "", "version": "v1", "resource": "pods"}), review(resource=None), b"[]", b'{"request": "batch"}'],
    ids=["the core group", "no resource", "a list", "no request"],
)
async def test_whatever_names_no_attested_group_is_not_reviewed(body: bytes) -> None:
    assert (await refused(body, ("batch",))).status == 401


async def test_a_star_speaks_for_the_core_group_too() -> None:
    assert (await refused(review(resource={"group": "", "version": "v1", "resource": "pods"}), ("*",))).status == 200


async def test_when_nobody_can_say_whose_it_is_the_caller_may_try_again() -> None:
    async with running(callers=Asker("create TokenReview: 403 Forbidden").callers) as server:
        answer = await server.post(review(), headers=bearer("x.y.z"))
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.text == "whose the bearer token is cannot be told now: create TokenReview: 403 Forbidden"
        assert server.counted("callers_refused_total", reason="unavailable") == 1
        assert server.reviewer.asked == []


async def test_refusals_are_logged_once_in_a_while_and_without_the_token() -> None:
    now = [0.0]
    made: Callable[[Metrics, Tls], Callers] = lambda metrics, _: Callers(  # noqa: E731 - one line of a test
        metrics, SETTINGS, tokens=BearerTokens(TOKEN, source="tokens"), clock=lambda: now[0]
    )
    with capture_logs() as lines:
        async with running(callers=made) as server:
            for moment in (0.0, 1.0, 2.0, SETTINGS.log_seconds):
                now[0] = moment
                await server.post(review(), headers=bearer(OTHER_TOKEN))
    told = [line for line in lines if line["event"] == "caller refused"]
    assert [(line["reason"], line["path"], line["address"], line["unsaid"]) for line in told] == [
        ("token", "/validate/fail", "127.0.0.1", 0), ("token", "/validate/fail", "127.0.0.1", 2),
    ]  # fmt: skip
    assert OTHER_TOKEN not in json.dumps(lines)
