"""What follows a failure is paid for, and nothing gives a value to an evaluation that costs too much."""

from __future__ import annotations

import pytest

from tests.cel.losing import ABSORBING, LOSING, PANICS, VARIABLES
from webhook.cel import Budget, Declarations, EvaluationError, compile_expression

NAMES = Declarations(variables=frozenset(VARIABLES))
LIMIT = 100_000


def outcomes(text: str) -> list[tuple[str, int]]:
    """Return what an expression comes to, and its cost: with closures, and with generated code."""
    program = compile_expression(text, NAMES)
    ways = [program.interpret]
    assert program.generate()
    found = []
    for way in (*ways, program.evaluate):
        budget = Budget(LIMIT)
        try:
            found.append((str(way(VARIABLES, budget)), budget.spent))
        except EvaluationError as error:
            found.append((error.kind, budget.spent))
    return found


@pytest.mark.parametrize("absorbing", ABSORBING)
@pytest.mark.parametrize("losing", LOSING)
def test_nothing_absorbs_a_cost_that_only_a_failure_led_to(losing: str, absorbing: str) -> None:
    assert [kind for kind, _ in outcomes(absorbing.format(losing))] == ["cost", "cost"]


@pytest.mark.parametrize("absorbing", ABSORBING)
@pytest.mark.parametrize("losing", PANICS)
def test_nothing_absorbs_a_panic(losing: str, absorbing: str) -> None:
    assert [kind for kind, _ in outcomes(absorbing.format(losing))] == ["internal", "internal"]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("object.n.flatten() == []", 14),
        ("object.missing.sort() == []", 3),
        ("lists.range(object.missing) == []", 14),
        ("object.l.matches(object.l)", 25_254),
        ("object.t.contains(object.missing)", 104),
        ("object.t.replace('a', object.missing) == ''", 204),
        ("object.t.replace(object.missing, 'a') == ''", 4),
        ("sets.contains(object.l, object.n)", 1_005),
        ("sets.contains(object.n, object.missing)", 6),
        ("object.l.slice(object.missing, 3) == []", 4),
        ("object.l.slice(0, object.missing) == []", 16),
        ("object.l.slice(0, 5000) == []", 14),
        ("object.t.substring(5000) == ''", 102),
        ("quantity(object.l).isLessThan(quantity('1'))", 104),
        ("object.missing in object.l.map(y, y)", 14_005),
        ("object.l.map(y, y)[object.missing] == 1", 13_007),
        ("object.missing.a.b.c.d == 1", 3),
        ("object.l.join(object.missing) == ''", 5),
        ("object.l[?object.missing].orValue(1) == 1", 5),
    ],
)
def test_what_fails_costs_what_it_costs_the_api_server(text: str, cost: int) -> None:
    assert outcomes(f"{text} || true") == [("True", cost)] * 2
