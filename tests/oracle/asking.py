"""Ask the API server's own code and ours the same questions, and name how the answers differ."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.oracle.growing import Grower
from tests.oracle.words import ACCESS, TYPES, VALUES, VOCABULARIES
from webhook.cel import Budget, CompileError, EvaluationError, encode_tagged
from webhook.cli.evaluate import prepare

BATCH = 500
BATCH_SECONDS = 600
AGAIN = 24
"""How often a question is put again whose answers differ: Go walks maps in random order, so it may have several answers."""
COST_SHARE = 0.1
"""Our budget may stop an expression from this share of the API server's limit on."""
COST_LIMIT = 1_000_000
LESS = 2
"""Units that ours may be below theirs: nothing that adds up, for a turn of any loop costs more."""


@dataclass(frozen=True)
class Difference:
    """One expression on which the two disagree."""

    kind: str
    question: Mapping[str, Any]
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]

    def __str__(self) -> str:
        told = {
            "ours": self.ours.get("error", self.ours.get("result")),
            "theirs": self.theirs.get("error", self.theirs.get("result")),
        }
        return f"{self.kind}: [{self.question['mode']}] {self.question['expr']}\n    {json.dumps(told, ensure_ascii=False)[:600]}"


def questions(seed: int, count: int, values: Mapping[str, Any] = VALUES) -> list[dict[str, Any]]:
    """Grow as many questions about these values."""
    random = Random(seed)
    return [_question(random, values) for _ in range(count)]


def enlarged(value: Any, times: int) -> Any:
    """Return a value whose texts, lists and maps are so many times as large; what has a tag stays as it is."""
    if isinstance(value, str):
        return value * times
    if isinstance(value, list):
        return [enlarged(item, times if isinstance(item, dict) else 1) for item in value] * times
    if not isinstance(value, dict) or any(key.startswith("$") for key in value):
        return value
    found = {key: enlarged(item, times) for key, item in value.items()}
    return found | {f"{key} {number}": item for key, item in value.items() for number in range(1, times)}


def _question(random: Random, values: Mapping[str, Any]) -> dict[str, Any]:
    vocabulary = random.choice(VOCABULARIES)
    asked = {
        "mode": vocabulary.mode,
        "expr": Grower(random, vocabulary).expression(),
        "vars": values,
        "types": TYPES,
        "authz": ACCESS,
    }
    return asked | ({"env": "new"} if random.random() < 0.1 else {})


def ask_theirs(oracle: Path, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the API server's answers."""
    answers: list[dict[str, Any]] = []
    for start in range(0, len(asked), BATCH):
        lines = "\n".join(json.dumps(question) for question in asked[start : start + BATCH])
        done = subprocess.run([oracle], input=lines.encode(), stdout=subprocess.PIPE, timeout=BATCH_SECONDS, check=True)
        answers += map(json.loads, done.stdout.splitlines())
    return answers


def compare(oracle: Path, asked: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return every difference that remains when the API server has been asked more than once."""
    differences = []
    for question, theirs in zip(asked, ask_theirs(oracle, asked), strict=True):
        for ours in ask_ours(question):
            if not _difference(question["expr"], ours, theirs):
                continue
            others = ask_theirs(oracle, [question] * AGAIN)
            if all(kinds := [_difference(question["expr"], ours, other) for other in others]):
                differences.append(Difference(min(kinds), question, ours, theirs))
    return differences


def ask_ours(question: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return our answers: of the closures, and of the generated code where there is some."""
    try:
        program, activation = prepare(dict(question))
    except CompileError as error:
        return ({"ok": False, "stage": "compile", "error": str(error)},)
    ways = [program.interpret]
    if program.generate():
        ways.append(program.evaluate)
    return tuple(_evaluated(way, activation) for way in ways)


def _evaluated(way: Callable[..., Any], activation: Mapping[str, Any]) -> Mapping[str, Any]:
    budget = Budget(COST_LIMIT)
    try:
        return {"ok": True, "result": encode_tagged(way(activation, budget)), "cost": budget.spent}
    except EvaluationError as error:
        return {"ok": False, "stage": "eval", "error": str(error), "kind": error.kind, "cost": budget.spent}


def _difference(question: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Name the difference; empty where there is none."""
    stage, wanted = _stage(ours), _stage(theirs)
    if stage == wanted == "value" and _canonical(ours["result"]) != _canonical(theirs["result"]):
        return "another value"
    if stage == wanted:
        return _price_difference(ours, theirs)
    if stage == "compile" and "undefined field" in ours["error"] and "JSONPatch{" in question:
        return ""  # docs/cel.md: a field that JSONPatch{} has not
    if wanted == "value" and ours.get("error") == "NaN values cannot be ordered" and "sort" in question:
        return ""  # docs/cel.md: a list with a NaN, sorted
    if wanted == "compile":
        return f"accepted at load ({stage})"
    if "cost limit" in ours.get("error", "") and theirs.get("cost", 0) >= COST_SHARE * COST_LIMIT:
        return ""
    return f"{stage} instead of {wanted}"


def _price_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Name a difference in what was spent, also by what failed in the end: the limits of policies add that up as well."""
    cost, wanted = ours.get("cost"), theirs.get("cost")
    if cost is None or wanted is None or "cost limit" in theirs.get("error", "") or is_priced_alike(cost, wanted):
        return ""
    if cost < wanted:
        return "cheaper than there"
    return "dearer than there" if ours["ok"] else ""  # what comes after the error has been paid for in advance


def is_priced_alike(ours: int, theirs: int) -> bool:
    """Tell whether two costs mean the same for limits of a million and more: never less than theirs, never of another order.

    A hundred units are nothing beside such limits. What is not counted there and is here is in docs/cel.md.
    """
    return theirs - LESS <= ours <= 10 * theirs + 100


def _stage(answered: Mapping[str, Any]) -> str:
    if answered["ok"]:
        return "value"
    return {"compile": "compile", "program": "compile"}.get(answered["stage"], "error")


def _canonical(value: Any) -> str:
    return json.dumps(_sorted(value), sort_keys=True)


def _sorted(value: Any) -> Any:
    """Put the entries of maps in one order; lists keep theirs."""
    if isinstance(value, dict):
        if "$object" in value:
            return {**value, "fields": _as_json(value["fields"])}
        pairs = value.get("$map")
        if isinstance(pairs, list):
            return {"$map": sorted((_sorted(pair) for pair in pairs), key=json.dumps)}
        return {key: _sorted(item) for key, item in value.items()}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _as_json(value: Any) -> Any:
    """Write the fields of an object as the oracle does: Go has turned them into JSON, a null into the number of its enum."""
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if not isinstance(value, dict):
        return 0 if value is None else value
    if len(value) == 1 and (tag := next(iter(value))) in ("$uint", "$double", "$bytes", "$timestamp", "$duration"):
        return json.loads(value[tag]) if tag in ("$uint", "$double", "$duration") else value[tag]
    return {key: _as_json(item) for key, item in value.items()}
