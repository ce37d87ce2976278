"""What is refused when a policy is loaded, and where it says the mistake is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.building import CONFIG_MAP, named, policy, text
from webhook.errors import PolicyError, PolicySetError
from webhook.model.policies import Expression, Head, Origin, ValidatingPolicy, Validation
from webhook.rules import WORKLOAD_ROOTS, compile_head, compile_one, compile_policy
from webhook.rules.compile import object_path


def problems(built: ValidatingPolicy) -> list[str]:
    with pytest.raises(PolicySetError) as raised:
        compile_policy(built)
    return [str(error.args[0]) for error in raised.value.errors]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("params.data.x == 'y'", "params is known only to a policy with spec.paramKind"),
        ("variables.nope == 1", "undefined field 'nope'"),
        ("request.nope == ''", "undefined field 'nope'"),
        ("request.object == null", "undefined field 'object'"),
        ("namespaceObject.kind == 'Namespace'", "undefined field 'kind'"),
        ("nothing.at.all", "undeclared reference to 'nothing'"),
        ("object.spec.suspend", "must evaluate to bool, not to dyn"),
        ("'yes'", "must evaluate to bool, not to string"),
        ("cluster.quota() == []", "undeclared method 'quota' of 'cluster'"),
        ("cluster.fit(object)", "'cluster.fit' takes 2 or 3 arguments, not 1"),
        ("authorizer.path('/healthz').check('get')", "must evaluate to bool, not to kubernetes.authorization.Decision"),
        ("authorizer.requestResources.check('get').allowed()", "undefined field 'requestResources'"),
    ],
)
def test_a_validation_is_refused(expression: str, message: str) -> None:
    assert [problem for problem in problems(policy(expression)) if problem.startswith(message)] != []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"match_conditions": named(c="variables.v == 1"), "variables": named(v="1")}, "variables cannot be read here"),
        ({"match_conditions": named(c="1")}, "must evaluate to bool, not to int"),
        ({"variables": named(a="variables.b", b="1")}, "undefined field 'b'"),
        ({"variables": named(a="variables.a")}, "undefined field 'a'"),
        ({"audit_annotations": named(k="1")}, "must evaluate to one of string and null, not to int"),
    ],
)
def test_other_parts_are_refused(parts: dict[str, Any], message: str) -> None:
    assert problems(policy("true", **parts)) == [message]


def test_a_message_expression_must_be_text() -> None:
    assert problems(policy(Validation(expression=text("true"), message_expression=text("1")))) == [
        "must evaluate to string, not to int"
    ]


def test_a_message_expression_may_not_ask_who_may_do_what() -> None:
    composed = text("authorizer.path('/x').check('get').reason()")
    assert [problem[:29] for problem in problems(policy(Validation(expression=text("true"), message_expression=composed)))] == [
        "authorizer cannot be used her"
    ]


def test_variables_keep_their_types() -> None:
    assert problems(policy("variables.count + 'x' == ''", variables=named(count="1"))) == [
        "found no matching overload for '_+_' applied to '(int, string)'"
    ]


def test_one_broken_variable_is_one_error() -> None:
    assert len(problems(policy("variables.v > 1", variables=named(v="1 + 'a'")))) == 1


def test_params_are_known_with_a_param_kind() -> None:
    assert compile_policy(policy("params == null", param_kind=CONFIG_MAP)).references == {"params"}


@pytest.mark.parametrize("root", ["request", "oldObject"])
def test_what_the_controller_evaluates_again_may_not_read(root: str) -> None:
    head = Head(name="x", origin=Origin("p.yaml"), match_constraints=policy().head.match_constraints)
    declarations = compile_head(head, roots=WORKLOAD_ROOTS).declarations
    with pytest.raises(PolicyError, match=f"a WorkloadPolicy may not read {root}"):
        compile_one(text(f"{root} == null"), declarations)


@pytest.mark.parametrize(
    ("written", "pieces", "place"),
    [
        pytest.param("1 + nope", ((0, 3, 17),), (3, 21), id="on one line"),
        pytest.param("1 +\nnope", ((0, 4, 9), (4, 5, 9)), (5, 9), id="in the second line of a literal block"),
        pytest.param("1 + nope > 2", ((0, 4, 9), (4, 6, 9)), (6, 9), id="in the second line of a folded block"),
        pytest.param("1 + nope", (), (7, 0), id="where the columns are not known"),
    ],
)
def test_an_error_has_its_place_in_the_file(written: str, pieces: Any, place: tuple[int, int]) -> None:
    expression = Expression(written, Origin("policy.yaml", 7, "spec.validations[0].expression"), pieces)
    with pytest.raises(PolicySetError) as raised:
        compile_policy(policy(Validation(expression=expression)))
    error = raised.value
    assert (error.path, error.line, error.column, error.field) == ("policy.yaml", *place, "spec.validations[0].expression")


def test_every_mistake_is_told_at_once() -> None:
    assert len(problems(policy("a", "b", "c", variables=named(v="d")))) == 4


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ("object.spec.completions > 1", "spec.completions"),
        ("object.spec.completions > 1 && 'object.spec.other' != \"it's object.spec.another\"", "spec.completions"),
        ("// it's enough to look here\nobject.spec.completions > 1", "spec.completions"),
        ("object.spec.completions > object.spec.parallelism", ""),
    ],
)
def test_the_one_path_that_a_rule_reads(expression: str, path: str) -> None:
    assert object_path(expression) == path
