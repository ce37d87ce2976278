"""What CEL costs: fifteen typical policies, our evaluator against cel-python's own, whose grammar both use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import celpy
import celpy.celtypes

from tests.bench.cpu import in_turns
from tests.bench.figures import Section
from tests.bench.typical import NO_CORPUS, Case, Turns, evaluation, first_compilation, named, summed, typical_policies, warm
from webhook.cel import parse_quantity

ROUNDS = 3
"""Of each of 45 evaluations, and of each of 15 compilations: the whole stays below two minutes."""
METHOD = """\
Fifteen typical policies over Jobs of 1, 5 and 20 containers; all of them hold, so every loop runs to its end. Ours counts cost
against a budget and looks at a deadline, as in production. cel-python is its `InterpretedRunner`, with a `quantity` of ours
where it has none; its activation is converted once, outside the evaluation, and that conversion is a row of its own (ours needs
none: it reads plain JSON). Rows are sums over the policies."""


def measure() -> Section:
    """Measure compiling and evaluating, or say why that is not possible."""
    title, sizes = "CEL expressions", typical_policies()
    if not sizes:
        return Section(title=title, method=METHOD, skipped=NO_CORPUS)
    return Section(
        title=title,
        method=METHOD,
        anchor="cel-python",
        comparisons=(
            summed("compiling 15 policies", [_compiling(case) for case in sizes[1]]),
            *(
                summed(f"evaluating 15 policies, {named(size)}", [_evaluating(case) for case in sizes[size]])
                for size in sorted(sizes)
            ),
            *(summed(f"evaluating and converting, {named(size)}", [_whole(sizes[size])]) for size in sorted(sizes)),
        ),
    )


def _compiling(case: Case) -> Turns:
    return in_turns(lambda: first_compilation(case["expr"]), lambda: _their_program(case["expr"]), rounds=ROUNDS)


def _evaluating(case: Case) -> Turns:
    activation = _their_activation(case)
    return in_turns(evaluation(case, warm(case)), _their_evaluation(case, lambda: activation), rounds=ROUNDS)


def _whole(cases: list[Case]) -> Turns:
    """Evaluate all policies as for one request: cel-python converts the activation once for all of them."""
    ours = [evaluation(case, warm(case)) for case in cases]
    converted: list[dict[str, Any]] = []
    theirs = [_their_evaluation(case, lambda: converted[-1]) for case in cases]

    def request() -> None:
        converted[:] = [_their_activation(cases[0])]
        for evaluate in theirs:
            evaluate()

    return in_turns(lambda: [evaluate() for evaluate in ours], request, rounds=ROUNDS)


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
