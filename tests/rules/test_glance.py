"""The quick look says what a full judgement says, or nothing; ``building.ask`` compares the two in every test of rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.building import CONFIG_MAP, JOBS, binding, constraints, named, policy, request, rule, selector, situation, text
from webhook.model.objects import Resource
from webhook.model.policies import Binding, Validation
from webhook.model.verdicts import Finding, Verdict
from webhook.rules import Situation, compile_policy, judge
from webhook.rules.glance import Glance
from webhook.rules.run import Run
from webhook.settings import EvaluationSettings

ALLOWED = (Finding(policy="sizes", binding="everywhere", verdict=Verdict.ALLOW),)
TELLING = Validation(expression=text("true"), message_expression=text("'never said'"))


def seen(judged: Any, *bindings: Binding, asked: Situation | None = None) -> tuple[Finding, ...] | None:
    """Judge once, so that it is known of which resources the rules speak, and look."""
    compiled, asked = compile_policy(judged), asked or situation()
    judge([(compiled, bindings or (binding(),))], asked)
    return Glance(asked).at(compiled, bindings or (binding(),))


@pytest.mark.parametrize(
    ("validations", "parts"),
    [
        (("true", "object.spec.parallelism == 4"), {}),
        ((), {}),
        (("variables.four == object.spec.parallelism",), {"variables": named(four="2 + 2")}),
        (("true",), {"match_conditions": named(always="request.operation == 'CREATE'")}),
        ((TELLING,), {}),
    ],
)
def test_a_policy_that_allows_is_seen_to(validations: Any, parts: dict[str, Any]) -> None:
    assert seen(policy(*validations, **parts)) == ALLOWED


@pytest.mark.parametrize(
    ("validations", "parts"),
    [
        (("true", "false"), {}),
        (("object.nope == 1",), {}),
        (("variables.v == 1",), {"variables": named(v="object.nope")}),
        (("true",), {"match_conditions": named(never="false")}),
        (("true",), {"match_conditions": named(broken="object.nope == 1")}),
        (("true",), {"match_constraints": constraints(rule(resources=["pods"]))}),
        (("true",), {"match_constraints": constraints(object_selector=selector(app="train"))}),
        (("true",), {"match_constraints": constraints(namespace_selector=selector(team="a"))}),
        (("true",), {"match_constraints": constraints(rule(resource_names=["train"]))}),
        (("true",), {"audit_annotations": named(key="'value'")}),
        (("true",), {"param_kind": CONFIG_MAP}),
        (("namespaceObject.metadata.name == 'team-a'",), {}),
        (("authorizer.path('/healthz').check('get').allowed() || true",), {}),
    ],
)
def test_whatever_else_there_is_to_say_is_left(validations: Any, parts: dict[str, Any]) -> None:
    assert seen(policy(*validations, **parts)) is None


def test_what_bindings_select_is_left() -> None:
    assert seen(policy("true"), binding(match_resources=constraints())) is None
    assert seen(policy("true"), binding(), binding(name="again")) is None


def test_a_request_that_was_converted_is_left() -> None:
    older = request(request_resource=Resource("batch", "v1beta1", "jobs"))
    assert seen(policy("true"), asked=situation(older)) is None
    assert seen(policy("true"), asked=situation(request(request_resource=JOBS))) == ALLOWED


def test_an_exempt_request_is_left() -> None:
    asked = request(resource=Resource("authorization.k8s.io", "v1", "subjectaccessreviews"))
    assert seen(policy("true"), asked=situation(asked)) is None


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param(EvaluationSettings(cost_per_expression=2), id="an expression"),
        pytest.param(EvaluationSettings(cost_per_policy=5), id="the policy"),
        pytest.param(EvaluationSettings(cost_per_conditions=2), id="the conditions"),
        pytest.param(EvaluationSettings(cost_per_policy=1_500_000), id="messages that could be too dear"),
    ],
)
def test_a_budget_that_is_short_is_left(limits: EvaluationSettings) -> None:
    told = Validation(expression=text("object.spec.parallelism == 4"), message_expression=text("'never said'"))
    judged = policy(told, told, match_conditions=named(some="object.spec.parallelism == 4"))
    assert seen(judged) == ALLOWED
    assert seen(judged, asked=situation(limits=limits)) is None


def test_time_that_is_up_is_left() -> None:
    assert seen(policy("true"), asked=situation(expired=lambda: True)) is None


def test_no_policy_sees_the_variables_of_another() -> None:
    first, second = compile_policy(policy("true", variables=named(a="1"))), compile_policy(policy("size(object.spec) > 0"))
    run = Run(first.head, situation(), None)
    run.turn_to(first.head, 100)
    assert dict(run.values["variables"].items()) == {"a": 1}
    run.turn_to(second.head, 100)
    assert dict(run.values["variables"]) == {}


def test_variables_are_all_there_before_they_are_read() -> None:
    compiled = compile_policy(policy("true", variables=named(a="1", b="variables.a + 1", c="object.nope")))
    variables: Any = Run(compiled.head, situation(), None).values["variables"]
    assert (len(variables), list(variables), list(variables.keys()), "b" in variables) == (
        3,
        ["a", "b", "c"],
        ["a", "b", "c"],
        True,
    )
    assert (variables["b"], variables.get("a"), variables.get("z", 9)) == (2, 1, 9)
    small = compile_policy(policy("true", variables=named(a="1")))
    both: Any = Run(small.head, situation(), None).values["variables"]
    assert (list(both.values()), list(both.items())) == ([1], [("a", 1)])


def test_the_clock_is_looked_at_again_once_policies_have_cost_enough() -> None:
    looks: list[bool] = []

    def expired() -> bool:
        looks.append(True)
        return False

    cheap, dear = (compile_policy(policy(text)) for text in ("object.spec.parallelism == 4", "lists.range(900).size() > 0"))
    asked = situation(expired=expired)
    for compiled in (cheap, dear):
        judge([(compiled, (binding(),))], asked)
    looks.clear()
    glance = Glance(asked)
    for compiled, wanted in ((cheap, 1), (cheap, 1), (dear, 1), (dear, 1), (cheap, 2), (cheap, 2)):
        assert glance.at(compiled, (binding(),)) == ALLOWED
        assert len(looks) == wanted
