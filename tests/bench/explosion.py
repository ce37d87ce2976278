"""How soon an expression is stopped that was made to explode: the price of work is taken before the work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.bench.cpu import per_call
from tests.bench.figures import Comparison, Fact, Section, median
from tests.cel.exploding import DECLARED, MANY_TURNS, ONE_CALL, SMALL, Growth, activation
from webhook.cel import Budget, EvaluationError, Program, compile_expression

TIMES = 20
"""How many times larger the exploding input is."""
ROUNDS = 5
ROUND_MICROSECONDS, MOST = 10_000, 100
"""What is quick is repeated until it takes so long."""
MOST_SMALL = 5_000
SHOWN = 12
SMALLER = 3
"""Part of the size of one call that is measured: the whole stays below three minutes."""
METHOD = f"""\
Every function whose work grows, in one call and in a loop of many turns. The budget is what an evaluation over an input of one
size costs, so that this one ends exactly at the budget; the same expression over an input of {TIMES} times the size is stopped.
Rows are the cases with the highest ratios of CPU time. An exception is raised for every stop, which takes the same few
microseconds however much there was to do: the rows below, no explosions and no part of the ratio, show it beside evaluations
that take as little, given one unit less than they cost."""


def measure() -> Section:
    """Measure every case, and show those where being stopped costs the most."""
    found = [_compare(f"{name}, one call", growth) for name, growth in ONE_CALL.items()]
    found += [_compare(f"{name}, many turns", growth) for name, growth in MANY_TURNS.items()]
    found.sort(key=lambda comparison: -comparison.ratio)
    small = [_stop(f"{name}, too small to explode", growth) for name, growth in SMALL.items()]
    return Section(
        title="Stopping what explodes",
        method=METHOD,
        ours="stopped",
        anchor="ends at the budget",
        comparisons=(*found[:SHOWN], *small),
        facts=(
            Fact(what="cases", unit="", values=(float(len(found)),)),
            Fact(what="highest ratio", unit="times", values=(found[0].ratio,)),
            Fact(what="least time of an evaluation that ends at the budget", unit="µs", values=(_least(found),)),
            *(Fact(what=f"what a stop costs, {one.what}", unit="µs", values=_overheads(one)) for one in small),
        ),
    )


def _least(found: list[Comparison]) -> float:
    return min(median(comparison.anchor) for comparison in found)


def _overheads(comparison: Comparison) -> tuple[float, ...]:
    return tuple(stopped - ended for stopped, ended in zip(comparison.ours, comparison.anchor, strict=True))


def _compare(name: str, growth: Growth) -> Comparison:
    program = compile_expression(growth.text, DECLARED)
    program.generate()
    size = growth.size if growth in MANY_TURNS.values() else growth.size // SMALLER
    fitting, exploding = activation(growth, size), activation(growth, size * TIMES)
    units = _units(program, fitting)
    calls = [_evaluating(program.evaluate, variables, units) for variables in (exploding, fitting)]
    counts = [max(1, min(MOST, round(ROUND_MICROSECONDS / per_call(call, 1)))) for call in calls]
    return _measured(name, calls, counts)


def _stop(name: str, growth: Growth) -> Comparison:
    """Measure an evaluation that lacks one unit of its budget beside the same one that does not."""
    program = compile_expression(growth.text, DECLARED)
    program.generate()
    variables = activation(growth, growth.size)
    units = _units(program, variables)
    calls = [_evaluating(program.evaluate, variables, limit) for limit in (units - 1, units)]
    return _measured(name, calls, [MOST_SMALL, MOST_SMALL])


def _units(program: Program, variables: Mapping[str, Any]) -> int:
    budget = Budget(10**9)
    program.evaluate(variables, budget)
    return budget.spent


def _measured(name: str, calls: Sequence[Callable[[], None]], counts: Sequence[int]) -> Comparison:
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
