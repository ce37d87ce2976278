"""A manifest without an API server: both rounds in their order, and what would be created."""

from __future__ import annotations

import pytest

from tests.admission.attaching import around, bound
from tests.builders import Built, job
from tests.groups.building import compiled
from tests.rules.building import binding, policy, request, situation, text
from webhook.admission import Checker, PolicySet, is_finding
from webhook.model.groups import MIN_COUNT_ANNOTATION
from webhook.model.policies import Validation
from webhook.model.results import Result
from webhook.model.verdicts import Finding, Verdict
from webhook.rules import compile_policy

STAMPED = Validation(expression=text("has(object.spec.template.spec.schedulingGroup)"), message="not stamped")


def check(obj: Built, *validations: Validation, grouping: bool = True) -> tuple[Result, ...]:
    validating = ((compile_policy(policy(*validations)), (binding(),)),) if validations else ()
    policies = PolicySet(validating=validating, workload=(bound(),) if grouping else ())
    checker = Checker(policies=policies, surroundings=around(), situation=situation)
    return checker.check(request(obj.build()), source="job.yaml#0")


def test_what_is_validated_is_what_attachment_made_of_it() -> None:
    grouped, validated = check(job(), STAMPED)
    assert (grouped.finding.verdict, validated.finding.verdict) == (Verdict.ALLOW, Verdict.ALLOW)
    (refused,) = check(job(), STAMPED, grouping=False)
    assert (refused.finding.verdict, refused.finding.message) == (Verdict.DENY, "not stamped")


def test_the_policy_that_groups_shows_patch_and_objects_and_no_other_does() -> None:
    grouped, validated = check(job(), STAMPED)
    assert [obj["kind"] for obj in grouped.creates or ()] == ["Workload", "PodGroup"]
    assert grouped.patch
    assert grouped.patched
    assert (validated.patch, validated.patched) == (None, None)
    assert not validated.creates


def test_a_job_of_no_pods_has_no_objects_yet() -> None:
    (grouped,) = check(job().parallelism(0))
    assert grouped.patch
    assert grouped.creates == ()


def test_what_attachment_refuses_is_not_validated() -> None:
    (refused,) = check(job().annotate(MIN_COUNT_ANNOTATION, "9"), STAMPED)
    assert (refused.finding.policy, refused.finding.verdict) == ("gangs", Verdict.DENY)
    assert not refused.creates


def test_an_object_of_which_nobody_speaks_is_skipped() -> None:
    (skipped,) = check(job(), grouping=False)
    assert (skipped.finding.verdict, skipped.finding.message, skipped.source) == (Verdict.SKIP, "no policy matches", "job.yaml#0")


@pytest.mark.parametrize(
    ("verdict", "fail_on", "counts"),
    [
        (Verdict.DENY, [Verdict.DENY], True),
        (Verdict.WARN, [Verdict.DENY], False),
        (Verdict.WARN, [Verdict.DENY, Verdict.WARN], True),
        (Verdict.ERROR, [Verdict.DENY], True),
        (Verdict.SKIP, [Verdict.DENY, Verdict.WARN], False),
    ],
)
def test_a_result_counts_as_a_finding(verdict: Verdict, fail_on: list[Verdict], counts: bool) -> None:
    result = Result(source="s", object={}, finding=Finding(policy="p", verdict=verdict))
    assert is_finding(result, fail_on) is counts


def test_a_group_under_generate_name_is_shown_with_a_name() -> None:
    (grouped,) = check(job().at("metadata", {"generateName": "run-", "namespace": "team-a"}))
    assert [obj["metadata"]["ownerReferences"][0]["name"] for obj in grouped.creates or ()] == ["run-xxxxx", "run-xxxxx"]
    assert compiled().name == grouped.finding.policy
