"""One meaning: generated code and closures come to the same value, the same error and the same cost, whatever they are given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cel.test_cost import STANDARD, TYPES
from webhook.cel import (
    Budget,
    CompileError,
    Declarations,
    EvaluationError,
    HostObject,
    Program,
    compile_expression,
    decode_tagged,
    encode_tagged,
)
from webhook.cel.generate import write
from webhook.cel.program import _TREE_LIMIT, _TREES_KEPT, GENERATED_AFTER, _trees, source_of
from webhook.cel.values import NONE, Duration, KeyedMap, Optional, UInt

NAMES = Declarations(variables=frozenset({"object", "oldObject", "params"}))
LIMIT = 10_000_000


def outcome(evaluate: Callable[..., Any], activation: Mapping[str, Any], limit: int) -> tuple[Any, int]:
    """Return the value or the error, and what it cost."""
    budget = Budget(limit)
    try:
        value = json.dumps(encode_tagged(evaluate(activation, budget)), sort_keys=True)
    except EvaluationError as error:
        return (error.kind, error.message), budget.spent
    return value, budget.spent


def generated(text: str, declarations: Declarations = NAMES) -> Program:
    program = compile_expression(text, declarations)
    assert program.generate(), text
    return program


def agree(program: Program, activation: Mapping[str, Any]) -> None:
    """Compare both ways of evaluating, with enough budget and with limits around the cost."""
    expected, cost = outcome(program.interpret, activation, LIMIT)
    assert outcome(program.evaluate, activation, LIMIT) == (expected, cost), program.text
    for limit in {cost, max(cost - 1, 0), cost // 2}:
        wanted = outcome(program.interpret, activation, limit)[0]
        assert outcome(program.evaluate, activation, limit)[0] == wanted, (program.text, limit)


def cases(shared: Path, name: str) -> Iterator[tuple[Program, dict[str, Any]]]:
    for case in map(json.loads, (shared / f"corpora/cel/{name}.jsonl").read_text(encoding="utf-8").splitlines()):
        variables = {key: decode_tagged(value) for key, value in (case.get("vars") or {}).items()}
        declared = {key: TYPES[type_] for key, type_ in (case.get("types") or {}).items() if type_ in TYPES}
        declarations = Declarations(
            variables=STANDARD | set(variables), types=declared, patch_types=True, checked=not case.get("nocheck")
        )
        try:
            yield compile_expression(case["expr"], declarations), {**dict.fromkeys(STANDARD), **variables}
        except CompileError:
            continue


@pytest.mark.parametrize("name", ["policies", "coverage", "celspec"])
def test_both_agree_on_every_expression_of_the_suites(name: str, shared_dir: Path) -> None:
    for program, activation in cases(shared_dir, name):
        assert program.generate(), program.text
        agree(program, activation)


class Lazy(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values_ = values

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["", "a", "b", "a/b", "12", "1Gi", "x" * 30])
    | st.sampled_from([2**63 - 1, -(2**63), UInt(1), b"a", Duration(5), NONE, Optional(1), Optional({"a": 1})])
)  # fmt: skip
KEYS = st.sampled_from(["a", "b", "c"])
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3).map(Lazy)
        | st.lists(st.tuples(st.integers(-1, 1) | st.booleans() | KEYS, inner), max_size=3).map(KeyedMap)
    ),
    max_leaves=15,
)
ITEM = st.fixed_dictionaries({}, optional=dict.fromkeys("abc", SCALARS | DATA)) | st.fixed_dictionaries(
    {
        "a": st.integers(-2, 3) | st.just("a"),
        "b": st.sampled_from(["a", "x" * 30, 1, True]),
        "c": st.lists(st.integers(0, 2), max_size=3),
    }
)
SHAPED = DATA | ITEM | st.lists(ITEM | SCALARS, max_size=5) | st.lists(ITEM, max_size=5)
"""What the expressions below are written for, more often than not."""
TEXTS = [
    "object.a.b == params.c",
    "object.a != params && object.b == null",
    "object == params || object != params",
    "object.a == 'a' || object.b == 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' || object.c == 1 || object.c == true",
    "object.all(x, x.a == 1 && x.b != 'a' && has(x.c))",
    "object.all(x, !has(x.a) || x.a.startsWith('a') || params.exists(p, p == x))",
    "object.exists(x, has(x.a) && x.a || x.b)",
    "object.exists(x, params.exists(y, x.a == y.a && y.b.all(z, z == x)))",
    "object.exists_one(x, x == params)",
    "object.map(x, x.a)",
    "object.map(x, x > 1, x + 1)",
    "object.filter(x, has(x.a) && x.a == params).size() == params",
    "object.filter(x, x in params).map(x, [[x], [x.a, x]])",
    "object.all(i, x, i < 2 || x == params)",
    "object.transformList(k, v, v != null, k)",
    "object.transformMap(k, v, v == params)",
    "object.?a.b.orValue(params) == object.?c.orValue(1)",
    "object.?a.?b.hasValue() || object[?params].hasValue()",
    "object.?a.optMap(x, x + 1).orValue(0) > 1",
    "object.?a[0].optMap(x, params).or(params.?b)",
    "has(object.a.b) ? object.a.b : has(object.a) ? params : 1 > 0 ? object.c : 2",
    "object.a[params]",
    "object[0] == object[params.a] && params[1].b",
    "'a' in object && object.a in params && params in object && 1 in object",
    "object in ['a', 'b'] || object in [1, 2] || object in []",
    "object + params == object - params || object * params > 0",
    "object.a < params && object.b >= 1 || 2 < object.c",
    "size(object) > 1 && object.size() == params.size() && size(object.a) < 3",
    "int(object.a) + size(string(object.b)) == 3",
    "!object.a && !(object.b || params)",
    "object.a.contains('a') && object.b.endsWith(params) && object.a.matches('^[a-z]+$') && object.b.find('[0-9]') == '1'",
    "quantity(object.a).isLessThan(quantity('2Gi')) && quantity(object.b) == quantity(params)",
    "object.a + '-' + object.b == params || object.a + object.b == 'aa'",
    "object.sort() == params.distinct() || object.sum() > params.max()",
    "type(object) == type(params) || string(object) == dyn(params)",
    "object.a.split('/').map(x, x.lowerAscii()).join('-') == params",
    "[object, params].exists(x, x == object.a) && {'a': object}.a == object",
    "(object.a ? params : object).b == 1",
    "object.a.all(x, object.b.all(y, params.all(z, x == y || y == z || x.a == z.a)))",
    # what is read once for all turns of a loop, and what is known of it
    "object.all(x, params.all(p, p.a == x.a && params.exists(q, q.b == x.b && q.a <= object[0].a)))",
    "object.all(x, !has(x.a) || params.a.b == x.b || x.c.exists(y, y == params.c || y < params.a))",
    "object.exists(x, x.b.startsWith(params.b) || x.a.endsWith(params.a) || x.b.startsWith('a') && x.b.endsWith(''))",
    "object.all(x, x.c.all(y, y == x.a || x.b.startsWith(params[0].b)) || params.exists(p, p.b.startsWith(x.b)))",
    "object.map(x, int(x.a)).all(n, n <= params.a && n >= int(params.b))",
    "object.map(x, params.a).filter(y, y == params.a || y > params.b.c).size() > 0",
    "object.map(x, [params.a, x.a]).exists_one(y, y[0] == params.a && params.b.all(b, b == params.a))",
    "object.all(k, v, params.exists(l, w, k >= l || v.a == w.a || params.b == v))",
    "object.exists(x, params.a.exists(a, a == x.a) ? params.b == x.b : params.c.exists(c, c == x.c))",
    "object.all(x, params.?a.b.orValue(x.a) == x.a || x.?a.optMap(a, params.b == a).orValue(false))",
    "object.all(x, x.b.matches('^[a-z]+') && params.a.matches('^[a-z]([a-z]*[0-9])?$') || x.b.matches(params.b))",
    # what is read once for several terms
    "has(object.a) && has(object.a.b) && has(object.a.b.c) && object.a.b.c == params.a.b && object.a.b.c != params.a.b",
    "object.a.b == 'a' || has(object.a.b) || object.a.b.startsWith('a') || size(object.a.b) > 1 || object.a.b + 'b' == params",
    "(has(object.a) ? object.a.b : params.a) == object.a.b || object.a.b in params || object.a.b < params.a",
    "object.all(x, size(x) < 3 && size(x.b) < size(params.b)) || size(object.a) == size(params)",
    "object.exists(x, quantity(x.a).isLessThan(quantity(params.a)) || quantity(x.b).isGreaterThan(quantity('1')))",
]


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [generated(text) for text in TEXTS]


@settings(max_examples=500, deadline=None)
@given(index=st.integers(0, len(TEXTS) - 1), data=SHAPED, params=SHAPED)
def test_both_agree_whatever_they_are_given(programs: list[Program], index: int, data: Any, params: Any) -> None:
    agree(programs[index], {"object": data, "params": params})


@settings(max_examples=100, deadline=None)
@given(index=st.integers(0, len(TEXTS) - 1), data=SHAPED)
def test_both_agree_where_variables_are_missing_or_lazy(programs: list[Program], index: int, data: Any) -> None:
    agree(programs[index], {"object": data})
    agree(programs[index], Lazy({"object": data, "params": [data]}))


LONG = [{"a": "x" * (n % 40), "b": n, "c": list(range(n % 7))} for n in range(300)]


@pytest.mark.parametrize("text", TEXTS)
def test_both_agree_over_long_lists_and_at_every_limit(text: str) -> None:
    program = generated(text)
    activation = {"object": LONG, "params": [*LONG[200:210], "a"]}
    cost = outcome(program.interpret, activation, LIMIT)[1]
    agree(program, activation)
    for limit in (cost * part // 10 for part in range(1, 12)):
        assert outcome(program.evaluate, activation, limit)[0] == outcome(program.interpret, activation, limit)[0]


VALUES = [
    "1u", "1.0", "true", "null", "b'a'", "'a'", "type(1)", "duration('1s')", "timestamp('2026-01-01T00:00:00Z')",
    "optional.of('a')", "quantity('1')", "url('https://a/b')", "ip('::1')", "cidr('10.0.0.0/8')", "semver('1.2.3')",
    "format.named('uuid').value()", "{1: 2}", "{'a': 1}", "['a']", "Object.spec{a: 'a'}", "JSONPatch{op: 'test', path: '/a'}",
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_both_agree_about_values_of_every_class(text: str) -> None:
    declared = Declarations(variables=NAMES.variables, patch_types=True)
    value = compile_expression(text, declared).evaluate({})
    for asked in (
        "size(object) == 1", "object.startsWith('a')", "object.endsWith(params)", "'a'.startsWith(object)", "int(object) == 1",
        "object == params", "object <= params", "has(object.a)", "object.a == object.a", "object in ['a']", "object in params",
        "quantity(object).isLessThan(object)", "[1, 2].all(x, object <= x || object == x)", "params.all(p, p == object)",
    ):  # fmt: skip
        program = generated(asked)
        for other in (value, "a", "", [value], 1, {"a": value}):
            agree(program, {"object": value, "params": other})


def test_what_a_loop_does_not_change_is_read_in_its_first_turn() -> None:
    program = generated("object.all(x, params.a.b.exists(p, p == x.c))")
    reads: list[str] = []

    class Watched(Lazy):
        def __getitem__(self, key: str) -> Any:
            reads.append(key)
            return super().__getitem__(key)

    params = Watched({"a": {"b": [0, 1, 2]}})
    assert program.evaluate({"object": [{"c": n % 3} for n in range(50)], "params": params}) is True
    assert reads == ["a"]
    assert program.evaluate({"object": [], "params": None}) is True
    assert reads == ["a"]


class Cluster(HostObject):
    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return {"members": [method, *arguments]}


def test_both_call_hosts() -> None:
    declared = Declarations(variables=frozenset({"object"}), hosts={"cluster": {"group": (1,)}})
    program = generated("cluster.group(object.name).members.exists(m, m == object.name)", declared)
    agree(program, {"object": {"name": "a"}, "cluster": Cluster()})
    agree(program, {"object": {"name": "a"}, "cluster": {}})
    agree(program, {"object": {}, "cluster": Cluster()})


def test_a_deadline_ends_generated_code() -> None:
    program = generated("object.all(a, object.all(b, a + b >= 0))")
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"object": list(range(1_000))}, Budget(100_000_000, lambda: True))
    assert caught.value.kind == "deadline"


@pytest.mark.parametrize(
    "text",
    [
        "object.all(x, x.b.startsWith(params))",
        "object.all(x, x.c.all(y, y >= 0 && x.b != 'z'))",
        "!object.exists(x, x.c.exists(y, y == params))",
        "object.all(x, x.b == 'a' && quantity(x.a).isLessThan(quantity('9Gi')) || has(x.c))",
        "object.all(x, object[0].c.exists(y, y == x.c[0]) && x.b.matches('a'))",
        "object.map(x, int(x.a)).exists_one(n, n == 1)",
    ],
)
def test_a_long_loop_looks_at_the_clock(text: str) -> None:
    program = generated(text)
    activation = {"object": [{"a": "2", "b": "a", "c": [1]}] * 2_000, "params": "a"}
    program.evaluate(activation, Budget(LIMIT))
    with pytest.raises(EvaluationError) as caught:
        program.evaluate(activation, Budget(LIMIT, lambda: True))
    assert caught.value.kind == "deadline"


@pytest.mark.parametrize("text", ["x.a != 2", "x.a != 2 && params.all(p, p != x)", "x.b.startsWith('a')", "x.c.all(y, y > 0)"])
def test_both_agree_where_a_list_holds_an_object_several_times(text: str) -> None:
    program = generated(f"object.all(x, {text})")
    fine, other, bad = ({"a": n, "b": letter, "c": [n]} for n, letter in ((1, "a"), (1, "a"), (2, "b")))
    for items in (
        [fine, fine, bad],
        [fine, bad, fine, bad],
        [bad, bad],
        [bad],
        [fine, other, other, fine, bad, fine],
        [fine] * 3,
    ):
        agree(program, {"object": items, "params": [[], other, 1]})
        agree(program, {"object": [{**item, "c": [1, 1, 1, 0, 1, 0]} for item in items], "params": []})


def test_a_program_gets_generated_code_once_it_is_used_much() -> None:
    program = compile_expression("object.a == 1", NAMES)
    for _ in range(GENERATED_AFTER):
        assert program.evaluate({"object": {"a": 1}}, Budget(10))
    for _ in range(GENERATED_AFTER):
        assert program.evaluate({"object": {"a": 1}})
    assert program.evaluate.__name__ == "evaluate"
    assert "evaluate" in vars(program)


def test_code_is_the_same_from_a_kept_tree_and_from_one_made_anew() -> None:
    text = "object.items.filter(i, i > 1).map(i, {'a': [i]}).exists(e, e.a[0] == object.n) ? 'x' : string(object.n)"
    compile_expression(text, NAMES)
    kept = _trees[text, id(NAMES)]
    assert write(kept.node, kept.checker)[0] == source_of(text, NAMES)
    _trees.clear()
    assert generated(text).evaluate({"object": {"items": [2], "n": 3}}) == "3"


def test_trees_are_kept_for_few_programs_of_moderate_length_and_used_once() -> None:
    _trees.clear()
    programs = [compile_expression(f"object.a == {index}", NAMES) for index in range(_TREES_KEPT + 5)]
    assert len(_trees) == _TREES_KEPT
    assert programs[-1].generate()
    assert programs[0].generate()  # one whose tree is gone
    assert len(_trees) == _TREES_KEPT - 1
    long = f"object.a == '{'x' * _TREE_LIMIT}'"
    compile_expression(long, NAMES)
    assert (long, id(NAMES)) not in _trees


def test_threads_may_all_be_the_one_that_generates() -> None:
    program = compile_expression("object.items.all(i, object.items.exists(j, i <= j)) && object.name == object.items[0]", NAMES)
    objects = [{"name": n, "items": [n, n + 1, n + 2]} for n in range(2)] + [{"name": -1, "items": [1]}]

    def judge(turn: int) -> bool:
        return program.evaluate({"object": objects[turn % 3]}, Budget(10_000)) is (turn % 3 != 2)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(judge, range(4 * GENERATED_AFTER)))
    assert "evaluate" in vars(program)


@pytest.mark.parametrize(
    "text",
    [
        " && ".join(["object.a == 1"] * 400),
        "".join(f"[1].all(x{i}, " for i in range(40)) + "true" + ")" * 40,
        "object.a == 2 ? 0 : " * 200 + "1",
        " + ".join(["1"] * 240),
        " || ".join([f"(object.a == {i} && object.b != {i})" for i in range(300)]),
        "[" * 60 + "object.a" + "]" * 60,
    ],
    ids=["400 terms", "40 nested loops", "200 conditionals", "240 summands", "300 pairs", "60 brackets"],
)
def test_what_is_too_deep_or_too_wide_stays_with_closures(text: str) -> None:
    program = compile_expression(text, NAMES)
    program.generate()
    agree(program, {"object": {"a": 1, "b": 2}})


def test_an_expression_cannot_write_code() -> None:
    text = """object['"] = 1\\n  raise SystemExit #'] == "'''\\\\" && object.`a-b` == "\\u0000{0}{x}%s" """
    agree(generated(text), {"object": {'"] = 1\n  raise SystemExit #': "'''\\", "a-b": "\0{0}{x}%s"}})


GOLDEN = {
    "object.a.b <= params.c": """\
def evaluate(A, B=None):
  if B is None: B = BUDGET(1000000)
  L = B.left
  try:
    r1 = A['object']
    r2 = A['params']
    c = 6
    v3 = r1['a']['b']
    v4 = r2['c']
    v = (v3 <= v4 if type(v3) is type(v4) is int else ORDER5(v3, v4, '_<=_') <= 0)
    B.left = n = B.left - c
    if n < B.look_at: B.look()
    return v
  except Exception as error:
    return RECOVER(A, B, L, error)""",
    "object.items.exists(x, has(x.a) && x.a.startsWith(params.b))": """\
def evaluate(A, B=None):
  if B is None: B = BUDGET(1000000)
  L = B.left
  try:
    r1 = A['object']
    T = L - B.look_at
    c = 3
    l2 = r1['items']
    if type(l2) is not list: l2 = KEYS3(l2)
    t6 = l2
    v5 = True
    k8 = 0
    v12 = None
    for x4 in t6:
        c += 9
        k8 += 1
        if c > T: T = RENEW(B, c, MARGIN)
        v10 = False
        while True:
            if type(x4) is not dict: raise LEAVE
            if not ('a' in x4):
                c -= 4
                break
            v11 = x4['a']
            if type(v11) is not str: raise LEAVE
            if v12 is None:
                v12 = A['params']['b']
            c += (len(v12) + 9) // 10
            if c > T: T = RENEW(B, c, MARGIN)
            if not (v11.removeprefix(v12) is not v11 or not v12):
                break
            v10 = True
            break
        if v10:
            break
        pass
    else:
        v5 = False
    if v5:
        if k8 < len(l2): c += 3
    v = v5
    B.left = n = B.left - c
    if n < B.look_at: B.look()
    return v
  except Exception as error:
    return RECOVER(A, B, L, error)""",
}
"""Expressions, and what is generated for them."""


@pytest.mark.parametrize("text", GOLDEN)
def test_generated_code_reads_as_follows(text: str) -> None:
    assert source_of(text, NAMES) == GOLDEN[text]


@pytest.mark.parametrize("text", ["null['x']", "dyn(null).x", "dyn(1)['x']", "true ? dyn('a')['x'] : 1"])
def test_a_step_into_a_constant_is_written_so_that_python_does_not_warn(text: str) -> None:
    program = compile_expression(text, Declarations())
    assert program.generate()  # a warning is an error here, and there would be no code
    with pytest.raises(EvaluationError):
        program.evaluate({})
