"""Exceptions at the command line: the same verdict as in a cluster, told in text and JSON, at any moment one asks for."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.builders import job, review
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import OURS, binding, exception, mutating, mutating_binding, validating
from webhook.cli.offline import ASSUMED
from webhook.cli.reviewer import LiveReviewer
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.policies import PolicyStore, load_policies
from webhook.settings import EvaluationSettings

POLICY = (validating("sizes", "object.spec.parallelism <= 2"), binding())
VALID, LATE = "2026-12-01T00:00:00Z", "2027-01-01"


@pytest.fixture
def policies(write: Write) -> str:
    return write("p.yaml", *POLICY, exception())


def test_the_text_says_what_would_have_been_and_why_it_is_not(gangwarden: Gangwarden, write: Write, policies: str) -> None:
    done = gangwarden("check", "--now", VALID, "-p", policies, write("job.yaml", job().build()))
    assert done.exit_code == 0
    assert (
        "excepted by PolicyException 'import' until 2027-01-01T00:00:00Z (being split; owner: batch@example.com): "
        "failed expression: object.spec.parallelism <= 2"
    ) in done.stdout


def test_the_json_says_it_in_fields(gangwarden: Gangwarden, write: Write, policies: str) -> None:
    done = gangwarden("check", "-o", "json", "--now", VALID, "-p", policies, write("job.yaml", job().build()))
    (row,) = json.loads(done.stdout)["results"]
    assert (row["verdict"], row["rule"]) == ("allow", "validations[0]")
    assert row["exception"] == {
        "name": "import",
        "owner": "batch@example.com",
        "reason": "being split",
        "expires": "2027-01-01T00:00:00Z",
        "instead": "deny",
    }


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("sarif", '"level": "note"'),
        ("github", "::notice file=job.yaml"),
        ("junit", "<skipped message=\"excepted by PolicyException 'import' until"),
    ],
)
def test_a_ci_system_is_told_without_a_failure(
    gangwarden: Gangwarden, write: Write, policies: str, output: str, told: str
) -> None:
    done = gangwarden("check", "-o", output, "--now", VALID, "-p", policies, write("job.yaml", job().build()))
    assert done.exit_code == 0
    assert told in done.stdout.replace("&apos;", "'")


def test_what_is_not_excepted_has_none(gangwarden: Gangwarden, write: Write, policies: str) -> None:
    manifest = write("job.yaml", job().parallelism(1).build())
    (row,) = json.loads(gangwarden("check", "-o", "json", "-p", policies, manifest).stdout)["results"]
    assert row["exception"] is None


def test_one_can_ask_what_will_be_refused_once_it_has_ended(gangwarden: Gangwarden, write: Write, policies: str) -> None:
    done = gangwarden("check", "--now", LATE, "-p", policies, write("job.yaml", job().build()))
    assert done.exit_code == 1
    assert "PolicyException 'import' expired at 2027-01-01T00:00:00Z; its owner is batch@example.com" in done.stdout
    assert "PolicyException 'import' has expired (2027-01-01 00:00 UTC) and does nothing" in done.stderr


def test_one_that_nothing_needed_is_named(gangwarden: Gangwarden, write: Write, policies: str) -> None:
    manifest = write("job.yaml", job().parallelism(1).build())
    needless = gangwarden("check", "--now", VALID, "-p", policies, manifest)
    assert "note: exceptions that nothing here needed: import" in needless.stderr
    needed = gangwarden("check", "--now", VALID, "-p", policies, write("j.yaml", job().build()))
    assert "nothing here needed" not in needed.stderr


@pytest.mark.parametrize("moment", ["soon", "2026-13-01", ""])
def test_a_moment_that_is_none_is_a_usage_error(gangwarden: Gangwarden, write: Write, policies: str, moment: str) -> None:
    done = gangwarden("check", "--now", moment, "-p", policies, write("job.yaml", job().build()))
    assert done.exit_code == 2
    assert "write 2026-12-31 or 2026-12-31T18:00:00Z" in done.stderr


def test_a_broken_exception_is_a_broken_policy(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", *POLICY, exception(rules=[{"rule": "validations[7]"}]))
    done = gangwarden("check", "-p", policies, write("job.yaml", job().build()))
    assert done.exit_code == 3
    assert 'p.yaml:6: spec.rules[0]: the policy has no rule "validations[7]"' in done.stderr


def test_an_exception_among_the_manifests_excepts_nothing(gangwarden: Gangwarden, write: Write) -> None:
    done = gangwarden("check", "-p", write("p.yaml", *POLICY), write("job.yaml", exception(), job().build()))
    assert done.exit_code == 1


def test_a_mutation_that_is_left_out_is_shown(gangwarden: Gangwarden, write: Write) -> None:
    waived = exception(policy="labels", policyKind="MutatingAdmissionPolicy", rules=[{"rule": "mutations[0]"}])
    policies = write("p.yaml", mutating(), mutating_binding(), waived)
    done = gangwarden("check", "-o", "json", "--now", VALID, "-p", policies, write("job.yaml", job().build()))
    (row,) = json.loads(done.stdout)["results"]
    assert (row["patch"], row["exception"]["instead"]) == (None, "patch")


class Reviews:
    """The reviewer of a cluster, at a moment that a test chooses."""

    def __init__(self, policies: str) -> None:
        self.store = PolicyStore(load_policies([policies]))
        self.now = datetime(2026, 12, 1, tzinfo=UTC)
        self._reviewer = LiveReviewer(
            self.store, lambda: EMPTY_SNAPSHOT, lambda: ASSUMED, limits=EvaluationSettings(), clock=lambda: self.now
        )

    def of(self, obj: Object) -> Object:
        reviewed = self._reviewer.review(
            review(obj), phase=Phase.VALIDATE, failure_policy=FailurePolicy.FAIL, expired=lambda: False
        )
        response: Object = reviewed.document["response"]
        return response


def test_a_review_is_answered_by_the_moment_at_which_it_comes(policies: str) -> None:
    reviews = Reviews(policies)
    before = reviews.of(job().build())
    assert before["allowed"]
    assert "until 2027-01-01T00:00:00Z" in before["warnings"][0]
    assert json.loads(before["auditAnnotations"]["policy-exceptions"])[0]["exception"] == "import"
    reviews.now = datetime(2027, 1, 1, tzinfo=UTC)
    after = reviews.of(job().build())
    assert not after["allowed"]
    assert "expired at 2027-01-01T00:00:00Z" in after["status"]["message"]
    assert "auditAnnotations" not in after


def test_another_set_of_policies_brings_and_takes_exceptions(policies: str, write: Write) -> None:
    reviews = Reviews(write("without.yaml", *POLICY))
    assert not reviews.of(job().build())["allowed"]
    reviews.store.offer(load_policies([policies]))
    assert reviews.of(job().build())["allowed"]
    reviews.store.offer(load_policies(["without.yaml"]))
    assert not reviews.of(job().build())["allowed"]


def cases(moment: str, **case: object) -> Object:
    asked = {"name": "a large Job", "object": job().build(), "expect": {"verdict": "allow"}, **case}
    spec = {"policies": ["p.yaml"], "now": moment, "cases": [asked]}
    return {"apiVersion": OURS, "kind": "PolicyTest", "metadata": {"name": "sizes"}, "spec": spec}


@pytest.mark.parametrize(("case", "passes"), [({}, True), ({"now": LATE}, False)])
def test_a_case_says_when_it_is_asked(
    gangwarden: Gangwarden, write: Write, policies: str, case: dict[str, str], passes: bool
) -> None:
    assert policies == "p.yaml"
    assert gangwarden("test", write("cases.yaml", cases(VALID, **case))).exit_code == (0 if passes else 1)


def test_a_case_that_is_asked_at_no_moment_is_broken(gangwarden: Gangwarden, write: Write, policies: str) -> None:
    assert policies == "p.yaml"
    done = gangwarden("test", write("cases.yaml", cases("tomorrow")))
    assert done.exit_code == 4
    assert 'spec.now: "tomorrow" is not a moment' in done.stderr
