"""Keys of odd types in lookups, ``in`` and ``==``: the API server's answers, recorded for every kind of key and container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from webhook.cel import CompileError, Declarations, EvaluationError, compile_expression, encode_tagged

RECORDED: list[tuple[str, str]] = json.loads((Path(__file__).parent / "odd_keys.json").read_text(encoding="utf-8"))
OBJECT = {"m": {"a": 1, "1": 2, "true": 3}, "l": [1, "a"], "t": "abc", "z": None, "n": [0]}
NAMES = Declarations(variables=frozenset({"object"}))
DIFFERENT = frozenset({"dyn(b'a') in dyn(object.m)", "dyn(b'a') in object.n.map(x, object.m)[0]"})
"""Bytes are no key of a map that came as JSON there, and a panic in a map that an expression made. We cannot tell the two apart:
both are an error here."""


def answers(text: str) -> set[str]:
    try:
        program = compile_expression(text, NAMES)
    except CompileError:
        return {"compile"}
    found = set()
    for way in (program.interpret, *([program.evaluate] if program.generate() else [])):
        try:
            value: Any = encode_tagged(way({"object": OBJECT}))
        except EvaluationError:
            found.add("error")
        else:
            found.add(json.dumps(value))
    return found


def test_there_is_a_record_for_every_pair() -> None:
    assert len(RECORDED) > 1_500


@pytest.mark.parametrize("start", range(0, len(RECORDED), 100))
def test_every_answer_is_the_api_servers(start: int) -> None:
    rows = RECORDED[start : start + 100]
    different = {text: (answers(text), wanted) for text, wanted in rows if text not in DIFFERENT and answers(text) != {wanted}}
    assert different == {}


@pytest.mark.parametrize("text", DIFFERENT)
def test_bytes_in_a_map_are_an_error(text: str) -> None:
    assert answers(text) == {"error"}
