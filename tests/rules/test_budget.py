"""What expressions may cost together. The API server's own code gave these answers, to policies a thousand times as dear."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.building import ask, ignoring, named, policy, situation, text
from tests.rules.mutating import label
from tests.rules.mutating import policy as mutating
from webhook.model.objects import labels_of
from webhook.model.policies import FailurePolicy, Validation
from webhook.model.verdicts import Admitted, Denied
from webhook.rules import Mutated, mutate
from webhook.settings import EvaluationSettings

LIMITS = EvaluationSettings(cost_per_expression=1_000, cost_per_policy=10_000, cost_per_conditions=2_500)
DEAR = "lists.range(900).size() > 0"
"""Costs nine tenths of what an expression may: twelve are too many for a policy, three for its conditions."""
TOO_DEAR = "lists.range(900).size() + lists.range(900).size() > 0"
VARIABLES = named(**{f"v{index}": DEAR for index in range(12)})
ALL_VARIABLES = " && ".join(f"variables.v{index}" for index in range(12))


def telling(cel: str, message: str) -> Validation:
    return Validation(expression=text(cel), message_expression=text(message))


def findings(build: Any, *validations: str | Validation, **parts: Any) -> list[tuple[str, str]]:
    """Return what is denied, or in error under Ignore: the rule (empty: the policy as a whole) and what is said."""
    answer = ask(build(*validations, **parts), limits=LIMITS)
    found = [(found.rule, found.message) for found in answer.trail.findings if found.verdict.value != "allow"]
    assert isinstance(answer, Denied) == (bool(found) and build is policy)
    return found


BROKEN_AS_A_WHOLE: list[tuple[tuple[str | Validation, ...], dict[str, Any]]] = [
    ((DEAR,) * 12, {}),
    (("false", *(DEAR,) * 12), {}),
    ((ALL_VARIABLES,), {"variables": VARIABLES}),
    (("false", ALL_VARIABLES), {"variables": VARIABLES}),
    ((f"{ALL_VARIABLES} && object.nope",), {"variables": VARIABLES}),
    (("true",), {"match_conditions": named(a=DEAR, b=DEAR, c=DEAR)}),
    (("true",), {"audit_annotations": named(**{f"k{index}": f"string({DEAR})" for index in range(12)})}),
    (("false",), {"audit_annotations": named(**{f"k{index}": f"string({DEAR})" for index in range(12)})}),
]


@pytest.mark.parametrize("build", [policy, ignoring])
@pytest.mark.parametrize(("validations", "parts"), BROKEN_AS_A_WHOLE)
def test_a_policy_breaks_as_a_whole_where_its_budget_is_spent(build: Any, validations: Any, parts: Any) -> None:
    ((rule, message),) = findings(build, *validations, **parts)
    assert rule == ""
    assert "running out of cost budget" in message


@pytest.mark.parametrize("build", [policy, ignoring])
@pytest.mark.parametrize("conditions", [("false", DEAR, DEAR, DEAR), (DEAR, DEAR, DEAR, "false")])
def test_a_false_condition_does_not_hide_that_the_others_spent_the_budget(build: Any, conditions: tuple[str, ...]) -> None:
    asked = build("false", match_conditions=named(**dict(zip("abcd", conditions, strict=True))))
    answer = ask(asked, limits=LIMITS)
    assert isinstance(answer, Denied if build is policy else Admitted)
    assert ["running out of cost budget" in found.message for found in answer.trail.findings] == [True]


def test_a_false_condition_decides_where_the_budget_suffices_for_the_others() -> None:
    assert ask(policy("false", match_conditions=named(a="false", b=DEAR, c=DEAR)), limits=LIMITS) == Admitted()
    assert ask(policy("false", match_conditions=named(a="false", b=TOO_DEAR)), limits=LIMITS) == Admitted()


@pytest.mark.parametrize(
    ("expression", "variables"),
    [
        ("variables.v || true", {"v": TOO_DEAR}),
        ("[1].exists(x, variables.v) || true", {"v": TOO_DEAR}),
        ("variables.w || true", {"v": TOO_DEAR, "w": "variables.v || true"}),
    ],
)
def test_a_variable_that_was_stopped_is_an_error_like_any_other(expression: str, variables: dict[str, str]) -> None:
    assert findings(policy, expression, "variables.v || 1 == 1", variables=named(**variables)) == []


def test_what_stopped_variables_cost_counts_for_the_policy() -> None:
    variables = named(**{f"v{index}": TOO_DEAR for index in range(12)})
    ((rule, _),) = findings(policy, " || ".join(f"variables.v{index}" for index in range(12)) + " || true", variables=variables)
    assert rule == ""


@pytest.mark.parametrize("build", [policy, ignoring])
def test_an_expression_that_is_stopped_absorbs_nothing(build: Any) -> None:
    ((rule, message),) = findings(build, f"{TOO_DEAR} || true")
    assert rule == "validations[0]"
    assert "cost limit exceeded" in message


@pytest.mark.parametrize("build", [policy, ignoring])
def test_messages_of_what_passes_spend_the_budget_too(build: Any) -> None:
    passing = telling("true", f"string({DEAR})")
    found = dict(findings(build, *(passing,) * 12, "object.nope == 1", "false"))
    assert len(found) == 14
    assert "no such key" in found.pop("validations[12]")
    assert all(message.startswith("failed messageExpression: ") for message in found.values())


def test_messages_are_composed_from_what_the_validations_left() -> None:
    found = dict(findings(policy, *(telling("false", f"string({DEAR})"),) * 6, *(DEAR,) * 6))
    assert len(found) == 12
    assert all("running out of cost budget" in message for message in found.values())


def test_a_message_that_is_stopped_leaves_the_denial() -> None:
    assert findings(policy, telling("false", f"string({TOO_DEAR})")) == [("validations[0]", "failed expression: false")]


def test_audit_annotations_have_a_budget_of_their_own() -> None:
    assert findings(policy, *(DEAR,) * 10, audit_annotations=named(k="'a'")) == []


@pytest.mark.parametrize("failure", list(FailurePolicy))
def test_each_mutation_has_a_budget_of_its_own(failure: FailurePolicy) -> None:
    def mutated(*conditions: str, **parts: Any) -> Mutated:
        expressions = [f"({condition}) ? {label(key)} : Object{{}}" for key, condition in zip("ab", conditions, strict=False)]
        return mutate([mutating("m", *expressions, failure_policy=failure, **parts)], situation(limits=LIMITS))

    half = " && ".join(f"variables.v{index}" for index in range(8))
    assert labels_of(mutated(half, half, variables=VARIABLES).object) == {"a": "yes", "b": "yes"}
    spent = mutated(ALL_VARIABLES, "true", variables=VARIABLES)
    assert (spent.denial is not None) == (failure is FailurePolicy.FAIL)
    assert "running out of cost budget" in spent.trail.findings[0].message
    hidden = mutated("true", match_conditions=named(a="false", b=DEAR, c=DEAR, d=DEAR))
    assert (hidden.denial is not None) == (failure is FailurePolicy.FAIL)
    assert labels_of(hidden.object) == {}
