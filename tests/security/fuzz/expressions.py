"""CEL: whatever is written, it is compiled, or refused with its place; evaluated it has a value or an error, within its budget.

Closures and generated code must say the same, for a verdict that depends on how often a rule was asked is a way around it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

from tests import builders
from tests.cel.test_generated import outcome
from tests.oracle.growing import Grower
from tests.oracle.words import VOCABULARIES
from webhook.cel import CompileError, Declarations, compile_expression, inspect_expression
from webhook.cel.program import source_of
from webhook.rules.declare import ADMISSION_ROOTS, declare

UNITS = 20_000
"""Budget of an evaluation: enough to go anywhere, and little enough that a loop does not take the time of many inputs."""
OUR_BUG = re.compile(r"internal error: \w+: ")
"""What is said of an exception that nobody expected; where cel-go itself panics, we say so too, in its words."""


class Target:
    """An expression under the declarations of each policy kind."""

    def __init__(self) -> None:
        policy = declare(ADMISSION_ROOTS, has_params=True)
        names = policy.variables | {"request", "namespaceObject"}
        self._declared = (
            policy,
            Declarations(variables=names, patch_types=True),
            replace(policy, new_expressions=True),
        )
        job = builders.job().gang(3).build()
        self._values: dict[str, Any] = {
            "object": job,
            "oldObject": None,
            "params": {"data": {"limit": "4"}},
            "namespaceObject": builders.namespace(),
            "request": builders.review(job)["request"],
        }

    def run(self, data: bytes) -> None:
        """Compile and evaluate one text, under declarations that its last bytes choose."""
        text = data.decode("utf-8", "replace")
        self._evaluate(text, self._declared[sum(data[-4:]) % len(self._declared)])

    def mutate(self, data: bytes, random: Random) -> bytes | None:
        """Put something in the place of a token, or say something new."""
        grower = Grower(random, random.choice(VOCABULARIES))
        if random.random() < 0.3:
            return grower.expression().encode("utf-8", "replace")
        text = data.decode("utf-8", "replace")
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 4, 16)))
        part = random.choice((text[random.randrange(len(text) + 1) :][:40], grower.expression()))
        return (text[:start] + part + text[end:]).encode("utf-8", "replace")

    def _evaluate(self, text: str, declared: Declarations) -> None:
        try:
            program = compile_expression(text, declared)
        except CompileError as error:
            placed(error, text)
            advised(text, declared)
            return
        interpreted = outcome(program.interpret, self._values, UNITS)
        assert not (isinstance(interpreted[0], tuple) and OUR_BUG.match(interpreted[0][1])), interpreted
        if program.generate():
            generated = outcome(program.evaluate, self._values, UNITS)
            assert generated[0] == interpreted[0], (
                f"{text!r}: {interpreted} interpreted, {generated} by {source_of(text, declared)}"
            )


def advised(text: str, declared: Declarations) -> None:
    """Take a text apart as advice does, which looks at wrong ones too."""
    try:
        for error in inspect_expression(text, declared).errors:
            placed(error, text)
    except CompileError as error:
        placed(error, text)


def placed(error: CompileError, text: str) -> None:
    """Refuse an error without words or with a place outside of the text."""
    assert error.message.strip(), "refused without a word"
    assert 1 <= error.line <= text.count("\n") + 1, f"line {error.line} of {text!r}"
    assert error.column >= 1, f"column {error.column} of {text!r}"
