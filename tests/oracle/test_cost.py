"""What calls cost as their arguments grow: what the API server stops is stopped, what is under a tenth of its limit is not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import build
from tests.oracle.asking import AGAIN, COST_LIMIT, COST_SHARE, LESS, ask_ours, ask_theirs
from tests.oracle.weighing import FEW_SIZES, SIZES, calls, looped

pytestmark = pytest.mark.timeout(900)

Question = Mapping[str, Any]
Answer = Mapping[str, Any]

UNCOUNTED_SHARE = 3
"""What large values cost here and not there is at most a unit for so many characters that are read; docs/cel.md lists it."""
FEW = 10
"""Every so manieth call is put into loops that go to the limit, which takes a second each."""
TURN = 10
"""What a turn of a loop costs at least besides the call in it."""


@pytest.fixture(scope="module")
def oracle() -> Path:
    return build.ensure(["celoracle"]) / "celoracle"


@pytest.mark.e2e
def test_every_call_costs_what_it_costs_in_the_api_server(oracle: Path) -> None:
    assert list(unlike(oracle, list(calls(20261130, FEW_SIZES)))) == []


@pytest.mark.e2e
def test_calls_in_loops_are_stopped_where_the_api_server_stops_and_not_under_a_tenth(oracle: Path) -> None:
    asked = list(at_the_limit(oracle, list(calls(20261130, (100,)))[::FEW]))
    answers = [(ours, theirs) for _, ours, theirs in answered(oracle, asked)]
    assert sum(is_stopped(theirs) for _, theirs in answers) > len(answers) // 4
    assert sum(theirs.get("cost", 0) < COST_SHARE * COST_LIMIT for _, theirs in answers) > len(answers) // 4
    assert list(unlike(oracle, asked)) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_calls_of_every_size_do_too(oracle: Path, seed: int) -> None:
    assert list(unlike(oracle, list(calls(seed, SIZES)))) == []
    moderate = list(calls(seed, (100,)))[seed::FEW]  # what works on thousands of elements for next to no cost takes Go minutes
    assert list(unlike(oracle, list(at_the_limit(oracle, moderate)))) == []


def at_the_limit(oracle: Path, asked: Sequence[Question]) -> Iterator[Question]:
    """Yield each call that costs something in two loops: one just beyond the limit, one just under a tenth of it."""
    for question, theirs in zip(asked, ask_theirs(oracle, asked), strict=True):
        if theirs["ok"] and TURN < theirs["cost"] < COST_LIMIT // 100:
            yield looped(question, COST_LIMIT // theirs["cost"] + 1)
            yield looped(question, int(COST_LIMIT * COST_SHARE) // (theirs["cost"] + 2 * TURN))


def unlike(oracle: Path, asked: Sequence[Question]) -> Iterator[str]:
    """Yield every question that does not cost here what it costs there."""
    for question, ours, theirs in answered(oracle, asked):
        if not is_alike(question, ours, theirs):
            others = ask_theirs(oracle, [question] * AGAIN)  # Go walks maps in random order, so costs may vary
            if not any(is_alike(question, ours, other) for other in others):
                yield f"{question['expr']}: {_told(ours)} here, {_told(theirs)} there"


def answered(oracle: Path, asked: Sequence[Question]) -> Iterator[tuple[Question, Answer, Answer]]:
    """Yield what was evaluated by both, with each way of ours."""
    for question, theirs in zip(asked, ask_theirs(oracle, asked), strict=True):
        if theirs.get("cost") is not None:
            yield from ((question, ours, theirs) for ours in ask_ours(question) if "cost" in ours)


def is_alike(question: Question, ours: Answer, theirs: Answer) -> bool:
    """Tell whether two answers cost the same as far as limits are concerned."""
    if is_stopped(theirs) or is_stopped(ours):
        return is_stopped(ours) and theirs["cost"] >= COST_SHARE * COST_LIMIT
    uncounted = len(json.dumps(question["vars"])) // UNCOUNTED_SHARE
    return theirs["cost"] - LESS <= ours["cost"] <= 10 * theirs["cost"] + 100 + uncounted


def is_stopped(answer: Answer) -> bool:
    return "cost limit" in answer.get("error", "")


def _told(answer: Answer) -> str:
    return answer["error"] if "error" in answer else str(answer["cost"])
