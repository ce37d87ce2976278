"""What CEL costs beside the engine of the API server: fifteen typical policies, ours against cel-go as Kubernetes runs it."""

from __future__ import annotations

import gc
import itertools
import json
import subprocess
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from types import TracebackType
from typing import Self

import orjson

from tests.bench.cpu import ROUND_SECONDS, Call, per_call, repetitions
from tests.bench.figures import Comparison, Fact, Section
from tests.bench.typical import (
    DECLARED,
    NO_CORPUS,
    Case,
    Rounds,
    Turns,
    evaluation,
    first_compilation,
    interpretation,
    named,
    summed,
    typical_policies,
    warm,
)
from tests.controlplane.build import BuildError, ensure
from webhook.cel import Program, compile_expression

ROUNDS = 5
COPIES = 4
"""Of each policy, kept while memory is measured."""
LARGEST = 20
GENERATED = "with generated code"
MEMORY = ("closures", GENERATED)
PROBE = 150
"""Evaluations that tell how many the API server's code does in one round."""
METHOD = f"""\
The fifteen policies again, beside the API server's own environment, libraries and cost tracking (cel-go as Kubernetes 1.37 pins
it, built from Go modules), which evaluates them inside its own process. In every round each policy is evaluated by both in
turns, for {ROUND_SECONDS * 1000:.0f} ms of CPU each. Ours is CPU of the thread, and as in production: a budget of cost units,
the deadline of a review, and the generated code that a program gets after its first few hundred evaluations; *closures* is what
it starts with. cel-go is CPU of the process, the median of 15 batches; *plain* is cel-go without Kubernetes' cost tracking. *a
review* decodes the JSON of the variables once (orjson; the API server's decoder) and evaluates all fifteen. Rows without the
name of a policy are sums over the fifteen. Compiling is a first compilation: what is kept of earlier ones is forgotten before.
The bars of the project, for a Job of 20 containers: the sum at most 0.20 of cel-go, the geometric mean of the ratios at most
0.35, compiling all fifteen at most 60 times `json.loads` of that review, and at most 30 KiB a compiled policy."""

Timings = Mapping[str, float]


def measure() -> Section:
    """Measure both engines, or say why that is not possible."""
    title, sizes = "CEL expressions beside cel-go", typical_policies()
    if not sizes:
        return Section(title=title, method=METHOD, skipped=NO_CORPUS)
    try:
        program = ensure(["celoracle"]) / "celoracle"
    except (BuildError, OSError) as error:
        return Section(title=title, method=METHOD, skipped=f"the API server's CEL cannot be built here: {error}")
    gc.freeze()  # what is there already need not be walked through before each of some thousand measurements
    with Oracle(program) as oracle:
        found = {size: [Measured(case, oracle) for case in cases] for size, cases in sizes.items()}
        for number, measured in itertools.product(range(ROUNDS), found.values()):
            for one in measured:
                one.take_turns(ours_first=bool(number % 2))
    gc.unfreeze()
    return Section(
        title=title,
        method=METHOD,
        anchor="cel-go",
        comparisons=(
            *_sums(found),
            *_compiling(found[LARGEST]),
            *(summed(f"{one.name}, {named(LARGEST)}", [(one.ours(), one.theirs())]) for one in found[LARGEST]),
        ),
        facts=tuple(_facts(found)),
    )


class Oracle:
    """The API server's CEL as one process that lives as long as the measurement."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.communicate()

    def time(self, case: Case, count: int) -> Timings:
        """Return the CPU microseconds of one evaluation, of so many, and of what comes before it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {"expr": case["expr"], "vars": case["vars"], "bench": count}
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        assert reply.get("result") is True, (case["id"], reply.get("error"))
        return {name.removesuffix("_cpu_ns"): nanoseconds / 1_000 for name, nanoseconds in reply["bench"].items()}


class Measured:
    """One policy over one Job, and what its rounds found in CPU microseconds."""

    def __init__(self, case: Case, oracle: Oracle) -> None:
        self.name, self.text, self._case, self._oracle = case["group"], case["expr"], case, oracle
        self._calls = _calls(case)
        self._counts = {name: repetitions(call) for name, call in self._calls.items()}
        self._count = max(PROBE, round(ROUND_SECONDS * 1e6 / oracle.time(case, PROBE)["tracked"]))
        self._ours: list[Timings] = []
        self._theirs: list[Timings] = []

    def take_turns(self, *, ours_first: bool) -> None:
        """Measure both once."""
        for is_ours in (ours_first, not ours_first):
            if is_ours:
                self._ours.append({name: per_call(call, self._counts[name]) for name, call in self._calls.items()})
            else:
                self._theirs.append(self._oracle.time(self._case, self._count))

    def ours(self, figure: str = "evaluate") -> Rounds:
        """Return one figure of ours."""
        return tuple(found[figure] for found in self._ours)

    def theirs(self, figure: str = "tracked") -> Rounds:
        """Return one figure of theirs."""
        return tuple(found[figure] for found in self._theirs)


def _calls(case: Case) -> Mapping[str, Call]:
    program, policy, containers = warm(case), *case["id"].split("/")[1:]
    calls: dict[str, Call] = {"evaluate": evaluation(case, program)}
    if int(containers) == LARGEST:
        calls |= {
            "closures": interpretation(case, program),
            "compile": lambda: first_compilation(case["expr"]),
        }
    if policy == "01":  # every policy of a size has the same variables
        variables, review = orjson.dumps(case["vars"]), _review_of(case)
        calls |= {"decode": lambda: orjson.loads(variables), "loads": lambda: json.loads(review)}
    return calls


def _review_of(case: Case) -> bytes:
    """Return the body of the review that the variables of a policy come from."""
    variables = case["vars"]
    request = {**variables["request"], "object": variables["object"], "oldObject": variables["oldObject"]}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


Found = Mapping[int, Sequence[Measured]]


def _sums(found: Found) -> Iterator[Comparison]:
    for size, measured in sorted(found.items()):
        evaluated = [(one.ours(), one.theirs()) for one in measured]
        yield summed(f"evaluating, {named(size)}", evaluated)
        if size == LARGEST:
            yield summed(f"evaluating, {named(size)}, closures", [(one.ours("closures"), one.theirs()) for one in measured])
        yield summed(f"evaluating, {named(size)}, plain", [(one.ours(), one.theirs("plain")) for one in measured])
        yield summed(f"a review, {named(size)}", [*evaluated, (measured[0].ours("decode"), measured[0].theirs("decode"))])


def _compiling(measured: Sequence[Measured]) -> Iterator[Comparison]:
    compiled = summed("compiling", [(one.ours("compile"), one.theirs("compile")) for one in measured])
    yield compiled
    what = f"compiling (anchor: json.loads of the review, {named(LARGEST)})"
    yield Comparison(what=what, unit="us", ours=compiled.ours, anchor=measured[0].ours("loads"))


def _facts(found: Found) -> Iterator[Fact]:
    for size, measured in sorted(found.items()):
        yield _mean(f"geometric mean of the ratios, {named(size)}", [(one.ours(), one.theirs()) for one in measured])
    turns = [(one.ours("closures"), one.theirs()) for one in found[LARGEST]]
    yield _mean(f"geometric mean of the ratios, {named(LARGEST)}, closures", turns)
    texts = [one.text for one in found[LARGEST]]
    for state in MEMORY:
        yield Fact(what=f"memory of a compiled policy, {state}", unit="KiB", values=(_memory(texts, state),))


def _mean(what: str, turns: Sequence[Turns]) -> Fact:
    rounds = zip(*([one / other for one, other in zip(*both, strict=True)] for both in turns), strict=True)
    return Fact(what=what, unit="of cel-go", values=tuple(map(geometric_mean, rounds)))


def _memory(texts: Sequence[str], state: str) -> float:
    """Return the KiB that one more program takes, by Python's own count of what is allocated and kept."""
    _programs(texts, state)  # the first ones also pay for parser and caches
    gc.collect()
    tracemalloc.start()
    kept = [_programs(texts, state) for _ in range(COPIES)]
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / 1024 / sum(map(len, kept))


def _programs(texts: Sequence[str], state: str) -> list[Program]:
    made = [compile_expression(text, DECLARED) for text in texts]
    if state == GENERATED:
        assert all(program.generate() for program in made)
    return made
