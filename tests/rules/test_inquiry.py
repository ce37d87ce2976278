"""Rules that must know who may do what: what is not known is noted, fails, and never passes for a yes or a no."""

from __future__ import annotations

import pytest

from tests.rules.building import ask, ignoring, policy, request
from webhook.model.access import AccessAnswer, Answers, Told
from webhook.model.requests import UserInfo
from webhook.model.verdicts import Admitted, Denied, Verdict
from webhook.rules import Inquiry

ALICE = request(user=UserInfo(username="alice"))


def may(verb: str) -> str:
    return f"authorizer.group('batch').resource('jobs').check('{verb}').allowed()"


def verbs(inquiry: Inquiry) -> list[str]:
    return [question.verb for question in inquiry.open]


def known(told: Told, *texts: str, closed: str = "") -> Inquiry:
    """Answer all that these expressions ask."""
    first = Inquiry(Answers())
    ask(policy(*texts), asked=ALICE, authorizer=first)
    return Inquiry(Answers(known=dict.fromkeys(first.open, told), closed=closed))


def test_what_is_not_known_is_noted_whatever_the_verdict_without_it() -> None:
    inquiry = Inquiry(Answers())
    ask(policy(may("get"), "true", f"{may('list')} && {may('watch')}"), asked=ALICE, authorizer=inquiry)
    assert verbs(inquiry) == ["get", "list", "watch"]


def test_a_question_that_only_an_answer_brings_up_comes_later() -> None:
    text = f"{may('get')} ? {may('list')} : {may('watch')}"
    inquiry = known(AccessAnswer(allowed=True), text)
    ask(policy(text), asked=ALICE, authorizer=inquiry)
    assert verbs(inquiry) == ["list"]


@pytest.mark.parametrize(("allowed", "outcome"), [(True, Admitted), (False, Denied)])
def test_what_is_known_decides(allowed: bool, outcome: type) -> None:
    inquiry = known(AccessAnswer(allowed=allowed), may("get"))
    assert isinstance(ask(policy(may("get")), asked=ALICE, authorizer=inquiry), outcome)
    assert verbs(inquiry) == []


@pytest.mark.parametrize("text", [may("get"), f"!{may('get')}"], ids=["must be allowed", "must not be allowed"])
def test_what_cannot_be_told_fails_both_ways(text: str) -> None:
    inquiry = known("403 Forbidden", text)
    answer = ask(policy(text), asked=ALICE, authorizer=inquiry)
    assert isinstance(answer, Denied)
    assert "whether alice may get jobs of group 'batch' is not known: 403 Forbidden" in answer.message
    assert verbs(inquiry) == []


def test_under_failure_policy_ignore_it_is_told_as_an_error() -> None:
    answer = ask(ignoring(may("get")), asked=ALICE, authorizer=known("no answer", may("get")))
    assert [finding.verdict for finding in answer.trail.findings] == [Verdict.ERROR]


def test_once_closed_nothing_more_is_noted() -> None:
    inquiry = Inquiry(Answers(closed="its rules have asked too often"))
    answer = ask(policy(may("get")), asked=ALICE, authorizer=inquiry)
    assert isinstance(answer, Denied)
    assert "its rules have asked too often" in answer.message
    assert verbs(inquiry) == []


def test_a_path_is_named_in_the_message() -> None:
    inquiry = known("late", "authorizer.path('/metrics').check('get').allowed()")
    answer = ask(policy("authorizer.path('/metrics').check('get').allowed()"), asked=ALICE, authorizer=inquiry)
    assert isinstance(answer, Denied)
    assert "whether alice may get /metrics is not known: late" in answer.message
