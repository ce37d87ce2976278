"""``authorizer``: who may do what, asked by a policy."""

from __future__ import annotations

import pytest

from tests.rules.building import ask, named, policy, request, text
from webhook.model.access import AccessAnswer, AccessList, AccessQuestion, AccessRule
from webhook.model.policies import Validation
from webhook.model.requests import UserInfo
from webhook.model.verdicts import Admitted, Denied, Verdict

ALICE = UserInfo(username="alice", groups=("dev",), extra={"scopes": ["a", "b"]})
MAY = "authorizer.group('batch').resource('jobs').namespace('ml').check('create').allowed()"


class Asked:
    """Allows everything and remembers what it was asked."""

    def __init__(self) -> None:
        self.questions: list[AccessQuestion] = []

    def authorize(self, question: AccessQuestion) -> AccessAnswer:
        self.questions.append(question)
        return AccessAnswer(allowed=True, reason="because")


def allowing(**parts: str) -> AccessList:
    return AccessList([AccessRule(**parts, answer=AccessAnswer(allowed=True))])


def test_the_first_rule_that_fits_answers_and_the_rest_is_denied() -> None:
    fitting, other = allowing(group="batch", resource="jobs", verb="create"), allowing(group="batch", resource="cronjobs")
    assert isinstance(ask(policy(MAY), authorizer=fitting), Admitted)
    assert isinstance(ask(policy(MAY), authorizer=other), Denied)


def test_a_rule_about_paths_says_nothing_of_resources() -> None:
    assert isinstance(ask(policy(MAY), authorizer=allowing(path="*")), Denied)


def test_the_question_is_about_the_user_who_asks() -> None:
    asked = Asked()
    ask(policy(MAY), asked=request(user=ALICE), authorizer=asked)
    (question,) = asked.questions
    assert (question.user.name, question.user.groups, question.user.extra) == ("alice", ("dev",), (("scopes", ("a", "b")),))


def test_a_service_account_is_another_user() -> None:
    asked = Asked()
    ask(policy(MAY.replace("group", "serviceAccount('ml', 'bot').group")), asked=request(user=ALICE), authorizer=asked)
    assert asked.questions[0].user.name == "system:serviceaccount:ml:bot"


def test_the_request_resource_is_what_the_request_is_about() -> None:
    asked = Asked()
    chain = "authorizer.requestResource.subresource('status').labelSelector('a=b').fieldSelector('c=d').check('update').allowed()"
    ask(policy(chain), asked=request(user=ALICE, name="train", namespace="ml"), authorizer=asked)
    (question,) = asked.questions
    assert (question.group, question.resource, question.subresource, question.namespace, question.name) == (
        "batch", "jobs", "status", "ml", "train",
    )  # fmt: skip
    assert (question.label_selector, question.field_selector) == ("a=b", "c=d")


def test_a_match_condition_and_a_variable_may_ask() -> None:
    asked = Asked()
    judged = policy("variables.may", variables=named(may=MAY), match_conditions=named(c=MAY))
    assert isinstance(ask(judged, authorizer=asked), Admitted)
    assert len(asked.questions) == 2


def test_a_variable_that_asks_has_no_value_in_a_message() -> None:
    validation = Validation(
        expression=text("!variables.may"), message_expression=text("string(variables.may)"), message="no luck"
    )
    answer = ask(policy(validation, variables=named(may=MAY)), authorizer=Asked())
    assert isinstance(answer, Denied)
    assert answer.message.endswith("denied request: no luck")


def test_an_audit_annotation_that_asks_breaks_as_in_the_api_server() -> None:
    judged = policy("true", audit_annotations=named(k="authorizer.path('/x').check('get').reason()"))
    answer = ask(judged, authorizer=Asked())
    assert isinstance(answer, Denied)
    assert "no such attribute(s): authorizer" in answer.message


@pytest.mark.parametrize(("skips", "verdict"), [(True, Verdict.SKIP), (False, Verdict.DENY)])
def test_where_nobody_can_tell_the_rule_is_not_decided(skips: bool, verdict: Verdict) -> None:
    answer = ask(policy(MAY), skip_undecided=skips)
    assert [finding.verdict for finding in answer.trail.findings] == [verdict]
