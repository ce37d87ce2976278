"""What the room's door promises: compile, evaluate, budgets, threads, and errors that name their place."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import celpy
import pytest
from celpy.celparser import CELParser
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, HostObject, compile_expression

NAMES = Declarations(variables=frozenset({"object", "oldObject", "params"}))


def evaluate(text: str, declarations: Declarations = NAMES, /, **variables: Any) -> Any:
    return compile_expression(text, declarations).evaluate(variables, Budget(100_000))


class Lazy(Mapping[str, Any]):
    """A mapping that makes its values when they are asked for."""

    def __init__(self, **makers: Any) -> None:
        self.makers = makers

    def __getitem__(self, key: str) -> Any:
        return self.makers[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


class Cluster(HostObject):
    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return [method, *arguments]


def test_a_program_is_a_runner_of_cel_python() -> None:
    program = compile_expression("1 + 1", NAMES)
    assert isinstance(program, celpy.Runner)
    assert program.evaluate({}, Budget(10)) == 2


def test_a_program_knows_which_root_variables_it_reads() -> None:
    program = compile_expression("object.a.all(params, params > 1) && oldObject == null", NAMES)
    assert program.references == {"object", "oldObject"}


def test_compiling_leaves_cel_python_as_it_was() -> None:
    compile_expression("1", NAMES)
    assert CELParser.CEL_PARSER is None
    assert sys.getrecursionlimit() >= 2500


def test_errors_are_those_of_cel_python() -> None:
    with pytest.raises(celpy.CELParseError):
        compile_expression("1 +", NAMES)
    with pytest.raises(celpy.CELEvalError):
        evaluate("object.a", object={})


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("object.a &&\n  objct.b", 2, 3, "did you mean 'object'"),
        ("object.a +\n", 2, 1, "unexpected end"),
        ("object.a.startWith('x')", 1, 19, "did you mean 'startsWith'"),
        ("'abc'.matches('[')", 1, 15, "invalid matches argument"),
        ("duration('1 day')", 1, 10, "invalid duration argument"),
        ("[1, 'a']", 1, 5, "expected type 'int' but found 'string'"),
        ("1 == 1.0", 1, 3, "no matching overload"),
        ("1 ? 2 : 3", 1, 3, "no matching overload"),
        ("has(object)", 1, 5, "invalid argument to has() macro"),
        ("object.a.all(x.y, true)", 1, 15, "must be a simple name"),
        ("9223372036854775808", 1, 1, "invalid int literal"),
        ("int('1a')", 1, 4, "type conversion error"),
    ],
)
def test_a_compile_error_names_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(text, NAMES)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)


def test_a_closed_root_refuses_other_fields() -> None:
    closed = Declarations(variables=frozenset({"variables"}), fields={"variables": frozenset({"containers"})})
    with pytest.raises(CompileError, match="undefined field 'container'; did you mean 'containers'"):
        compile_expression("variables.container", closed)


def test_a_lazy_variable_is_made_only_when_it_is_read() -> None:
    lazy = Lazy(cheap=lambda: 1, dear=lambda: pytest.fail("was read"))
    assert evaluate("object.cheap == 1 || object.dear == 2", object=lazy)


def test_an_error_within_a_lazy_variable_is_an_error_of_the_expression() -> None:
    def fail() -> Any:
        raise EvaluationError("no such key: x", "no_such_key")

    with pytest.raises(EvaluationError, match="no such key: x"):
        evaluate("object.broken == 1", object=Lazy(broken=fail))


def test_a_method_of_a_host_is_called_with_values() -> None:
    declared = Declarations(variables=frozenset({"object"}), hosts={"cluster": {"group": (2,)}})
    assert evaluate("cluster.group(object.name, 1 + 1)", declared, object={"name": "a"}, cluster=Cluster()) == ["group", "a", 2]


@pytest.mark.parametrize("text", ["cluster.group(1)", "cluster.nope(1, 2)", "cluster.group"])
def test_a_host_is_used_as_declared(text: str) -> None:
    with pytest.raises(CompileError):
        compile_expression(text, Declarations(hosts={"cluster": {"group": (2,)}}))


@pytest.mark.parametrize(
    "text",
    [
        "object.all(a, object.all(b, object.all(c, a + b + c >= 0)))",
        "object.map(a, object.map(b, object))",
        "object.exists(a, object.map(b, object.map(c, c))[0][0] == 'x') || true",
        "lists.range(1000000).size() == 1",
        "object.map(a, 'xxxxx').join().replace('x', object.map(a, 'xxxxx').join()).replace('x', 'xxxxxxxxxxx').size() == 1",
    ],
)
def test_a_budget_ends_any_expression_and_nothing_absorbs_that(text: str) -> None:
    program = compile_expression(text, NAMES)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"object": list(range(200))}, Budget(5_000))
    assert caught.value.kind == "cost"


def test_a_deadline_ends_an_expression() -> None:
    program = compile_expression("object.all(a, object.all(b, a + b >= 0))", NAMES)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"object": list(range(1_000))}, Budget(100_000_000, lambda: True))
    assert caught.value.kind == "deadline"


def test_one_budget_may_serve_many_evaluations() -> None:
    budget = Budget(2_000)
    program = compile_expression("object.all(a, a >= 0)", NAMES)
    for _ in range(3):
        assert program.evaluate({"object": list(range(100))}, budget)
    assert budget.spent == 3 * (1 + 100 * 5 + 1)


@pytest.mark.parametrize(
    "text",
    [
        " && ".join(["object.a == 1"] * 400),
        "".join(f"[1].all(x{i}, " for i in range(40)) + "true" + ")" * 40,
        "object.a == 2 ? 0 : " * 200 + "1",
        " + ".join(["1"] * 240),
        "(" * 200 + "1" + ")" * 200,
    ],
    ids=["400 terms", "40 nested loops", "200 conditionals", "240 summands", "200 parentheses"],
)
def test_wide_and_deep_expressions_evaluate(text: str) -> None:
    assert evaluate(text, object={"a": 1}) is not None


@pytest.mark.parametrize(
    "text",
    [" + ".join(["1"] * 5_000), "-(" * 5_000 + "1" + ")" * 5_000, "[" * 5_000 + "]" * 5_000, "a." * 5_000 + "b", "1" * 100_001],
    ids=["sums", "negations", "lists", "fields", "length"],
)
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(CompileError):
        compile_expression(text, Declarations(variables=frozenset({"a"})))


def test_deep_data_is_an_error_and_no_crash() -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(EvaluationError):
        evaluate("object == params", object=deep, params=[deep[0]])


def test_threads_share_a_program() -> None:
    program = compile_expression("object.items.all(i, object.items.exists(j, i <= j)) && object.name == object.items[0]", NAMES)
    objects = [{"name": n, "items": [n, n + 1, n + 2]} for n in range(2)] + [{"name": -1, "items": [1]}]

    def judge(turn: int) -> bool:
        return program.evaluate({"object": objects[turn % 3]}, Budget(10_000)) is (turn % 3 != 2)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(judge, range(2_000)))


def test_threads_compile_at_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda n: compile_expression(f"{n} + {n}", NAMES), range(100)))
    assert [program.evaluate({}, Budget(10)) for program in programs] == [2 * n for n in range(100)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "c"]) | st.text(max_size=2), inner, max_size=4)
    ),
    max_leaves=20,
)
PROGRAMS = [
    compile_expression(text, NAMES)
    for text in [
        "object.a.b == object.c",
        "object.all(x, x.a > 1 || has(x.b))",
        "object.a + object.b",
        "string(object.a) + string(object)",
        "object.map(k, object[k]).exists(v, v in object)",
        "object.matches(object) || object.a.split('/')[0].startsWith(object.b)",
        "object.sort() == object || object.a.sum() > object.b.min()",
        "object[0] < object[1] ? -object[0] : object[1] * object[0] % object[2]",
        "quantity(object.a).isLessThan(quantity(object.b))",
        "timestamp(object.a) - timestamp(object.b) > duration(object.c)",
        "'%s %d'.format([object.a, object.b]) == object.c",
        "object.?a[?object.b].optMap(x, x + 1).orValue(object.a.indexOf(object.b))",
    ]
]


@settings(max_examples=300, deadline=None)
@given(data=JSON, program=st.sampled_from(PROGRAMS))
def test_whatever_the_object_there_is_a_value_or_an_evaluation_error(data: Any, program: Any) -> None:
    with suppress(EvaluationError):
        program.evaluate({"object": data}, Budget(10_000))


@settings(max_examples=300, deadline=None)
@given(data=JSON, program=st.sampled_from(PROGRAMS))
def test_no_evaluation_error_covers_up_a_bug_of_ours(data: Any, program: Any) -> None:
    kind = ""
    try:
        program.evaluate({"object": data}, Budget(10_000))
    except EvaluationError as error:
        kind = error.kind
    assert kind != "internal"


def test_a_host_that_is_not_there_is_an_evaluation_error() -> None:
    declared = Declarations(hosts={"cluster": {"group": (1,)}})
    with pytest.raises(EvaluationError, match="'cluster' is not available here"):
        evaluate("cluster.group('a')", declared)
