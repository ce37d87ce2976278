"""Reviews whose rules must know who may do what: asked between two looks at the same review, in few rounds, within its time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.server.running import Expired, review, running
from webhook.model.access import AccessAnswer, AccessQuestion, AccessUser, Answers, Told
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.verdicts import Admitted, Denied, Reviewed, Unanswered
from webhook.settings import EvaluationSettings

YES = AccessAnswer(allowed=True)


def question(verb: str) -> AccessQuestion:
    return AccessQuestion(user=AccessUser(name="alice"), verb=verb, resource="jobs")


@dataclass
class Curious:
    """Asks one question after the other, each once it knows the one before; admits if all of them were answered with yes."""

    verbs: tuple[str, ...]
    seen: list[Answers | None] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)

    def review(
        self,
        body: Object,
        *,
        phase: Phase,
        failure_policy: FailurePolicy,
        expired: Expired,
        answers: Answers | None = None,
        levels: int | None = None,
    ) -> Reviewed | Unanswered:
        self.seen.append(answers)
        self.bodies.append(id(body))
        for verb in self.verbs if answers else ():
            if question(verb) not in answers.known and not answers.closed:
                return Unanswered(questions=(question(verb),))
        known = [answers.known.get(question(verb)) for verb in self.verbs] if answers else []
        allowed = bool(known) and all(one == YES for one in known)
        answer = Admitted() if allowed else Denied(message="no")
        return Reviewed(document={"response": {"allowed": allowed}}, answer=answer)


@dataclass
class Asker:
    """Answers as it is told, and remembers what it was asked and how long it had."""

    tell: Callable[[AccessQuestion], Told] = lambda _: YES
    asked: list[tuple[AccessQuestion, ...]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    async def answers(self, questions: Iterable[AccessQuestion], *, seconds: float) -> Mapping[AccessQuestion, Told]:
        self.asked.append(tuple(questions))
        self.seconds.append(seconds)
        return {one: self.tell(one) for one in self.asked[-1]}


async def decided(reviewer: Curious, access: Asker | None, body: bytes = b"", **settings: Any) -> tuple[int, Any]:
    async with running(reviewer=reviewer, access=access, evaluation=EvaluationSettings(**settings)) as server:
        answer = await server.post(body or review())
        return answer.status, json.loads(answer.text)["response"]["allowed"] if answer.status == 200 else answer.text


@pytest.mark.parametrize("size", [0, 400_000], ids=["in the loop", "in the thread"])
async def test_a_review_is_decided_once_its_questions_are_answered(size: int) -> None:
    reviewer, asker = Curious(("get", "list")), Asker()
    assert await decided(reviewer, asker, review(padding="x" * size)) == (200, True)
    assert asker.asked == [(question("get"),), (question("list"),)]
    assert [sorted(one.verb for one in answers.known) for answers in reviewer.seen if answers] == [[], ["get"], ["get", "list"]]
    assert len(set(reviewer.bodies)) == 1


async def test_a_review_that_asks_nothing_costs_nothing_more() -> None:
    reviewer, asker = Curious(()), Asker()
    assert await decided(reviewer, asker) == (200, False)
    assert (asker.asked, len(reviewer.seen)) == ([], 1)


async def test_a_question_without_an_answer_is_told_as_such_and_never_as_a_yes() -> None:
    reviewer = Curious(("get",))
    assert await decided(reviewer, Asker(lambda _: "403 Forbidden")) == (200, False)
    assert reviewer.seen[-1] == Answers(known={question("get"): "403 Forbidden"})


async def test_rounds_are_bounded_and_the_last_look_may_ask_nothing() -> None:
    reviewer, asker = Curious(tuple(map(str, range(20)))), Asker()
    assert await decided(reviewer, asker, access_rounds=3) == (200, False)
    assert len(asker.asked) == 3
    assert [answers.closed for answers in reviewer.seen if answers] == ["", "", "", "its rules have asked too often"]


async def test_nobody_may_wait_longer_than_the_review_has() -> None:
    now = [0.0]

    def slowly(_: AccessQuestion) -> Told:
        now[0] += 3.0
        return YES

    asker = Asker(slowly)
    async with running(reviewer=Curious(("a", "b", "c")), access=asker, clock=lambda: now[0]) as server:
        await server.post(review(), "/validate/fail?timeout=5s")
    assert asker.seconds == pytest.approx([4.0, 1.0, 0.0])


async def test_without_anybody_to_ask_the_reviewer_is_told_so() -> None:
    reviewer = Curious(("get",))
    assert await decided(reviewer, None) == (200, False)
    assert reviewer.seen == [None]


@pytest.mark.parametrize("access", [None, Asker()], ids=["nobody answers", "closed"])
async def test_a_reviewer_that_asks_all_the_same_is_no_allow(access: Asker | None) -> None:
    class Stubborn(Curious):
        def review(self, body: Object, **_: Any) -> Unanswered:
            return Unanswered(questions=(question("get"),))

    status, text = await decided(Stubborn(()), access)
    assert (status, "internal error" in text) == (500, True)


async def test_an_asker_that_breaks_is_no_allow() -> None:
    def fail(_: AccessQuestion) -> Told:
        raise ValueError("x")

    status, _ = await decided(Curious(("get",)), Asker(fail))
    assert status == 500
