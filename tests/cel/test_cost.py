"""What evaluations cost, next to what the API server counts for the same expressions over the same objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, compile_expression, decode_tagged, types

STANDARD = frozenset({"object", "oldObject", "request", "params", "namespaceObject", "variables"})
TYPES = {
    "int": types.INT, "uint": types.UINT, "double": types.DOUBLE, "string": types.STRING, "bool": types.BOOL,
    "bytes": types.BYTES,
    "timestamp": types.TIMESTAMP, "duration": types.DURATION, "list": types.list_of(types.DYN),
    "map": types.map_of(types.STRING, types.DYN),
}  # fmt: skip
DIFFERENT = {
    "comparisons/eq_literal/not_eq_dyn_bytes_null": "empty text, lists and maps cost 0 to compare there, 1 here",
    "comparisons/eq_literal/not_eq_dyn_list_null": "as above",
    "comparisons/eq_literal/not_eq_dyn_map_null": "as above",
    "comparisons/eq_literal/not_eq_dyn_string_null": "as above",
    "comparisons/ne_literal/not_ne_list_of_list": "lists within lists are counted here",
    "optionals/optionals/optional_chaining_9": "has() of what an optional does not hold",
    "optionals/optionals/map_optional_select_has": "as above",
    "string_ext/format/list support for string": "lists within lists are counted here",
    "parse/repeat/unary_neg": "an even number of signs vanishes in cel-go's parser",
}
"""Cases that have a value, and a cost that is another one here."""


def costs(shared: Path, name: str) -> Iterator[tuple[dict[str, Any], int, bool]]:
    """Yield every case that ran to an end in the API server, with our cost and whether there was a value."""
    for case in map(json.loads, (shared / f"corpora/cel/{name}.jsonl").read_text(encoding="utf-8").splitlines()):
        if case["cost"] is None or case.get("nocheck"):
            continue
        variables = {key: decode_tagged(value) for key, value in (case.get("vars") or {}).items()}
        declared = {key: TYPES[type_] for key, type_ in (case.get("types") or {}).items() if type_ in TYPES}
        budget = Budget(10_000_000)
        try:
            program = compile_expression(
                case["expr"], Declarations(variables=STANDARD | set(variables), types=declared, patch_types=True)
            )
            program.evaluate({**dict.fromkeys(STANDARD), **variables}, budget)
        except CompileError:
            continue
        except EvaluationError:
            yield case, budget.spent, False
        else:
            yield case, budget.spent, True


@pytest.mark.parametrize("name", ["policies", "coverage", "celspec"])
def test_what_has_a_value_costs_what_the_api_server_counts(name: str, shared_dir: Path) -> None:
    different = {case["id"]: (spent, case["cost"]) for case, spent, ok in costs(shared_dir, name) if ok and spent != case["cost"]}
    assert different.keys() <= DIFFERENT.keys(), different
    assert all(abs(spent - cost) <= 1 for spent, cost in different.values()), different


@pytest.mark.parametrize("name", ["coverage", "celspec"])
def test_what_fails_costs_about_what_the_api_server_counts(name: str, shared_dir: Path) -> None:
    failed = [(case["cost"], spent, case["expr"]) for case, spent, ok in costs(shared_dir, name) if not ok]
    assert [row for row in failed if not row[0] / 3 <= row[1] <= row[0] * 3 + 1] == []


def spend(text: str, limit: int = 1_000_000, /, **variables: Any) -> int | str:
    """Return what an expression costs, or the kind of its error."""
    budget = Budget(limit)
    try:
        compile_expression(text, Declarations(variables=STANDARD)).evaluate({**dict.fromkeys(STANDARD), **variables}, budget)
    except EvaluationError as error:
        return error.kind
    return budget.spent


NUMBERS = list(range(1_000))


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("object.all(x, x >= 0)", 2 + 5 * 1_000),
        ("object.map(x, x)", 2 + 13 * 1_000),
        ("object.all(x, x < 500)", 2 + 5 * 501 + 2),
        ("lists.range(900000).size()", 900_000 + 11 + 1),
    ],
)
def test_a_limit_is_met_to_the_unit(text: str, cost: int) -> None:
    assert spend(text, object=NUMBERS) == cost
    assert spend(text, cost, object=NUMBERS) == cost
    assert spend(text, cost - 1, object=NUMBERS) == "cost"


@pytest.mark.parametrize(
    "text",
    [
        "object.all(x, object.all(y, object.all(z, x + y + z >= 0)))",
        "object.map(x, object.map(y, object))",
        "object.map(x, 'xxxxxxxxxx').join().replace('x', object.map(x, 'xxxxxxxxxx').join()).replace('x', '123').size() == 0",
        "lists.range(1000000).size() == 0",
        "object.sort() == object && lists.range(1000).sort() == object",
        "object.map(x, string(x)).join().matches(object.map(x, string(x) + 'abcdefghijk').join('|'))",
        "object.all(x, object.all(y, '%.65535e'.format([1.0]) != ''))",
        "object.distinct() == object",
        "sets.contains(object, object)",
    ],
)
def test_what_grows_out_of_all_proportion_is_stopped(text: str) -> None:
    assert spend(text, object=NUMBERS) == "cost"


def test_lists_that_hold_each_other_are_not_compared_forever() -> None:
    left, right = [1], [1]
    for _ in range(40):
        left, right = [left, left], [right, right]
    assert spend("object == params", object=left, params=right) == "cost"


def test_text_that_doubles_is_stopped_before_it_fills_the_memory() -> None:
    text = "object"
    for _ in range(40):
        text = f"[{text}].map(x, x + x)[0]"
    assert spend(text, object="a") == "cost"


@pytest.mark.parametrize(
    "text",
    ["object.map(x, params.replace('a', 'bb')).size() == 50", "object.all(x, params.matches('a+'))", "object.sort() == object"],
)
def test_what_costs_under_a_tenth_of_a_limit_is_not_stopped(text: str) -> None:
    spent = spend(text, object=NUMBERS[:50], params="a" * 1_000)
    assert isinstance(spent, int)
    assert spent < 100_000


def test_a_constant_pattern_is_compiled_once_whatever_it_stands_for() -> None:
    assert spend(r"'abc'.findAll('\\pL').size() == 3", object=NUMBERS) == spend(
        "'abc'.findAll('abc').size() == 1", object=NUMBERS
    )
