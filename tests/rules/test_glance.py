"""The quick look says what a full judgement says, or nothing; ``building.ask`` compares the two in every test of rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import job
from tests.rules.building import CONFIG_MAP, JOBS, binding, constraints, named, policy, request, rule, selector, situation, text
from webhook.model.objects import Resource
from webhook.model.policies import Binding, Validation
from webhook.model.verdicts import Denied, Finding, Verdict
from webhook.rules import CompiledPolicy, Situation, compile_policy, judge
from webhook.rules.glance import Bound, Panel, Panels, panel_of
from webhook.rules.run import Run
from webhook.settings import EvaluationSettings

ALLOWED = (Finding(policy="sizes", binding="everywhere", verdict=Verdict.ALLOW),)
TELLING = Validation(expression=text("true"), message_expression=text("'never said'"))


def panel(asked: Situation, *policies: CompiledPolicy) -> Panel:
    return panel_of([(compiled, (binding(),)) for compiled in policies], asked, {})


def seen(judged: Any, *bindings: Binding, asked: Situation | None = None) -> tuple[Finding, ...] | None:
    """Return what a look finds that a policy says; None: nothing."""
    asked, panels = asked or situation(), Panels()
    bound: list[Bound] = [(compile_policy(judged), bindings or (binding(),))]
    found = panel_of(bound, asked, panels)
    assert panel_of(bound, asked, panels) is found
    return None if found.left(asked) else found.said[0]


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
    run = Run(compiled.head, situation(), None)
    variables: Any = run.values["variables"]
    assert (len(variables), list(variables), list(variables.keys()), "b" in variables) == (
        3,
        ["a", "b", "c"],
        ["a", "b", "c"],
        True,
    )
    assert (variables["b"], variables.get("a"), variables.get("z", 9)) == (2, 1, 9)
    small = compile_policy(policy("true", variables=named(a="1")))
    run = Run(small.head, situation(), None)
    both: Any = run.values["variables"]
    assert (list(both.values()), list(both.items())) == ([1], [("a", 1)])


def test_the_clock_is_looked_at_again_once_policies_have_cost_enough() -> None:
    looks: list[bool] = []

    def expired() -> bool:
        looks.append(True)
        return False

    cheap, dear = (compile_policy(policy(text)) for text in ("object.spec.parallelism == 4", "lists.range(900).size() > 0"))
    asked = situation(expired=expired)
    for policies, wanted in (((cheap,) * 3, 1), ((cheap, dear), 1), ((dear, dear), 2), ((cheap, dear, dear, cheap), 2)):
        looks.clear()
        assert not panel(asked, *policies).left(asked)
        assert len(looks) == wanted


def test_only_what_does_not_plainly_allow_is_judged() -> None:
    texts = ("true", "object.spec.parallelism == 5", "object.nope == 1", "variables.v == 1", "object.spec.parallelism == 4")
    policies = [compile_policy(policy(text, variables=named(v="object.spec.parallelism - 3"))) for text in texts]
    found = panel(situation(), *policies)
    assert found.left(situation()) == {1, 2}
    assert found.left(situation(expired=lambda: True)) == {0, 1, 2, 3, 4}
    answer = judge([(compiled, (binding(),)) for compiled in policies], situation())
    assert [finding.verdict for finding in answer.trail.findings] == ["allow", "deny", "deny", "allow", "allow"]


def test_what_allows_by_all_policies_is_one_answer() -> None:
    bound: list[Bound] = [(compile_policy(policy("object.spec.parallelism < 9")), (binding(),))]
    panels: Panels = {}
    first = judge(bound, situation(), panels)
    assert judge(bound, situation(request(job().parallelism(5).build())), panels) is first
    assert isinstance(judge(bound, situation(request(job().parallelism(10).build())), panels), Denied)
    assert judge(bound, situation(limits=EvaluationSettings(cost_per_policy=1)), panels) is not first


def test_one_budget_serves_many_policies_and_is_filled_again() -> None:
    """Each costs some 900 units: two of them fit into 1,500, and all eight are seen to allow."""
    dear = compile_policy(policy("lists.range(900).size() > 0"))
    short = situation(limits=EvaluationSettings(cost_per_expression=2_000, cost_per_policy=4_000, cost_per_conditions=2_000))
    assert not panel(short, *(dear,) * 8).left(short)
    greedy = compile_policy(policy(*("lists.range(900).size() > 0",) * 5))
    assert panel(short, greedy, dear).left(short) == {0}
    assert isinstance(judge([(greedy, (binding(),))], short), Denied)


@pytest.mark.parametrize(("text", "is_constant"), [("2 + 2", True), ("lists.range(2000).size()", False), ("1 / 0", False)])
def test_a_variable_that_reads_nothing_is_a_constant_where_it_is_cheap(text: str, is_constant: bool) -> None:
    head = compile_policy(policy("true", variables=named(v=text, w="object.spec.parallelism"))).head
    assert ("v" in head.constants, "w" in head.constants) == (is_constant, False)
    again = replace(head, variables=tuple(replace(one, program=one.program.observed(bool)) for one in head.variables))
    assert not again.constants


def test_constants_cost_what_they_cost() -> None:
    judged = policy("variables.v == 4", variables=named(v="[1, 2, 3, 4].filter(x, x > 3)[0]"))
    cost = compile_policy(judged).head.cost_of_constants
    assert cost > 10
    assert seen(judged) == ALLOWED
    assert seen(judged, asked=situation(limits=EvaluationSettings(cost_per_policy=cost))) is None
