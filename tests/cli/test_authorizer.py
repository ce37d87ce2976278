"""Who may do what: rules in a file for ``check --authorizer``, and questions to the API server for ``serve``."""

from __future__ import annotations

import json

import pytest

from tests.builders import job
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating
from webhook.admission import request_for, review_of
from webhook.cli.asking import asker_of
from webhook.cli.reviewer import LiveReviewer
from webhook.model.access import AccessAnswer, Answers
from webhook.model.groups import Capabilities
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Operation, Phase
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.model.verdicts import Reviewed, Unanswered
from webhook.policies import PolicyStore, load_policies
from webhook.rules.world import never
from webhook.settings import EvaluationSettings

USES = "authorizer.group('scheduling.k8s.io').resource('priorityclasses').name('high').check('use').allowed()"
RULES = """\
# who may use which class
- {user: alice, verb: use, resource: priorityclasses, allowed: true}
- {userGroup: ops, allowed: true}
- {user: carol, allowed: false, error: the webhook was away}
"""


@pytest.fixture
def files(write: Write) -> None:
    write("p.yaml", validating("sizes", USES), binding())
    write("job.yaml", job("train").build())
    write("rules.yaml", RULES)


def verdict(gangwarden: Gangwarden, *flags: str) -> str:
    done = gangwarden("check", "-p", "p.yaml", "-o", "json", *flags, "job.yaml")
    return json.loads(done.stdout)["results"][0]["verdict"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--user", "alice"), "allow"),
        (("--user", "bob"), "deny"),
        (("--user", "bob", "--group", "ops"), "allow"),
        (("--user", "carol"), "deny"),
    ],
)
@pytest.mark.usefixtures("files")
def test_the_first_rule_that_fits_the_user_answers(gangwarden: Gangwarden, flags: tuple[str, ...], expected: str) -> None:
    assert verdict(gangwarden, "--authorizer", "rules.yaml", *flags) == expected


@pytest.mark.usefixtures("files")
def test_without_rules_nothing_is_judged(gangwarden: Gangwarden) -> None:
    assert verdict(gangwarden, "--user", "alice") == "skip"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {usr: alice}", "rules.yaml: [0] has an unknown field 'usr'; a rule has user, userGroup, verb"),
        ("- {user: alice, allowed: 'yes'}", "rules.yaml: [0].allowed must be true or false"),
        ("user: alice", "rules.yaml: must be a list of rules"),
        ("- {user: [", "rules.yaml:"),
        ("- {user: a}\n---\n- {user: b}", "rules.yaml: [0] must be an object"),
        ("", "rules.yaml: the file is empty"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_file_that_holds_no_rules_is_an_input_error(gangwarden: Gangwarden, write: Write, text: str, told: str) -> None:
    write("rules.yaml", text)
    done = gangwarden("check", "-p", "p.yaml", "--authorizer", "rules.yaml", "job.yaml")
    assert done.exit_code == 4
    assert told in done.stderr


def test_the_reviewer_of_serve_asks_before_it_decides(write: Write) -> None:
    policies = load_policies([write("p.yaml", validating("sizes", USES), binding())])
    known = Capabilities(group_objects=True)
    reviewer = LiveReviewer(PolicyStore(policies), lambda: EMPTY_SNAPSHOT, lambda: known, limits=EvaluationSettings())

    def reviewed(answers: Answers | None) -> Reviewed | Unanswered:
        request = request_for(job("train").build(), asker_of(Operation.CREATE, "alice", ()))
        return reviewer.review(
            review_of(request), phase=Phase.VALIDATE, failure_policy=FailurePolicy.FAIL, expired=never, answers=answers
        )

    first = reviewed(Answers())
    assert isinstance(first, Unanswered)
    assert [(question.user.name, question.verb, question.name) for question in first.questions] == [("alice", "use", "high")]
    for allowed in (True, False):
        answer = reviewed(Answers(known={first.questions[0]: AccessAnswer(allowed=allowed)}))
        assert isinstance(answer, Reviewed)
        assert answer.document["response"]["allowed"] is allowed
    for answers in (None, Answers(closed="no more")):
        answer = reviewed(answers)
        assert isinstance(answer, Reviewed)
        assert answer.document["response"]["allowed"] is False
