"""Random expressions, answered by the API server's own code and by ours: the same value, or an error at the same stage."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.oracle.asking import ask_theirs, compare, questions

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def oracle() -> Path:
    return build.ensure(["celoracle"]) / "celoracle"


@pytest.mark.e2e
def test_two_thousand_random_expressions_get_the_api_servers_answers(oracle: Path) -> None:
    differences = compare(oracle, questions(20261130, 2_000))
    assert not differences, "\n".join(map(str, differences[:20]))


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_thousands_more_do_too(oracle: Path, seed: int) -> None:
    differences = compare(oracle, questions(seed, 4_000))
    assert not differences, "\n".join(map(str, differences[:20]))


@pytest.mark.e2e
def test_the_expressions_are_neither_all_refused_nor_all_fine(oracle: Path) -> None:
    stages = Counter("value" if reply["ok"] else reply["stage"] for reply in ask_theirs(oracle, questions(20261130, 500)))
    assert min(stages["value"], stages["compile"], stages["eval"]) > 50, stages
