"""Expected against actual: equal in what was said, and every difference in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.builders import pod_group
from webhook.admission import expect as expecting
from webhook.model.cases import Expectation
from webhook.model.objects import Object
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched, Trail, Verdict


def finding(verdict: Verdict = Verdict.DENY, **parts: Any) -> Finding:
    default = {"policy": "sizes", "rule": "validations[0]", "message": "at most 8 pods", "field": "spec.parallelism"}
    return Finding(verdict=verdict, **default | parts)


def answer(*findings: Finding) -> Answer:
    trail = Trail(findings=findings)
    if any(found.verdict is Verdict.DENY for found in findings):
        return Denied(message="no", trail=trail)
    return Admitted(trail=trail)


def expect(verdict: str, **parts: Any) -> Expectation:
    return Expectation(verdict=Verdict(verdict), **parts)


def differences(expected: Expectation, actual: Answer, created: Sequence[Object]) -> tuple[str, ...]:
    found = expecting.differences(expected, actual, created)
    return tuple(sentence for difference in found for sentence in difference.sentences)


DENIED = answer(finding())
ALLOWED = answer(finding(Verdict.ALLOW, rule="", message=""))


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (expect("deny"), DENIED),
        (expect("deny", policy="sizes", rule="validations[0]", message="most 8", field="spec.parallelism"), DENIED),
        (expect("allow"), ALLOWED),
        (expect("skip"), answer()),
        (expect("skip", policy="other"), DENIED),
        (expect("warn"), answer(finding(Verdict.WARN), finding(Verdict.ALLOW))),
        (expect("error"), answer(finding(Verdict.ERROR))),
        (expect("allow", policy="a"), answer(finding(Verdict.ALLOW, policy="a"), finding(policy="b"))),
        (expect("allow", groups=()), ALLOWED),
    ],
)
def test_what_is_as_expected_has_no_differences(expected: Expectation, actual: Answer) -> None:
    assert differences(expected, actual, ()) == ()


@pytest.mark.parametrize(
    ("expected", "actual", "difference"),
    [
        (expect("allow"), DENIED, "expected allow, got deny: deny by sizes/validations[0] (at most 8 pods)"),
        (expect("deny"), ALLOWED, "expected deny, got allow: allow by sizes"),
        (expect("allow"), answer(), "expected allow, but nothing was found: no policy matched"),
        (expect("deny"), answer(), "expected deny, but nothing was found: no policy matched"),
        (expect("skip"), DENIED, "expected skip, got deny: deny by sizes/validations[0] (at most 8 pods)"),
        (
            expect("deny", policy="other"),
            DENIED,
            "expected deny of policy 'other', but nothing was found of policy 'other': "
            "deny by sizes/validations[0] (at most 8 pods)",
        ),
        (expect("deny", rule="validations[1]"), DENIED, "but nothing was found of rule 'validations[1]'"),
        (expect("deny", message="at most 9"), DENIED, "expected message 'at most 9', got 'at most 8 pods'"),
        (expect("deny", field="spec"), DENIED, "expected field 'spec', got 'spec.parallelism'"),
        (expect("allow", patched={"spec": {}}), ALLOWED, "expected a patched object, but nothing was changed"),
        (expect("allow", groups=({"kind": "PodGroup"},)), ALLOWED, "groups[0]: no PodGroup would be created"),
    ],
)
def test_what_differs_is_said(expected: Expectation, actual: Answer, difference: str) -> None:
    (said,) = differences(expected, actual, ())
    assert difference in said


PATCHED = Patched(object={"spec": {"a": 1, "list": [1, {"b": 2, "c": 3}]}}, patch=(), trail=ALLOWED.trail)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"spec": {"a": 1}}, ()),
        ({"spec": {"list": [1, {"b": 2}]}}, ()),
        ({"spec": {"a": 2}}, ("patched.spec.a: expected 2, got 1",)),
        ({"spec": {"a": True}}, ("patched.spec.a: expected True, got 1",)),
        ({"spec": {"x": 1}}, ("patched.spec.x: expected 1, but it is not there",)),
        ({"spec": {"list": [1]}}, ("patched.spec.list: expected [1], got [1, {'b': 2, 'c': 3}]",)),
        ({"spec": {"list": [1, {"b": 3}]}}, ("patched.spec.list[1].b: expected 3, got 2",)),
    ],
)
def test_a_part_of_the_patched_object_is_compared(part: dict[str, Any], said: tuple[str, ...]) -> None:
    assert differences(expect("allow", patched=part), PATCHED, ()) == said


def test_groups_are_found_among_what_would_be_created() -> None:
    created = [pod_group("a", 2).build(), pod_group("b", 4).build()]
    quorum = {"kind": "PodGroup", "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}
    assert differences(expect("allow", groups=(quorum,)), ALLOWED, created) == ()
    assert differences(expect("allow", groups=()), ALLOWED, created) == ("expected no group objects, got PodGroup, PodGroup",)
    wrong = {"kind": "PodGroup", "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    assert differences(expect("allow", groups=(wrong,)), ALLOWED, created) == (
        "groups[0].spec.schedulingPolicy.gang.minCount: expected 3, got 2",
    )


def shown(expected: Expectation, actual: Answer, created: Sequence[Object] = ()) -> list[tuple[str, object, object]]:
    return [(found.what, found.expected, found.actual) for found in expecting.differences(expected, actual, created)]


def test_only_the_part_that_is_spoken_of_is_shown() -> None:
    part = {"spec": {"a": 2, "list": [1, {"b": 3}]}}
    assert shown(expect("allow", patched=part), PATCHED) == [
        ("patched", part, {"spec": {"a": 1, "list": [1, {"b": 2}]}}),
    ]
    wrong = {"kind": "PodGroup", "metadata": {"name": "c"}}
    assert shown(expect("allow", groups=(wrong,)), ALLOWED, [pod_group("a", 2).build()]) == [
        ("groups[0]", wrong, {"kind": "PodGroup", "metadata": {"name": "a"}}),
    ]
    assert shown(expect("deny", message="at most 9"), DENIED) == [
        (
            "finding",
            {"verdict": "deny", "message": "at most 9"},
            {"verdict": "deny", "rule": "validations[0]", "message": "at most 8 pods"},
        )
    ]
    assert shown(expect("deny"), answer()) == [("finding", {"verdict": "deny"}, {"verdict": "skip"})]
