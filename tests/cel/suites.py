"""Suites of expressions with the API server's answers, and how an answer of ours is compared with them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]
Ask = Callable[[Case], tuple[str, Any]]
"""Returns the stage that was reached (value, compile, eval), and the value or the error."""


def read(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def tally(cases: Iterable[Case], ask: Ask) -> tuple[Counter[str], str]:
    """Count how our answers stand to the API server's; beside it all that are not right."""
    verdicts = [(judge(case, *ask(case)), case["id"], case["expr"]) for case in cases]
    return Counter(verdict for verdict, _, _ in verdicts), "\n".join(map(str, (row for row in verdicts if row[0] != "right")))


def judge(case: Case, stage: str, answer: Any) -> str:
    """Name how our answer stands to the API server's."""
    expected = case["expect"]
    if not expected["ok"]:
        theirs = "eval" if expected["stage"] == "eval" else "compile"
        return "right" if stage == theirs else f"{stage} instead of {theirs} error"
    if stage != "value":
        return "refused" if stage == "compile" else f"error instead of value: {answer}"
    unordered = bool(case.get("unordered"))
    same = canonical(answer, unordered=unordered) == canonical(expected["result"], unordered=unordered)
    return "right" if same else "wrong value"


def canonical(value: Any, *, unordered: bool) -> str:
    if unordered and isinstance(value, list):
        value = sorted(value, key=lambda item: json.dumps(item, sort_keys=True))
    return json.dumps(value, sort_keys=True)
