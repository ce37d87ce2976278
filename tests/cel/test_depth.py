"""How deep an expression may be: to the level of what the API server's parser takes, and never out of our stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest

from webhook.cel import CompileError, Declarations, EvaluationError, compile_expression

NAMES = Declarations(variables=frozenset({"object"}))
DEEPEST: Mapping[str, tuple[int, Callable[[int], str]]] = {
    "ternaries": (249, lambda n: "".join(f"true ? {number} : " for number in range(n)) + "0"),
    "ternaries in the first branch": (248, lambda n: "(true ? " * n + "1" + " : 0)" * n),
    "ternaries in the test": (248, lambda n: "(" * n + "true" + " ? true : false)" * n),
    "parentheses": (249, lambda n: "(" * n + "1" + ")" * n),
    "lists": (249, lambda n: "[" * n + "1" + "]" * n),
    "maps": (249, lambda n: "{'a':" * n + "1" + "}" * n),
    "fields": (250, lambda n: "object" + ".a" * n),
    "indexes": (250, lambda n: "object" + "['a']" * n),
    "methods": (250, lambda n: "'a'" + ".trim()" * n),
    "negations": (249, lambda n: "!(" * n + "true" + ")" * n),
    "signs": (249, lambda n: "-(" * n + "object.n" + ")" * n),
    "terms of a sum": (251, lambda n: "+".join(["1"] * n)),
    "factors": (251, lambda n: "*".join(["1"] * n)),
    "comparisons in a row": (250, lambda n: "true" + " == true" * n),
    "comparisons in parentheses": (124, lambda n: "(true == " * n + "true" + ")" * n),
    "calls": (249, lambda n: "int(" * n + "1" + ")" * n),
    "and within or": (124, lambda n: "(true && (false || " * n + "true" + "))" * n),
    "loops": (249, lambda n: "[true].all(x, " * n + "true" + ")" * n),
}
"""What the API server's parser took at most, asked with 2 to 1,000 levels."""


@pytest.mark.parametrize(("most", "write"), DEEPEST.values(), ids=DEEPEST)
def test_as_deep_as_the_api_server_takes_it_and_not_deeper(most: int, write: Callable[[int], str]) -> None:
    program = compile_expression(write(most), NAMES)
    for way in (program.interpret, *([program.evaluate] if program.generate() else [])):
        with suppress(EvaluationError):  # and nothing else
            way({"object": {"n": 1}})
    for depth in (most + 1, 1_000, 10_000):
        with pytest.raises(CompileError, match=r"recursion limit|size exceeds"):
            compile_expression(write(depth), NAMES)


@pytest.mark.parametrize("text", ["!" * 1_000 + "true", "-" * 1_000 + "object.n", " && ".join(["true"] * 1_000)])
def test_what_is_long_and_not_deep_has_no_limit(text: str) -> None:
    assert compile_expression(text, NAMES).evaluate({"object": {"n": 1}})
