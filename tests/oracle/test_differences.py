"""The table of differences in docs/cel.md: each is still there, and as it says. What no longer differs has to leave the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import build
from tests.docs.pages import ROOT, section
from tests.oracle.asking import ask_ours, ask_theirs

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

TABLE = section(ROOT / "docs/cel.md", "Differences from the API server")
OBJECT = {"t": "a" * 30_000, "l": list(range(30_000))}
VALUE, COMPILE, EVAL = "value", "compile", "eval"


@pytest.fixture(scope="module")
def oracle() -> Path:
    return build.ensure(["celoracle"]) / "celoracle"


def stages(oracle: Path, expression: str, **asked: Any) -> tuple[str, str]:
    """Return how far the API server came, and how far we came."""
    question = {"mode": "map", "expr": expression, "vars": {"object": OBJECT}, **asked}
    (theirs,), (ours, *_) = ask_theirs(oracle, [question]), ask_ours(question)
    return theirs.get("stage", VALUE), ours.get("stage", VALUE)


@pytest.mark.parametrize(
    ("expression", "theirs", "ours"),
    [
        ("JSONPatch{op: 'add', nope: dyn(1)}", EVAL, COMPILE),
        ("[2.5, double('NaN')].sort()", VALUE, EVAL),
        ("quantity('1e5000')", VALUE, EVAL),
        ("has((true ? object : object).t) && has((true ? object.?nope : object).t)", EVAL, VALUE),
        (r"'a'.matches('[\\pC]')", VALUE, COMPILE),
    ],
)
def test_an_expression_of_the_table_differs_as_it_says(expression: str, theirs: str, ours: str, oracle: Path) -> None:
    assert f"`{expression}`" in TABLE
    assert stages(oracle, expression) == (theirs, ours)


def test_what_new_expressions_may_not_call_yet_loads_here(oracle: Path) -> None:
    assert "`[1].includes(1)`" in TABLE
    assert stages(oracle, "[1].includes(1)", env="new") == (COMPILE, COMPILE)
    assert stages(oracle, "[1].includes(1)") == (VALUE, VALUE)


def test_a_list_as_a_key_is_found_here_only(oracle: Path) -> None:
    expression = "dyn(object.l) in {dyn(object.l): 1}"
    assert f"`{expression}`" in TABLE
    question = {"mode": "map", "expr": expression, "vars": {"object": OBJECT}}
    assert ask_theirs(oracle, [question])[0]["result"] is False
    assert all(ours["result"] is True for ours in ask_ours(question))


@pytest.mark.parametrize(
    "expression",
    ["object.t + object.t", "object.l.sort()", "1.5 in object.l", "'%s'.format([object.t])", "object.t.replace('a', 'bbb')"],
)
def test_a_call_of_the_table_costs_more_than_there_as_it_says(expression: str, oracle: Path) -> None:
    assert f"`{expression}`" in TABLE
    question = {"mode": "dyn", "expr": expression, "vars": {"object": OBJECT}}
    (theirs,) = ask_theirs(oracle, [question])
    for ours in ask_ours(question):
        assert 0 < ours["cost"] - theirs["cost"] <= 2 * len(OBJECT["t"]) / 3
