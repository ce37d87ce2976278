"""The language as Kubernetes has it, where it is easy to get wrong; the answers are the API server's."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, compile_expression

NAMES = Declarations(variables=frozenset({"object", "params"}))
OBJECT = {"a": {"b": 1, "n": None, "s": "text", "l": [1, 2.5, "x"]}, "labels": {"team": "ml"}, "big": 9223372036854775807}


def evaluate(text: str) -> Any:
    return compile_expression(text, NAMES).evaluate({"object": OBJECT, "params": {"zero": 0}}, Budget(100_000))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("dyn(1) == 1.0 && dyn(1u) == 1 && dyn(2) != 2.5", True, id="numbers compare across types"),
        pytest.param("dyn(true) == 1 || dyn('1') == 1 || dyn(null) == 0", False, id="nothing else does"),
        pytest.param("object.a.s == null || object.a.b == 'x'", False, id="unlike values differ and that is no error"),
        pytest.param("2 in object.a.l || 'y' in object.a.l", False, id="a list holds what equals an element"),
        pytest.param("1.0 in object.a.l && 'team' in object.labels", True, id="in looks at elements and at keys"),
        pytest.param("{dyn(true): 'a', dyn(1): 'b'}.size()", 2, id="true and 1 are two keys"),
        pytest.param(
            "[{'a': 1}, {'a': 1}].transformMapEntry(i, v, {dyn(v): i}).size()", 2, id="a map as a key is a key of its own"
        ),
        pytest.param("{1: 'a'}[dyn(1.0)] + {2u: 'b'}[dyn(2)]", "ab", id="a key is found by a number of another type"),
        pytest.param("-7 / 2 == -3 && -7 % 3 == -1 && 7 % -3 == 1", True, id="division cuts towards zero"),
        pytest.param("- 9223372036854775808 < 1 - 5 && - 2.5 < 0.0", True, id="space may stand behind the sign of a literal"),
        pytest.param("1.0 / 0.0 > object.big", True, id="a double may be infinite"),
        pytest.param("size('é😀') == 2 && 'é😀'.charAt(1) == '😀'", True, id="text is code points"),
        pytest.param("size(bytes('é'))", 2, id="bytes are UTF-8"),
        pytest.param("type(object) == map && type(1u) == uint && type(type(1)) == type", True, id="types are values"),
        pytest.param("string(1.0) + string(1e6) + string(true)", "11e+06true", id="string() writes as Go does"),
        pytest.param(
            "string(duration('1h1.5s')) + string(timestamp('2024-01-01T00:00:00.5+02:00'))",
            "3601.5s2024-01-01T00:00:00.5+02:00",
            id="times as text",
        ),
        pytest.param("timestamp('2024-01-01T01:00:00Z').getHours('America/New_York')", 20, id="hours in a zone"),
        pytest.param(
            "[timestamp(0).getMinutes('+01:61'), timestamp(0).getMinutes('-1:-1'), timestamp(0).getFullYear('9999999:0')]",
            [1, 1, 1941],
            id="an offset may be any number of hours and minutes",
        ),
        pytest.param("timestamp(0).getHours('Local')", 0, id="API servers are taken to live in UTC"),
        pytest.param("int(timestamp('1969-12-31T23:59:59.5Z'))", -1, id="seconds are cut downwards"),
        pytest.param("duration('1ns') + duration('999ns') == duration('1us')", True, id="nanoseconds count"),
        pytest.param("[1, 2, 3].map(x, x > 1, x * x)", [4, 9], id="map with a filter"),
        pytest.param("[5, 6].transformMap(i, v, v > 5, v + i)", {1: 7}, id="two variables of a list are position and element"),
        pytest.param("{'a': 1}.exists(k, v, k == 'a' && v == 1)", True, id="two variables of a map are key and value"),
        pytest.param("[3, 1, 2].sortBy(x, -x)", [3, 2, 1], id="sortBy"),
        pytest.param("object.?a.b.orValue(0) + object.?x.?y.orValue(2)", 3, id="an optional way stays optional"),
        pytest.param("object.?a.optMap(v, v.b + 1).value()", 2, id="optMap"),
        pytest.param("[[1, 2], [3]].map(x, x.size())", [2, 1], id="nested lists"),
        pytest.param("object.a.all(k, k.size() == 1)", True, id="a loop over a map runs over its keys"),
    ],
)
def test_a_value(text: str, value: Any) -> None:
    found = evaluate(text)
    found = dict(found.items()) if hasattr(found, "entries") else found
    assert found == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 / params.zero > 0 || true", True),
        ("1 / params.zero > 0 && false", False),
        ("object.missing.x == 1 && false", False),
        ("[0, 1].all(x, 1 / x == 2)", False),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("dyn('x') || true", True),
        ("has(object.missing) && object.missing.x", False),
    ],
)
def test_an_error_is_absorbed_where_another_operand_decides(text: str, value: bool) -> None:
    assert evaluate(text) is value


@pytest.mark.parametrize(
    ("text", "present"),
    [
        ("has(object.a.b)", True),
        ("has(object.a.n)", True),
        ("has(object.a.x)", False),
        ("has(object.a.n.x)", False),
        ("has(object.a.s.x)", False),
        ("has(object.a.b.x)", False),
    ],
)
def test_has_looks_at_one_field_only(text: str, present: bool) -> None:
    assert evaluate(text) is present


@pytest.mark.parametrize(
    ("text", "message", "kind"),
    [
        ("object.x", "no such key: x", "no_such_key"),
        ("object.a.n.x", "no such key: x", "no_such_key"),
        ("has(object.x.y)", "no such key: x", "no_such_key"),
        ("has(object.a.l.y)", "unsupported index type 'string' in list", "bad_index"),
        ("object.a.l[3]", "index out of bounds: 3", "out_of_range"),
        ("object.a.l[-1]", "index out of bounds: -1", "out_of_range"),
        ("object.big + 1", "integer overflow", "overflow"),
        ("0u - 1u", "unsigned integer overflow", "overflow"),
        ("-object.big - 2", "integer overflow", "overflow"),
        ("timestamp('0001-01-01T00:00:00Z') - duration('-9223372036854775808ns')", "integer overflow", "overflow"),
        ("(object.a.b == 1 ? has(object.?a.b) : false) && true", "no such overload", "no_overload"),
        ("1 / params.zero", "division by zero", "division_by_zero"),
        ("1 % params.zero", "modulus by zero", "division_by_zero"),
        ("object.a.b + object.a.s", "no such overload", "no_overload"),
        ("object.a < object.labels", "no such overload: _<_", "no_overload"),
        ("object.a.b && true", "no such overload", "no_overload"),
        ("object.a.s ? 1 : 2", "no such overload", "no_overload"),
        ("object.a.b.size()", "no such overload: size", "no_overload"),
        ("object.a.s.all(x, true)", "got 'types.String', expected iterable type", "bad_range"),
        ("[1, 2].exists_one(x, 1 / (x - 1) > 0)", "division by zero", "division_by_zero"),
        ("int(object.a.s)", "type conversion error from 'string' to 'int'", "conversion"),
        ("optional.none().value()", "optional.none() dereference", "optional_none"),
        ("[].min()", "min called on empty list", "empty_list"),
        ("['a', 'b'].transformMapEntry(i, v, {'k': v})", "insert failed: key k already exists", "duplicate_key"),
        ("double('NaN') < 1.0", "NaN values cannot be ordered", "other"),
    ],
)
def test_an_evaluation_error_has_the_words_of_the_api_server(text: str, message: str, kind: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert (str(caught.value), caught.value.kind) == (message, kind)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 'a']", "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'x'}", "expected type 'int' but found 'string'"),
        ("1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("'a' in [1]", "found no matching overload for '@in' applied to '(string, list(int))'"),
        ("'abc'.x", "type 'string' does not support field selection"),
        ("1 && true", "expected type 'bool' but found 'int'"),
        ("[1].all(x, x)", "expected type 'bool' but found 'int'"),
        ("'abc'.map(c, c)", "expression of type 'string' cannot be range of a comprehension"),
        ("'a'.contains()", "found no matching overload for 'contains' applied to 'string.()'"),
        ("quantity('1').sign()", "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"),
        ("[1].existsOne(x, true)", "undeclared reference to 'existsOne'"),
        ("cel.bind(x, 1, x)", "undeclared reference"),
        ("math.greatest(1, 2)", "undeclared reference"),
        ("[int].map(t, t == int)", "reference to undefined type: t"),
        ("'a'.find('(')", "error parsing regexp"),
        ("'%d'.format(['a'])", "decimal clause can only be used on integers, was given string"),
        ("'%s'.format(['a', 'b'])", "too many arguments supplied to string.format (expected 1, got 2)"),
    ],
)
def test_what_the_api_server_refuses_to_compile_is_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(text, NAMES)
    assert message in str(caught.value)


def test_functions_of_stored_expressions_are_refused_in_new_ones() -> None:
    assert evaluate("[1, 2].includes(2)") is True
    with pytest.raises(CompileError, match="includes"):
        compile_expression("[1, 2].includes(2)", Declarations(new_expressions=True))
