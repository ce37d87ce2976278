"""What grows is paid for before it grows: an evaluation that is stopped has made no more than one that came to its end."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cel.exploding import DECLARED, MANY_TURNS, ONE_CALL, Growth, activation
from webhook.cel import Budget, EvaluationError, compile_expression

TIMES = 20
"""How many times larger the exploding input is."""
SMALLER = 20
"""Tests measure memory, not time, and need no large inputs."""
ALL = ONE_CALL | {f"{name}, many turns": growth for name, growth in MANY_TURNS.items()}
NOISE = 200_000
"""Bytes that caches and batches take, whatever the input."""


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def ways(text: str) -> list[Callable[..., Any]]:
    program = compile_expression(text, DECLARED)
    return [program.interpret, program.evaluate] if program.generate() else [program.interpret]


def peak(way: Callable[..., Any], variables: dict[str, Any], budget: Budget) -> int:
    """Return how many bytes an evaluation had at most, whether it came to an end or not."""
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        way(variables, budget)
    except EvaluationError as error:
        if error.kind != "cost":
            raise
    return tracemalloc.get_traced_memory()[1] - before


def paid(way: Callable[..., Any], variables: dict[str, Any]) -> int:
    budget = Budget(100_000_000)
    way(variables, budget)
    return budget.spent


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("growth", ONE_CALL.values(), ids=ONE_CALL)
def test_a_call_that_is_stopped_has_made_nothing_large(growth: Growth) -> None:
    size = max(growth.size // SMALLER, 50)
    fitting, exploding = activation(growth, size), activation(growth, size * TIMES)
    for way in ways(growth.text):
        limit = paid(way, fitting)
        assert peak(way, exploding, Budget(limit)) <= 1.5 * peak(way, fitting, Budget(limit)) + NOISE


@pytest.mark.parametrize("growth", ALL.values(), ids=ALL)
def test_twenty_times_the_work_is_stopped_and_the_budget_met_to_the_unit(growth: Growth) -> None:
    size = max(growth.size // SMALLER, 2 if growth in MANY_TURNS.values() else 50)
    fitting, exploding = activation(growth, size), activation(growth, size * TIMES)
    for way in ways(growth.text):
        limit = paid(way, fitting)
        way(fitting, Budget(limit))
        for variables, units in ((fitting, limit - 1), (exploding, limit)):
            with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
                way(variables, Budget(units))
