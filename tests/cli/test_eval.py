"""``eval``: the oracle's requests and replies, line for line, and one expression for a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cel.suites import read, tally
from tests.cli.conftest import Gangwarden


def replies(gangwarden: Gangwarden, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    result = gangwarden("eval", "--jsonl", stdin="".join(json.dumps(request) + "\n" for request in requests))
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("expression", "variables", "shown"),
    [
        ("object.spec.parallelism * 2", '{"object": {"spec": {"parallelism": 4}}}', 8),
        ("params == null", "{}", True),
        ("x + duration('1s')", '{"x": {"$duration": "1000000000"}}', {"$duration": "2000000000"}),
        ("{1: 2u}", "{}", {"$map": [[1, {"$uint": "2"}]]}),
        (
            "[dyn(1.5), dyn(b'x'), dyn(type(1)), dyn(optional.none())]",
            "{}",
            [{"$double": "1.5"}, {"$bytes": "eA=="}, {"$type": "int"}, {"$optional": []}],
        ),
        ("quantity('1Gi')", "{}", {"$opaque": "kubernetes.Quantity", "str": "1Gi"}),
    ],
)
def test_a_value_is_shown_in_tagged_json(expression: str, variables: str, shown: Any, gangwarden: Gangwarden) -> None:
    result = gangwarden("eval", "--vars", variables, expression)
    assert (result.exit_code, json.loads(result.stdout)) == (0, shown)


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("nope",), 3, "error (compile): 1:1: undeclared reference to 'nope'"),
        (("1 +",), 3, "error (compile): 1:"),
        (("object.spec",), 1, "error (eval): no such key"),
        (("1 / 0",), 1, "error (eval): division by zero"),
        ((), 2, "give either an expression or --jsonl"),
        (("--jsonl", "1"), 2, "give either an expression or --jsonl"),
        (("--vars", "{", "1"), 2, "--vars is not JSON"),
        (("--vars", "[1]", "1"), 2, "--vars: vars must be an object"),
        (("--vars", '{"x": {"$uint": "z"}}', "x"), 2, "--vars: a tagged value cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value)[:30],
)
def test_an_error_names_its_stage_and_decides_the_exit_code(
    args: tuple[str, ...], code: int, told: str, gangwarden: Gangwarden
) -> None:
    result = gangwarden("eval", *args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("request_", "stage", "told"),
    [
        ({"expr": 5}, "request", "expr must be a string"),
        ({}, "request", "expr must be a string"),
        ({"expr": "1", "mode": "guess"}, "request", 'mode "guess"'),
        ({"expr": "1", "nocheck": "yes"}, "request", "nocheck"),
        ({"expr": "1", "env": "old"}, "request", 'env "old" is not supported'),
        ({"expr": "x", "vars": {"x": {"$timestamp": "soon"}}}, "vars", "a tagged value cannot be read"),
        ({"expr": "x + 1", "types": {"x": "string"}}, "compile", "no matching overload"),
        ({"expr": "y"}, "compile", "undeclared reference to 'y'"),
        ({"expr": "object.a", "vars": {"object": {}}}, "eval", "no such key: a"),
    ],
)
def test_a_line_that_has_no_result_says_at_which_stage(
    request_: dict[str, Any], stage: str, told: str, gangwarden: Gangwarden
) -> None:
    (reply,) = replies(gangwarden, {"id": "r"} | request_)
    assert (reply["id"], reply["ok"], reply["stage"]) == ("r", False, stage)
    assert told in reply["error"]


def test_a_line_that_is_no_request_ends_it_with_4(gangwarden: Gangwarden) -> None:
    result = gangwarden("eval", "--jsonl", stdin='{"id": 1, "expr": "1"}\n\nnope\n')
    assert (result.exit_code, result.stdout) == (4, '{"id": 1, "ok": true, "result": 1}\n')
    assert "<stdin>:3: is not JSON" in result.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param('{"expr": "' + "(" * 5000 + "1" + ")" * 5000 + '"}', "compile", id="a deep expression"),
        pytest.param('{"expr": "x", "vars": {"x": "\\ud800"}}', '"\\ud800"', id="half of a surrogate pair"),
    ],
)
def test_hostile_lines_are_answered(line: str, told: str, gangwarden: Gangwarden) -> None:
    result = gangwarden("eval", "--jsonl", stdin=line + "\n")
    assert result.exit_code == 0
    assert told in result.stdout


def test_a_bottomless_line_is_no_request(gangwarden: Gangwarden) -> None:
    result = gangwarden("eval", "--jsonl", stdin="[" * 100_000)
    assert (result.exit_code, result.stderr.count("\n")) == (4, 1)


def test_an_expression_that_does_not_end_is_stopped(gangwarden: Gangwarden) -> None:
    many = list(range(200))
    (reply,) = replies(gangwarden, {"expr": "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))", "vars": {"l": many}})
    assert (reply["ok"], reply["stage"]) == (False, "eval")


@pytest.mark.parametrize(
    ("expression", "code", "cost"), [("[1, 2].all(x, x > 0)", 0, "11"), ("[1, 2].all(x, x / 0 > 0)", 1, "13"), ("1 +", 3, "")]
)
def test_the_cost_is_told_where_there_is_one(expression: str, code: int, cost: str, gangwarden: Gangwarden) -> None:
    result = gangwarden("eval", "--cost", expression)
    assert result.exit_code == code
    assert result.stderr.startswith(f"cost: {cost} of 1,000,000 units\n" if cost else "error (compile)")


def test_answers_have_costs_if_they_are_asked_for(gangwarden: Gangwarden, shared_dir: Path) -> None:
    cases = list(read(shared_dir / "corpora/cel/policies.jsonl"))
    lines = "".join(
        json.dumps({"expr": case["expr"], "vars": case["vars"]}) + "\n" for case in [*cases, {"expr": "?", "vars": {}}]
    )
    *found, refused = map(json.loads, gangwarden("eval", "--jsonl", "--cost", stdin=lines).stdout.splitlines())
    assert [reply["cost"] for reply in found] == [case["cost"] for case in cases]
    assert "cost" not in refused


@pytest.fixture
def answered(gangwarden: Gangwarden, shared_dir: Path) -> Any:
    """Put a suite to ``eval --jsonl``, and return a function that tells what came back for a case."""

    def ask(name: str) -> tuple[list[dict[str, Any]], Any]:
        cases = list(read(shared_dir / f"corpora/cel/{name}.jsonl"))
        known = ("id", "expr", "vars", "types", "nocheck")
        asked = [{key: case[key] for key in known if key in case} for case in cases]
        found = {reply["id"]: reply for reply in replies(gangwarden, *asked)}

        def reply(case: dict[str, Any]) -> tuple[str, Any]:
            answer = found[case["id"]]
            return ("value", answer["result"]) if answer["ok"] else (answer["stage"], answer["error"])

        return cases, reply

    return ask


def test_the_typical_policies_are_all_right_through_eval(answered: Any) -> None:
    counts, differences = tally(*answered("policies"))
    assert counts == {"right": 45}, differences


def test_every_feature_is_right_through_eval(answered: Any) -> None:
    counts, differences = tally(*answered("coverage"))
    assert counts == {"right": 267}, differences


@pytest.mark.parametrize("name", ["coverage", "policies", "celspec"])
def test_eval_never_gives_a_value_where_the_api_server_has_none(name: str, answered: Any) -> None:
    cases, reply = answered(name)
    failing = [case["expr"] for case in cases if case["expect"].get("stage") == "eval"]
    assert [case["expr"] for case in cases if case["expect"].get("stage") == "eval" and reply(case)[0] == "value"] == []
    assert failing or name == "policies"
