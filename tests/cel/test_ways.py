"""Fields of optionals, by where the optional stands; the answers are the API server's.

An optional at the start of a way opens it, also where only its value is known to be one. One that a step comes upon is opaque.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from webhook.cel import CompileError, Declarations, EvaluationError, compile_expression, encode_tagged
from webhook.cel.types import DYN, Kind, Type
from webhook.cel.values import Optional

NAMES = Declarations(
    variables=frozenset({"object"}),
    types={"variables": Type(Kind.STRUCT, "kubernetes.variables", fields={"found": DYN, "none": DYN})},
)
ACTIVATION = {
    "object": {"spec": {"replicas": 3}},
    "variables": {"found": Optional({"replicas": 3}), "none": Optional(None, present=False)},
}
HELD = "dyn(optional.of({'a': true}))"


def ways(text: str) -> list[Callable[[], Any]]:
    program = compile_expression(text, NAMES)
    assert program.generate()
    return [lambda: program.interpret(ACTIVATION), lambda: program.evaluate(ACTIVATION)]


def optional(*held: Any) -> Any:
    return {"$optional": list(held)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"has({HELD}.a)", True),
        (f"has({HELD}.b) || has(dyn(optional.none()).a)", False),
        (f"true ? has({HELD}.a) : false", optional(True)),
        (f"true ? has({HELD}.b) : false", optional()),
        ("true ? has(dyn({'a': 1}).a) : false", True),
        ("true ? has(dyn(optional.of('text')).a) : false", optional()),
        (f"object.spec.replicas == 3 ? (false ? true : has({HELD}.a)) : false", optional(True)),
        (f"(true ? has({HELD}.a) : false) || true", True),
        (f"[{HELD}].map(v, true ? has(v.a) : false)", [optional(True)]),
        ("[dyn(optional.of({'a': {'b': 1}}))].map(v, (true ? has(v.a) : dyn(1)).b)", [optional(1)]),
        (f"[{HELD}].map(v, v.a)", [optional(True)]),
        ("has([optional.of({'a': 1})][0].a)", False),
        ("{'k': optional.of({'a': 1})}['k'].?a", optional()),
        ("has({'k': optional.of({'a': 1})}.k.a)", False),
        ("true ? has({'k': optional.of({'a': 1})}.k.a) : true", False),
        ("has((object.spec.replicas == 3 ? optional.of({'a': 1}) : dyn(1)).a)", True),
        ("(true ? optional.of({'a': 1}) : dyn(1)).?a", optional(1)),
        ("(true ? [optional.of({'a': 1})][0] : dyn(1)).?a", optional()),
        ("variables.found.?replicas.hasValue() || has(variables.found.replicas)", False),
        ("variables.found.value().replicas", 3),
        ("true ? has(object.spec.?nope.replicas) : false", optional()),
        ("has(has(object.spec.nope)) || has(has(has(object.spec.replicas)))", True),
    ],
)
def test_what_is_there(text: str, value: Any) -> None:
    assert [encode_tagged(way()) for way in ways(text)] == [value] * 2


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"(true ? has({HELD}.a) : false) && true", "no such overload"),
        (f"!(true ? has({HELD}.a) : false)", "no such overload"),
        (f"[{HELD}].all(v, true ? has(v.a) : false)", "no such overload"),
        (f"{{true: 1}}[has({HELD}.a)]", "invalid qualifier type: *types.Optional"),
        ("{true: 1}[has(optional.of({'a': 1}).a)]", "invalid qualifier type: *types.Optional"),
        ("true ? has(dyn(optional.of([1])).a) : false", "unsupported index type 'string' in list"),
        ("[optional.of({'a': 1})][0].a", "no such key: a"),
        ("{'k': optional.of({'a': 1})}.k.a", "no such key: a"),
        ("(object.spec.replicas == 3 ? [optional.of({'a': 1})][0] : dyn(1)).a", "no such key: a"),
        ("variables.found.replicas == 3", "no such key: replicas"),
        ("variables.none.replicas == 3", "no such key: replicas"),
    ],
)
def test_what_is_not(text: str, error: str) -> None:
    for way in ways(text):
        with pytest.raises(EvaluationError) as caught:
            way()
        assert str(caught.value) == error


@pytest.mark.parametrize(
    "text", ["--9223372036854775808", "- -0x8000000000000000", "---9223372036854775808", "--9223372036854775808.x"]
)
def test_of_several_signs_none_is_part_of_the_number(text: str) -> None:
    with pytest.raises(CompileError, match="invalid int literal"):
        compile_expression(text, NAMES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-9223372036854775808", -(2**63)),
        ("1 - -9223372036854775807", None),
        ("--5 + ---3", 2),
        ("--[7][0] - -[7][0]", 14),
        ("-(-5)", 5),
        ("[--5, -(--5), !!true ? 1 : 2]", [5, -5, 1]),
    ],
)
def test_signs(text: str, value: Any) -> None:
    for way in ways(text):
        if value is None:
            with pytest.raises(EvaluationError, match="overflow"):
                way()
        else:
            assert way() == value


def test_a_number_in_parentheses_keeps_its_sign() -> None:
    for way in ways("-(-9223372036854775808)"):
        with pytest.raises(EvaluationError, match="integer overflow"):
            way()


@pytest.mark.parametrize(
    "text", ["[int].filter(c, true)", "{int: 1}.transformMap(k, v, 1)", "[].map(k, type(object)).filter(c, false)"]
)
def test_a_loop_that_keeps_types_is_refused(text: str) -> None:
    with pytest.raises(CompileError, match="reference to undefined type"):
        compile_expression(text, NAMES)


def test_a_loop_over_types_that_keeps_none_of_them_is_not() -> None:
    for way in ways("[int].all(c, true) && [int].map(c, 1) == [1] && [dyn(int)].filter(c, true).size() == 1"):
        assert way() is True
