"""Answers of the API server to two thousand expressions, replayed.

Right means the same value, or an error at the same stage: when compiling (there the API server's stage ``program`` belongs) or
when evaluating.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cel.suites import read, tally
from webhook.cel import (
    Budget,
    CompileError,
    Declarations,
    EvaluationError,
    compile_expression,
    decode_tagged,
    encode_tagged,
    types,
)

STANDARD = frozenset({"object", "oldObject", "request", "params", "namespaceObject", "variables"})
TYPES = {
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.STRING, types.DYN),
}


def ask(case: dict[str, Any]) -> tuple[str, Any]:
    """Return the stage that was reached, and the value or the error."""
    variables = {name: decode_tagged(value) for name, value in (case.get("vars") or {}).items()}
    declared = {name: TYPES[type_] for name, type_ in (case.get("types") or {}).items() if type_ in TYPES}
    checked = not case.get("nocheck")
    declarations = Declarations(variables=STANDARD | set(variables), types=declared, patch_types=True, checked=checked)
    try:
        program = compile_expression(case["expr"], declarations)
        return "value", encode_tagged(program.evaluate({**dict.fromkeys(STANDARD), **variables}, Budget(1_000_000)))
    except CompileError as error:
        return "compile", str(error)
    except EvaluationError as error:
        return "eval", str(error)


def test_the_typical_policies_are_all_right(shared_dir: Path) -> None:
    counts, differences = tally(read(shared_dir / "corpora/cel/policies.jsonl"), ask)
    assert counts == {"right": 45}, differences


def test_every_feature_is_right_at_the_same_stage(shared_dir: Path) -> None:
    counts, differences = tally(read(shared_dir / "corpora/cel/coverage.jsonl"), ask)
    assert counts == {"right": 267}, differences


def test_what_the_api_server_gets_right_in_the_language_suite_we_do_too(shared_dir: Path) -> None:
    counts, differences = tally((case for case in read(shared_dir / "corpora/cel/celspec.jsonl") if case["k8s_passes"]), ask)
    assert counts == {"right": 1410}, differences


@pytest.mark.parametrize("name", ["coverage", "policies", "celspec"])
def test_there_is_never_a_value_where_the_api_server_fails_to_evaluate(name: str, shared_dir: Path) -> None:
    failing = [case for case in read(shared_dir / f"corpora/cel/{name}.jsonl") if case["expect"].get("stage") == "eval"]
    assert [case["expr"] for case in failing if ask(case)[0] == "value"] == []
