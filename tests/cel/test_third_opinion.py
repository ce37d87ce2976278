"""cel-python's own interpreter, asked what it can be asked: it agrees with us but where it is known to be wrong.

``celpy_faults.json`` lists each case of that by its fault. What is not listed and differs fails, and so does what is listed and
does not differ. What is listed is held to the API server's answers by ``test_conformance`` and ``test_odd_keys``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cel.interpreting import interpret, normal
from tests.cel.suites import Case, read
from tests.cel.test_conformance import STANDARD, ask
from tests.cel.test_odd_keys import OBJECT, RECORDED

FAULTS: Mapping[str, list[str]] = json.loads((Path(__file__).parent / "celpy_faults.json").read_text(encoding="utf-8"))
FAULTY = frozenset(case for cases in FAULTS.values() for case in cases)


def disagreeing(cases: Iterable[Case]) -> tuple[int, set[str]]:
    """Count the cases that both can be asked, and name those that they answer differently."""
    common, found = 0, set()
    for case in cases:
        asked = {**case, "vars": {**dict.fromkeys(STANDARD), **(case.get("vars") or {})}}
        theirs = interpret(asked)
        if theirs is not None:
            common += 1
            found |= set() if _agree(ask(asked), theirs) else {case["id"]}
    return common, found


def _agree(ours: tuple[str, Any], theirs: tuple[str, Any]) -> bool:
    """Tell whether two answers are the same value, or both none: cel-python finds when evaluating what we find when compiling."""
    if ours[0] != "value" or theirs[0] != "value":
        return ours[0] != "value" and theirs[0] != "value"
    return json.dumps(normal(ours[1]), sort_keys=True) == json.dumps(theirs[1], sort_keys=True)


def test_odd_keys_are_answered_alike() -> None:
    common, found = disagreeing({"id": text, "expr": text, "vars": {"object": OBJECT}} for text, _ in RECORDED)
    assert common > 1_000
    assert found ^ (FAULTY & {text for text, _ in RECORDED}) == set()


@pytest.mark.parametrize(("name", "fewest"), [("coverage", 100), ("policies", 40), ("celspec", 1_000)])
def test_the_suites_are_answered_alike(name: str, fewest: int, shared_dir: Path) -> None:
    cases = [case for case in read(shared_dir / f"corpora/cel/{name}.jsonl") if case.get("k8s_passes", True)]
    common, found = disagreeing(cases)
    assert common >= fewest
    assert found ^ (FAULTY & {case["id"] for case in cases}) == set()
