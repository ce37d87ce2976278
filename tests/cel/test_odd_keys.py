"""Keys of odd types in lookups, ``in`` and ``==``: the API server's answers, recorded for every kind of key and container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, compile_expression, encode_tagged

RECORDED: list[tuple[str, str]] = json.loads((Path(__file__).parent / "odd_keys.json").read_text(encoding="utf-8"))
OBJECT = {"m": {"a": 1, "1": 2, "true": 3}, "l": [1, "a"], "t": "abc", "z": None, "n": [0]}
NAMES = Declarations(variables=frozenset({"object"}))


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
    assert {text: answers(text) for text, wanted in rows if answers(text) != {wanted}} == {}


def test_looking_whether_a_map_was_given_is_paid_for_if_inputs_are_large() -> None:
    program = compile_expression("object.l.all(x, !(dyn(b'a') in object.m))", NAMES)
    large = {"m": {"a": 1}, "l": list(range(20_000))}
    with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
        program.evaluate({"object": large}, Budget(1_000_000))
    assert program.evaluate({"object": {"l": [1, 2], "m": {"a": 1}}}, Budget(100)) is True


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{dyn(semver('1.0.0')): 1}", "error"),
        ("dyn(semver('1.0.0')) in {'a': 1} || true", "error"),
        ("dyn(format.uri()) in ['a', 'b'] || true", "error"),
        ("dyn(b'a') in [1, 2] || true", "error"),
        ("dyn(b'a') in [dyn(1), dyn('a')] || dyn(b'a') in [int('2')] || true", "error"),
        ("dyn(b'a') in [dyn(null), dyn(1)] || dyn(b'a') in [bytes('b')]", "false"),
        ("optional.of(dyn(quantity('1'))) == optional.of(dyn(null))", "error"),
        ("{?dyn(semver('1.0.0')): optional.none()}", "error"),
        ("[semver('1.0.0')].transformMapEntry(i, v, {dyn(v): i})", "error"),
        ("dyn(semver('1.0.0')) in object || dyn(semver('1.0.0')) in {} || dyn(semver('1.0.0')) in []", "false"),
        ("dyn(ip('::1')) in {dyn(ip('::1')): 1} && dyn(cidr('::/0')) in {dyn(cidr('::/0')): 1}", "true"),
        ("dyn(quantity('1')) in {dyn(quantity('1')): 1} || dyn(url('/a')) in {dyn(url('/a')): 1}", "false"),
        ("{dyn(quantity('1')): 1, dyn(quantity('1')): 2}.size()", "2"),
        ("{dyn(timestamp('1970-01-01T01:00:00+01:00')): 1, dyn(timestamp(0)): 2}.size()", "2"),
        ("{dyn(timestamp('1970-01-01T01:00:00+01:00')): 1, dyn(timestamp('1970-01-01T01:00:00+01:00')): 2}.size()", "1"),
    ],
)
def test_values_of_libraries_are_keys_as_far_as_go_can_hash_them(text: str, wanted: str) -> None:
    assert answers(text) == {wanted}
