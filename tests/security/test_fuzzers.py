"""A minute of each fuzzer, two at a time; and what once broke something, and every seed, on each run."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.security.fuzz import TARGETS, engine
from tests.security.fuzz.__main__ import CORPUS
from tests.security.fuzz.running import inputs_tried

SECONDS, SEED = 60, 20261130
INPUTS = {"expressions": 30_000, "reviews": 25_000, "policies": 12_000, "certificates": 8_000}
"""More than a minute gets through on two cores. A quicker machine stops here, so that it tries nothing that was not tried before;
what is new is for the soak to find."""
AT_ONCE = 2
KEPT = [(target, path.name) for target in TARGETS for path in sorted((CORPUS / target).iterdir())]
needs_atheris = pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this platform")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[int]]]:
    """All fuzzers, started when the first of them is asked for."""
    folder = tmp_path_factory.mktemp("fuzz")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            target: pool.submit(inputs_tried, target, folder / target, seconds=SECONDS, seed=SEED, runs=INPUTS[target])
            for target in TARGETS
        }


@pytest.fixture(scope="module")
def targets() -> dict[str, engine.Target]:
    return {name: engine.load(name) for name in TARGETS}


@pytest.mark.parametrize(("target", "name"), KEPT)
def test_what_is_kept_is_answered_in_words(targets: dict[str, engine.Target], target: str, name: str) -> None:
    targets[target].run((CORPUS / target / name).read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_every_corpus_has_seeds_and_words(target: str) -> None:
    assert len(list((CORPUS / target).iterdir())) >= 5
    assert '"' in (CORPUS / f"{target}.dict").read_text()


@needs_atheris
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", TARGETS)
def test_a_minute_of_fuzzing_breaks_nothing(runs: dict[str, Future[int]], target: str) -> None:
    seeds = len(list((CORPUS / target).iterdir()))
    assert runs[target].result() > 2 * seeds


@pytest.mark.parametrize("data", [b"", b"\x00" * 70_000], ids=["nothing", "more than is ever sent"])
def test_the_input_at_work_outlives_its_process(tmp_path: Path, data: bytes) -> None:
    last = engine.LastInput(tmp_path / engine.LAST_INPUT)
    last.keep(b"before")
    last.keep(data[: engine.SIZE_LIMIT])
    assert engine.last_input(tmp_path) == data[: engine.SIZE_LIMIT]
