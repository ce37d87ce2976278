"""Questions of access put to the API server: in its words, once for all who ask, and a failure is never a yes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.cluster.conftest import QUICK
from tests.cluster.fake_api import FakeApi
from tests.cluster.waiting import until
from webhook.cluster import AccessReviews, Api
from webhook.model.access import AccessAnswer, AccessQuestion, AccessUser

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ALICE = AccessUser(name="alice", uid="7", groups=("dev", "ops"), extra=(("scopes", ("a", "b")),))
QUESTION = AccessQuestion(user=ALICE, verb="use", group="scheduling.k8s.io", resource="priorityclasses", name="high")
YES = AccessAnswer(allowed=True)
PATIENCE = 60.0  # seconds until a test gives up; nothing measures time against it


def say(fake: FakeApi, **status: object) -> None:
    fake.documents[PATH] = {"kind": "SubjectAccessReview", "status": status}


async def test_a_question_about_resources_is_asked_as_the_api_server_would(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True, reason="RBAC: allowed", evaluationError="one of two")
    asked = replace(QUESTION, namespace="ml", subresource="status", field_selector="a=b", label_selector="x in (y)")
    answers = await AccessReviews(api, QUICK).answers([asked], seconds=PATIENCE)
    assert answers == {asked: AccessAnswer(allowed=True, reason="RBAC: allowed", error="one of two")}
    (seen,) = fake.seen("POST")
    assert (seen.path, seen.body["kind"], seen.body["apiVersion"]) == (PATH, "SubjectAccessReview", "authorization.k8s.io/v1")
    assert seen.body["spec"] == {
        "user": "alice",
        "uid": "7",
        "groups": ["dev", "ops"],
        "extra": {"scopes": ["a", "b"]},
        "resourceAttributes": {
            "verb": "use",
            "group": "scheduling.k8s.io",
            "version": "*",
            "resource": "priorityclasses",
            "subresource": "status",
            "namespace": "ml",
            "name": "high",
            "fieldSelector": {"rawSelector": "a=b"},
            "labelSelector": {"rawSelector": "x in (y)"},
        },
    }


async def test_a_question_about_a_path_is_about_nothing_else(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=False)
    await AccessReviews(api, QUICK).answers([AccessQuestion(user=ALICE, verb="get", path="/metrics")], seconds=PATIENCE)
    spec = fake.seen("POST")[0].body["spec"]
    assert spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
    assert "resourceAttributes" not in spec


async def test_what_was_answered_is_not_asked_again_for_some_seconds(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    now = [0.0]
    reviews = AccessReviews(api, replace(QUICK, access_seconds=5.0), clock=lambda: now[0])
    for moment, calls in ((0.0, 1), (4.9, 1), (5.1, 2)):
        now[0] = moment
        assert await reviews.answers([QUESTION], seconds=PATIENCE) == {QUESTION: YES}
        assert len(fake.seen("POST")) == calls


async def test_another_user_is_another_question(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    reviews = AccessReviews(api, QUICK)
    await reviews.answers([QUESTION, QUESTION, replace(QUESTION, user=replace(ALICE, groups=()))], seconds=PATIENCE)
    assert len(fake.seen("POST")) == 2


async def test_only_so_many_answers_are_kept(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    reviews = AccessReviews(api, replace(QUICK, access_limit=2))
    for name in ("a", "b", "c", "c", "b", "a"):
        await reviews.answers([replace(QUESTION, name=name)], seconds=PATIENCE)
    assert [seen.body["spec"]["resourceAttributes"]["name"] for seen in fake.seen("POST")] == ["a", "b", "c", "a"]


async def test_who_asks_what_is_being_asked_waits_for_that_answer(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    fake.hang()
    reviews = AccessReviews(api, QUICK)
    both = asyncio.gather(*(reviews.answers([QUESTION], seconds=PATIENCE) for _ in range(2)))
    await until(lambda: bool(fake.seen("POST")))
    fake.resume()
    assert await both == [{QUESTION: YES}] * 2
    assert len(fake.seen("POST")) == 1


async def test_no_answer_in_time_is_told_and_the_answer_serves_the_next(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    fake.hang()
    reviews = AccessReviews(api, QUICK)
    assert await reviews.answers([QUESTION], seconds=0) == {QUESTION: "the API server has not answered in time"}
    await until(lambda: bool(fake.seen("POST")))
    fake.resume()
    assert await reviews.answers([QUESTION], seconds=PATIENCE) == {QUESTION: YES}
    assert len(fake.seen("POST")) == 1


async def test_only_so_many_are_asked_at_once(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    fake.hang()
    reviews = AccessReviews(api, replace(QUICK, access_at_once=2))
    waiting = asyncio.create_task(reviews.answers([replace(QUESTION, name=str(n)) for n in range(6)], seconds=PATIENCE))
    await until(lambda: len(fake.seen("POST")) == 2)
    fake.resume()
    assert set((await waiting).values()) == {YES}
    assert len(fake.seen("POST")) == 6


@pytest.mark.parametrize("status", [{}, {"allowed": "true"}, {"allowed": None}])
async def test_an_answer_that_is_none_is_no_yes(fake: FakeApi, api: Api, status: dict[str, object]) -> None:
    say(fake, **status)
    answers = await AccessReviews(api, QUICK).answers([QUESTION], seconds=PATIENCE)
    assert answers == {QUESTION: "the answer of the API server is none"}


async def test_yes_and_no_at_once_is_no_yes(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True, denied=True)
    (told,) = (await AccessReviews(api, QUICK).answers([QUESTION], seconds=PATIENCE)).values()
    assert told == "the answer of the API server is yes and no at once"


async def test_a_refusal_is_told_in_its_words_and_asked_again_next_time(fake: FakeApi, api: Api) -> None:
    say(fake, allowed=True)
    reviews = AccessReviews(api, QUICK)
    fake.forbidden.append("subjectaccessreviews")
    told = (await reviews.answers([QUESTION], seconds=PATIENCE))[QUESTION]
    assert isinstance(told, str)
    assert "403 Forbidden: you may not" in told
    fake.forbidden.clear()
    assert await reviews.answers([QUESTION], seconds=PATIENCE) == {QUESTION: YES}
