"""What CEL costs: fifteen typical policies, our evaluator against cel-python's own, whose grammar both use."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import celpy
import celpy.celtypes

from tests.bench.cpu import in_turns
from tests.bench.figures import Comparison, Section
from webhook.cel import Budget, Declarations, compile_expression, parse_quantity

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 3
"""Of each of 45 evaluations, and of each of 15 compilations: the whole stays below two minutes."""
WARM_UP = 500
"""Evaluations before the first that counts: a program changes its way of working once it has been asked often enough."""
STANDARD = frozenset({"object", "oldObject", "request", "params", "namespaceObject", "variables"})
DECLARED = Declarations(variables=STANDARD)
STEPS = 1_000_000
METHOD = """\
Fifteen typical policies over Jobs of 1, 5 and 20 containers; all of them hold, so every loop runs to its end. Ours counts steps
against a budget, as in production. cel-python is its `InterpretedRunner`, with a `quantity` of ours where it has none; its
activation is converted once, outside the evaluation, and that conversion is a row of its own (ours needs none: it reads plain
JSON). Rows are sums over the policies."""

Case = dict[str, Any]


def measure() -> Section:
    """Measure compiling and evaluating, or say why that is not possible."""
    title = "CEL expressions"
    corpus = Path(os.environ.get("GANGWARDEN_SHARED", "") or ROOT.parent / "shared") / "corpora" / "cel" / "policies.jsonl"
    if not corpus.is_file():
        return Section(title=title, method=METHOD, skipped="the corpus of expressions is not beside the repository")
    sizes: dict[int, list[Case]] = defaultdict(list)
    for case in map(json.loads, corpus.read_text(encoding="utf-8").splitlines()):
        sizes[int(case["id"].rpartition("/")[2])].append(case)
    return Section(
        title=title,
        method=METHOD,
        anchor="cel-python",
        comparisons=(
            _sum("compiling 15 policies", [_compiling(case) for case in sizes[1]]),
            *(
                _sum(f"evaluating 15 policies, {_named(size)}", [_evaluating(case) for case in sizes[size]])
                for size in sorted(sizes)
            ),
            *(_sum(f"evaluating and converting, {_named(size)}", [_whole(sizes[size])]) for size in sorted(sizes)),
        ),
    )


def _named(containers: int) -> str:
    return "1 container" if containers == 1 else f"{containers} containers"


Turns = tuple[tuple[float, ...], tuple[float, ...]]


def _sum(what: str, turns: list[Turns]) -> Comparison:
    """Add up policies, round by round."""
    ours, anchor = ([sum(values) for values in zip(*side, strict=True)] for side in zip(*turns, strict=True))
    return Comparison(what=what, unit="us", ours=tuple(ours), anchor=tuple(anchor))


def _compiling(case: Case) -> Turns:
    return in_turns(lambda: compile_expression(case["expr"], DECLARED), lambda: _their_program(case["expr"]), rounds=ROUNDS)


def _evaluating(case: Case) -> Turns:
    activation = _their_activation(case)
    return in_turns(_our_evaluation(case), _their_evaluation(case, lambda: activation), rounds=ROUNDS)


def _whole(cases: list[Case]) -> Turns:
    """Evaluate all policies as for one request: cel-python converts the activation once for all of them."""
    ours = [_our_evaluation(case) for case in cases]
    converted: list[dict[str, Any]] = []
    theirs = [_their_evaluation(case, lambda: converted[-1]) for case in cases]

    def request() -> None:
        converted[:] = [_their_activation(cases[0])]
        for evaluate in theirs:
            evaluate()

    return in_turns(lambda: [evaluate() for evaluate in ours], request, rounds=ROUNDS)


def _our_evaluation(case: Case) -> Callable[[], None]:
    program, activation = compile_expression(case["expr"], DECLARED), {**dict.fromkeys(STANDARD), **case["vars"]}

    def evaluate() -> None:
        assert program.evaluate(activation, Budget(STEPS)) is True, case["id"]

    for _ in range(WARM_UP):
        evaluate()
    return evaluate


def _their_evaluation(case: Case, activation: Callable[[], dict[str, Any]]) -> Callable[[], None]:
    program = _their_program(case["expr"])

    def evaluate() -> None:
        assert program.evaluate(activation()), case["id"]

    return evaluate


def _their_program(text: str) -> celpy.Runner:
    environment = celpy.Environment(runner_class=celpy.InterpretedRunner)
    return environment.program(environment.compile(text), functions={"quantity": _quantity, "isGreaterThan": _is_greater})


def _their_activation(case: Case) -> dict[str, Any]:
    return {name: celpy.json_to_cel(value) for name, value in case["vars"].items()}


def _quantity(text: str) -> Any:
    return parse_quantity(str(text))


def _is_greater(one: Any, other: Any) -> celpy.celtypes.BoolType:
    return celpy.celtypes.BoolType(one.nano > other.nano)
