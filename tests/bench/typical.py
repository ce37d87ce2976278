"""The fifteen typical policies that CEL is measured with: read from the corpus, compiled and evaluated as a review does it."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.bench.figures import Comparison
from webhook.cel import Budget, Declarations, Program, compile_expression
from webhook.cel.library.regex import compile_pattern
from webhook.cel.program import _parse
from webhook.cel.quantities import parse_short
from webhook.server.deadlines import deadline_of
from webhook.settings import EvaluationSettings

Case = dict[str, Any]
Rounds = tuple[float, ...]
Turns = tuple[Rounds, Rounds]

ROOT = Path(__file__).resolve().parents[2]
NO_CORPUS = "the corpus of expressions is not beside the repository"
WARM_UP = 500
"""Evaluations before the first that counts: a program changes its way of working once it has been asked often enough."""
STANDARD = frozenset({"object", "oldObject", "request", "params", "namespaceObject", "variables"})
DECLARED = Declarations(variables=STANDARD)
UNITS = EvaluationSettings().cost_per_expression


def typical_policies() -> Mapping[int, list[Case]]:
    """Return the policies by the number of containers in the Job that they judge; empty where the corpus is absent."""
    corpus = Path(os.environ.get("GANGWARDEN_SHARED", "") or ROOT.parent / "shared") / "corpora" / "cel" / "policies.jsonl"
    sizes: dict[int, list[Case]] = defaultdict(list)
    if corpus.is_file():
        for case in map(json.loads, corpus.read_text(encoding="utf-8").splitlines()):
            sizes[int(case["id"].rpartition("/")[2])].append(case)
    return sizes


def named(containers: int) -> str:
    """Return the name of a size."""
    return "1 container" if containers == 1 else f"{containers} containers"


def summed(what: str, turns: list[Turns]) -> Comparison:
    """Add up policies, round by round."""
    ours, anchor = ([sum(values) for values in zip(*side, strict=True)] for side in zip(*turns, strict=True))
    return Comparison(what=what, unit="us", ours=tuple(ours), anchor=tuple(anchor))


def warm(case: Case) -> Program:
    """Compile a policy and evaluate it until its generated code is in use."""
    program = compile_expression(case["expr"], DECLARED)
    evaluate = evaluation(case, program)
    for _ in range(WARM_UP):
        evaluate()
    return program


def first_compilation(text: str) -> Program:
    """Compile an expression as if nothing had been compiled before: what is kept of others that say the same is forgotten."""
    for kept in (_parse, compile_pattern, parse_short):
        kept.cache_clear()
    return compile_expression(text, DECLARED)


def evaluation(case: Case, program: Program) -> Callable[[], None]:
    """Return one evaluation as a review does it: with the budget of an expression and the deadline of a review."""
    activation, expired = activation_of(case), deadline_of(time.monotonic, 3_600.0, "")

    def evaluate() -> None:
        assert program.evaluate(activation, Budget(UNITS, expired)) is True, case["id"]

    return evaluate


def interpretation(case: Case, program: Program) -> Callable[[], None]:
    """Return the same by the closures, whether there is generated code or not."""
    activation, expired = activation_of(case), deadline_of(time.monotonic, 3_600.0, "")

    def evaluate() -> None:
        assert program.interpret(activation, Budget(UNITS, expired)) is True, case["id"]

    return evaluate


def activation_of(case: Case) -> Mapping[str, Any]:
    """Return what an expression sees; variables that the corpus leaves out are null."""
    return {**dict.fromkeys(STANDARD), **case["vars"]}
