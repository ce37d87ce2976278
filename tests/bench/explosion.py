"""How soon an expression is stopped that was made to explode: the price of work is taken before the work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.bench.cpu import per_call
from tests.bench.figures import Comparison, Fact, Section
from tests.cel.exploding import DECLARED, MANY_TURNS, ONE_CALL, Growth, activation
from webhook.cel import Budget, EvaluationError, compile_expression

TIMES = 20
"""How many times larger the exploding input is."""
ROUNDS = 3
ROUND_MICROSECONDS, MOST = 10_000, 100
"""What is quick is repeated until it takes so long."""
SHOWN = 12
SMALLER = 3
"""Part of the size of one call that is measured: the whole stays below a minute."""
METHOD = """\
Every function whose work grows, in one call and in a loop of many turns. The budget is what an evaluation over an input of one
size costs, so that this one ends exactly at the budget; the same expression over an input of twenty times the size is stopped.
Rows are the cases with the highest ratios of CPU time."""


def measure() -> Section:
    """Measure every case, and show those where being stopped costs the most."""
    found = [_compare(f"{name}, one call", growth) for name, growth in ONE_CALL.items()]
    found += [_compare(f"{name}, many turns", growth) for name, growth in MANY_TURNS.items()]
    found.sort(key=lambda comparison: -comparison.ratio)
    return Section(
        title="Stopping what explodes",
        method=METHOD,
        ours="stopped",
        anchor="ends at the budget",
        comparisons=tuple(found[:SHOWN]),
        facts=(
            Fact(what="cases", unit="", values=(float(len(found)),)),
            Fact(what="highest ratio", unit="times", values=(found[0].ratio,)),
        ),
    )


def _compare(name: str, growth: Growth) -> Comparison:
    program = compile_expression(growth.text, DECLARED)
    program.generate()
    size = growth.size if growth in MANY_TURNS.values() else growth.size // SMALLER
    fitting, exploding = activation(growth, size), activation(growth, size * TIMES)
    budget = Budget(10**9)
    program.evaluate(fitting, budget)
    calls = [_evaluating(program.evaluate, variables, budget.spent) for variables in (exploding, fitting)]
    counts = [max(1, min(MOST, round(ROUND_MICROSECONDS / per_call(call, 1)))) for call in calls]
    rounds = [[per_call(call, count) for call, count in zip(calls, counts, strict=True)] for _ in range(ROUNDS)]
    return Comparison(what=name, unit="µs", ours=tuple(one for one, _ in rounds), anchor=tuple(other for _, other in rounds))


def _evaluating(way: Callable[..., Any], variables: Mapping[str, Any], units: int) -> Callable[[], None]:
    def evaluate() -> None:
        try:
            way(variables, Budget(units))
        except EvaluationError as error:
            if error.kind != "cost":
                raise

    return evaluate
