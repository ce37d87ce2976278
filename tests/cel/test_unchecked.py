"""Expressions that nobody checked: a call with too few or too many arguments has an error of CEL, and no exception of Python."""

from __future__ import annotations

import pytest

from tests.cel.test_generated import outcome
from webhook.cel import CompileError, Declarations, compile_expression
from webhook.cel.program import FUNCTIONS

UNCHECKED = Declarations(variables=frozenset({"object"}), checked=False)
CALLED = sorted(name for name, function in FUNCTIONS.items() if name.replace(".", "").isidentifier() and function.overloads)


@pytest.mark.parametrize("name", CALLED)
def test_a_call_with_any_number_of_arguments_is_answered_in_words(name: str) -> None:
    texts = [f"{name}({', '.join(['object'] * count)})" for count in range(5)]
    texts += [f"object.{text}" for text in texts if "." not in name]
    for text in texts:
        for answer in answers(text):
            assert "Error: " not in answer, f"{text}: {answer}"


def answers(text: str) -> tuple[str, ...]:
    """Return what both backends say; a call without arguments is one of constants, which is answered when it is compiled."""
    try:
        program = compile_expression(text, UNCHECKED)
    except CompileError as error:
        return (error.message,)
    said = [outcome(one, {"object": ["a"]}, 20_000)[0] for one in (program.interpret, program.evaluate)]
    assert said[0] == said[1], text
    return (str(said[0]),)


@pytest.mark.parametrize(
    "text",
    [
        "sum()",
        "size()",
        "'a'.size(1)",
        "matches()",
        "duration()",
        "{'a': object}.?a.hasValue(1)",
        "{'a': object}.?a.orValue()",
        "{'a': object}.?a.or()",
    ],
)
def test_a_number_of_arguments_that_nothing_takes_is_no_overload(text: str) -> None:
    assert all("no such overload" in answer for answer in answers(text))
