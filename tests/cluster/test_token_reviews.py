"""Whose a token is, put to the API server: seldom, never for one that is over, and only a clear yes is a yes."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cluster.fake_api import FakeApi
from tests.cluster.waiting import until
from webhook.cluster import Api, TokenReviews
from webhook.model.tokens import TokenAnswer
from webhook.settings import AuthenticationSettings

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"
AUDIENCE = "https://localhost:9443/validate/fail"
BEGIN = 1_000_000.0


def token(*, aud: Any = (AUDIENCE,), exp: Any = BEGIN + 600, salt: str = "") -> str:
    claims = json.dumps({"aud": aud, "exp": exp, "salt": salt}).encode()
    return ".".join(("e30", base64.urlsafe_b64encode(claims).decode().rstrip("="), "c2ln"))


def say(fake: FakeApi, **status: object) -> None:
    fake.documents[PATH] = {"kind": "TokenReview", "status": status}


def yes(fake: FakeApi) -> None:
    extra = {"authentication.kubernetes.io/mutatingwebhookconfiguration-name": ["gangwarden"]}
    say(fake, authenticated=True, audiences=[AUDIENCE], user={"username": "system:apiserver", "extra": extra})


@dataclass
class Asking:
    """Reviews with a clock that a test moves."""

    api: Api
    now: float = BEGIN

    def reviews(self, **settings: Any) -> TokenReviews:
        return TokenReviews(self.api, AuthenticationSettings(**settings), clock=lambda: self.now)


async def test_a_token_is_asked_about_for_one_audience(fake: FakeApi, api: Api) -> None:
    yes(fake)
    told = await Asking(api).reviews().answer(token(), AUDIENCE)
    assert isinstance(told, TokenAnswer)
    assert (told.authenticated, told.user) == (True, "system:apiserver")
    assert told.extra == {"authentication.kubernetes.io/mutatingwebhookconfiguration-name": ("gangwarden",)}
    (seen,) = fake.seen("POST")
    assert (seen.path, seen.body["spec"]) == (PATH, {"token": token(), "audiences": [AUDIENCE]})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (token(exp=BEGIN), "it has expired"),
        (token(aud=["https://kubernetes.default.svc"]), f"it was made for https://kubernetes.default.svc, not for {AUDIENCE}"),
        (token(aud=["a\r\nb"]), f"it was made for a??b, not for {AUDIENCE}"),
        (token(aud=[]), f"it was made for nobody, not for {AUDIENCE}"),
        (token(aud=7), "it is no token of a service account"),
        (token(exp=None), "it is no token of a service account"),
        ("a-token-from-a-file", "it is no token of a service account"),
        ("a.b.c", "it is no token of a service account"),
        ("a.\u00e9.c", "it is no token of a service account"),
    ],
    ids=["over", "for another", "a line break", "for nobody", "odd", "without end", "opaque", "no JSON", "no base64"],
)
async def test_what_cannot_be_for_us_is_not_asked_about(fake: FakeApi, api: Api, given: str, told: str) -> None:
    yes(fake)
    assert await Asking(api).reviews().answer(given, AUDIENCE) == TokenAnswer(authenticated=False, error=told)
    assert fake.seen("POST") == []


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({}, "the API server does not know it"),
        ({"authenticated": "true", "audiences": [AUDIENCE]}, "the API server does not know it"),
        ({"authenticated": False, "error": "[invalid bearer token]"}, "[invalid bearer token]"),
        ({"authenticated": True}, f"the API server does not confirm that it is for {AUDIENCE}"),
        ({"authenticated": True, "audiences": ["x"]}, f"the API server does not confirm that it is for {AUDIENCE}"),
    ],
    ids=["nothing", "a word", "a no", "no audience", "another audience"],
)
async def test_only_a_clear_yes_is_a_yes(fake: FakeApi, api: Api, status: dict[str, object], told: str) -> None:
    say(fake, **status)
    assert await Asking(api).reviews().answer(token(), AUDIENCE) == TokenAnswer(authenticated=False, error=told)


async def test_an_answer_is_kept_for_seconds_and_never_beyond_the_end_of_the_token(fake: FakeApi, api: Api) -> None:
    yes(fake)
    asking = Asking(api)
    reviews, short = asking.reviews(token_seconds=10), token(exp=BEGIN + 13)
    for after, authenticated, calls in ((0, True, 1), (9, True, 1), (10, True, 2), (12.9, True, 2), (13, False, 2)):
        asking.now = BEGIN + after
        told = await reviews.answer(short, AUDIENCE)
        assert isinstance(told, TokenAnswer)
        assert (told.authenticated, len(fake.seen("POST"))) == (authenticated, calls)


async def test_another_audience_is_another_question_and_only_so_many_answers_are_kept(fake: FakeApi, api: Api) -> None:
    yes(fake)
    reviews = Asking(api).reviews(token_limit=2)
    both = token(aud=[AUDIENCE, "b"])
    for audience in (AUDIENCE, "b", "b", AUDIENCE):
        await reviews.answer(both, audience)
    assert len(fake.seen("POST")) == 2
    await reviews.answer(token(), AUDIENCE)
    await reviews.answer(both, AUDIENCE)
    assert len(fake.seen("POST")) == 4


async def test_who_asks_about_the_same_waits_and_too_many_are_told(fake: FakeApi, api: Api) -> None:
    yes(fake)
    fake.hang()
    reviews = Asking(api).reviews(token_reviews_limit=1)
    both = asyncio.gather(*(reviews.answer(token(), AUDIENCE) for _ in range(2)))
    await until(lambda: bool(fake.seen("POST")))
    assert await reviews.answer(token(salt="x"), AUDIENCE) == "too many tokens are being reviewed"
    fake.resume()
    assert all(isinstance(told, TokenAnswer) and told.authenticated for told in await both)
    assert len(fake.seen("POST")) == 1


async def test_a_review_that_fails_is_told_and_asked_again_next_time(fake: FakeApi, api: Api) -> None:
    yes(fake)
    reviews = Asking(api).reviews()
    fake.forbidden.append("tokenreviews")
    told = await reviews.answer(token(), AUDIENCE)
    assert isinstance(told, str)
    assert "403 Forbidden" in told
    assert token() not in told
    fake.forbidden.clear()
    assert isinstance(await reviews.answer(token(), AUDIENCE), TokenAnswer)
