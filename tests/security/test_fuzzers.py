"""A minute of each fuzzer, two at a time; and what once broke something, and every seed, on each run."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.security.fuzz import TARGETS, engine, policies
from tests.security.fuzz.__main__ import CORPUS
from tests.security.fuzz.price import Price
from tests.security.fuzz.running import inputs_tried
from webhook.policies import Places, SourceFile
from webhook.reports.lines import printable_lines

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
    Price().check(targets[target].run, (CORPUS / target / name).read_bytes())


def _policy(expression: bytes) -> None:
    spec = {"matchConstraints": {}, "validations": [{"expression": f"true && {expression.decode()}"}]}
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "spec": spec}
    assert policies.loaded(SourceFile("policy.yaml", json.dumps(policy | {"metadata": {"name": "repeats"}}).encode())) is None


def _place(field: bytes) -> None:
    assert Places().find(f"{CORPUS / 'policies' / 'validating.yaml'}#0", field.decode()).line


@pytest.mark.parametrize(
    ("run", "repeated"),
    [(_policy, '\\"'), (_policy, "\\'"), (lambda data: printable_lines(data.decode()), "\n"), (_place, "['")],
    ids=["escaped quotes", "escaped single quotes", "line breaks in a message", "brackets in a field"],
)
def test_what_repeats_does_not_cost_its_square(run: Callable[[bytes], None], repeated: str) -> None:
    Price().check(run, (repeated * engine.SIZE_LIMIT)[: engine.SIZE_LIMIT].encode())


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
