"""A variable written out of an expression: only where it is read, and with a value that is the same one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cel import CompileError, Declarations, compile_expression
from webhook.cel.rewrite import literal, paths_read, replace_variable

PLAIN = Declarations()
compile_expression("1", PLAIN)  # the first one raises the recursion limit, at which hypothesis wonders
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("params.data.x", "V.data.x"),
        ("'params' + params.x", "'params' + V.x"),
        ("object.params.x + params", "object.params.x + V"),
        ("has(params.x) && params.?y.hasValue()", "has(V.x) && V.?y.hasValue()"),
        ("[1].exists(params, params == 1) || params == 2", "[1].exists(params, params == 1) || V == 2"),
        ("params.x.exists(params, params == 1)", "V.x.exists(params, params == 1)"),
        ("{'a': 1}.all(params, v, v == params) && params.x", "{'a': 1}.all(params, v, v == params) && V.x"),
        ("variables.a[params.i].params", "variables.a[V.i].params"),
        (".params.x", ".V.x"),
        ("object.x ==\n  params.y // params\n  || 'é😀' == params.z", "object.x ==\n  V.y // params\n  || 'é😀' == V.z"),
        ("params(1) + params", "params(1) + V"),
        ("size(object)", "size(object)"),
    ],
)
def test_a_variable_is_replaced_where_it_is_read_and_nowhere_else(text: str, after: str) -> None:
    assert replace_variable(text, "params", "V") == after


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(CompileError):
        replace_variable("params.", "params", "V")


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("params.?data.?keys.orValue('')", {("data", "keys")}),
        ("params.spec['a.b'].c[object.i].d", {("spec", "a.b", "c")}),
        ("params.data[params.key]", {("data",), ("key",)}),
        ("dyn(params).data", {()}),
        ("object.params", set()),
    ],
)
def test_it_is_known_which_parts_are_read(text: str, paths: set[tuple[str, ...]]) -> None:
    assert paths_read(text, "params") == paths


@given(JSON)
def test_a_json_value_written_as_an_expression_is_that_value(value: Any) -> None:
    assert compile_expression(f"dyn({literal(value)})", PLAIN).evaluate({}) == value


def test_a_number_beyond_int64_is_a_double_as_in_go() -> None:
    assert compile_expression(literal(2**63), PLAIN).evaluate({}) == pytest.approx(2.0**63)
