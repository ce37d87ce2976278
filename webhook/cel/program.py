"""Compiling an expression, and the compiled form: a Runner of cel-python's whose work is done by our closures."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache, lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple, cast

import celpy
import lark
from celpy.celparser import CELParser

from webhook.cel.budget import DEFAULT_UNITS, Budget
from webhook.cel.check import Checker
from webhook.cel.declarations import Declarations
from webhook.cel.errors import CompileError, EvaluationError
from webhook.cel.frames import Closure
from webhook.cel.generate import generate, write
from webhook.cel.library import FUNCTIONS, MUTATION_FUNCTIONS
from webhook.cel.parse import KubernetesParser, shared_parser
from webhook.cel.plan import Planner
from webhook.cel.pricing import Prices
from webhook.cel.syntax import Node
from webhook.cel.types import Type
from webhook.cel.uncheck import Resolver
from webhook.cel.validate import validate

GENERATED_AFTER = 60
"""Evaluations after which a program gets generated code. That takes about as long as a hundred evaluations save, and what has
been evaluated so often will be again."""

_STAGGER = 64
_TREES_KEPT, _TREE_LIMIT = 128, 4_096
"""Of how many programs, and up to which length of text, the checked trees are kept for generation: a few megabytes, and
enough for a command that judges by some policies."""
_PARSED_KEPT = 64
"""How many parsed texts are kept: policies of one set say the same again and again, such as where the Job stands."""
_CONSTRUCTION, _GENERATION = Lock(), Lock()


class _Tree(NamedTuple):
    """A checked tree, and what it was checked by."""

    node: Node
    checker: Checker
    declarations: Declarations


_trees: OrderedDict[tuple[str, int], _Tree] = OrderedDict()
"""The newest trees, by text and identity of the declarations; those are kept, so that no others take their identity."""


class Program(celpy.Runner):
    """An expression, ready to be evaluated any number of times, by any number of threads.

    It starts with closures. Those that are evaluated often get generated code, for which their text is parsed and checked once
    more, but for the newest: to keep all trees would take several times the memory.
    """

    def __init__(self, environment: celpy.Environment, node: Node, *, text: str, checker: Checker) -> None:
        super().__init__(environment, lark.Tree("expr", []))  # the tree is not kept: its closures are all that evaluation needs
        planner = Planner(checker, Prices(node, checker))
        run = planner.plan(node)
        # no method: generated code, which falls back to it, would know its program, and that wait for the search for cycles
        self._closures = partial(_interpret, run, planner.due, (None,) * planner.slots)
        self._declarations = checker.declarations
        self._until_generated = GENERATED_AFTER + len(text) % _STAGGER  # not all of a policy set within one review
        self.text = text
        self.references = frozenset(checker.references)
        """Root variables that the expression reads, and methods of host objects that it calls, as ``cluster.group``."""
        self.type: Type = checker.type_of(node)
        """Static type of the result."""

    def evaluate(self, activation: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """Return the value for these variables; raises EvaluationError, and nothing else, where there is none.

        The value is for reading only: it may be part of an input, or a constant of the expression. What the evaluation cost
        is what it took from the budget.
        """
        self._until_generated -= 1  # threads may lose a count, which does not matter
        if self._until_generated == 0:
            self.generate()
        return self.interpret(activation, budget)

    def generate(self) -> bool:
        """Replace ``evaluate`` by generated code; False where there is none for this program, or another thread is at it."""
        if not _GENERATION.acquire(blocking=False):
            self._until_generated = _STAGGER
            return False
        try:
            made = generate(*_checked_again(self.text, self._declarations), self._closures)
        except Exception:  # noqa: BLE001 - whatever is wrong with the fast path, there is the other one
            made = None
        finally:
            _GENERATION.release()
        if made is not None:
            self.__dict__["evaluate"] = made
        return made is not None

    def interpret(self, activation: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """Evaluate with closures, which say what generated code must come to."""
        return self._closures(activation, budget)

    def observed(self, see: Callable[[Any], None]) -> Program:
        """Return this program as one that shows each value to ``see``; an evaluation that fails has none."""

        def evaluate(activation: Mapping[str, Any], budget: Budget | None = None) -> Any:
            value = self.evaluate(activation, budget)
            see(value)
            return value

        twin = copy(self)
        twin.__dict__["evaluate"] = evaluate
        return twin

    def metered(self, see: Callable[[int], None]) -> Program:
        """Return this program as one that shows to ``see`` what each evaluation took from its budget, failed ones too."""

        def evaluate(activation: Mapping[str, Any], budget: Budget | None = None) -> Any:
            budget = budget or Budget(DEFAULT_UNITS)
            before = budget.spent
            try:
                return self.evaluate(activation, budget)
            finally:
                see(budget.spent - before)

        twin = copy(self)
        twin.__dict__["evaluate"] = evaluate
        return twin

    def __repr__(self) -> str:
        return f"Program({self.text!r})"


class KubernetesEnvironment(celpy.Environment):
    """cel-python's Environment with our parser and our Runner.

    Two of its effects reach the whole process, so construction contains them. It fills ``CELParser.CEL_PARSER`` with a
    parser of its own grammar (a tenth of a second for nothing): that variable is lent ours and then put back. And it
    sets the recursion limit to 2500 whatever it was: a higher limit is restored, and 2500 is kept, because trees of
    ``DEPTH_LIMIT`` levels are checked with up to four Python frames a level.
    """

    def __init__(self) -> None:
        with _CONSTRUCTION:
            before, limit = CELParser.CEL_PARSER, sys.getrecursionlimit()
            CELParser.CEL_PARSER = shared_parser()
            try:
                super().__init__(runner_class=Program)
            finally:
                CELParser.CEL_PARSER = before
                sys.setrecursionlimit(max(limit, sys.getrecursionlimit()))
        self.cel_parser = KubernetesParser()


@cache
def shared_environment() -> KubernetesEnvironment:
    """Make the environment at first use: importing this package changes nothing in the process."""
    return KubernetesEnvironment()


def _interpret(
    run: Closure, price: int, blank: tuple[None, ...], activation: Mapping[str, Any], budget: Budget | None = None
) -> Any:
    if budget is None:
        budget = Budget(DEFAULT_UNITS)
    try:
        budget.spend(price)
        return run([activation, budget, *blank])
    except EvaluationError:
        raise
    except RecursionError:
        raise EvaluationError("evaluation nested too deeply", "depth") from None
    except Exception as error:
        raise EvaluationError(f"internal error: {type(error).__name__}: {error}", "internal") from error


def compile_expression(text: str, declarations: Declarations) -> Program:
    """Compile an expression; raises CompileError with the place of the mistake."""
    try:
        node, checker = _check(text, declarations)
        program = Program(shared_environment(), node, text=text, checker=checker)
    except RecursionError:
        raise CompileError("expression is nested too deeply") from None
    if len(text) <= _TREE_LIMIT:
        _trees[text, id(declarations)] = _Tree(node, checker, declarations)
        if len(_trees) > _TREES_KEPT:
            _trees.popitem(last=False)
    return program


def source_of(text: str, declarations: Declarations) -> str:
    """Return the Python that is generated for an expression; raises NotGenerated where there is none."""
    return write(*_check(text, declarations))[0]


def _checked_again(text: str, declarations: Declarations) -> tuple[Node, Checker]:
    """Return the tree that was kept, which is not needed again, or make it anew."""
    kept = _trees.pop((text, id(declarations)), None)
    return _check(text, declarations) if kept is None else (kept.node, kept.checker)


@lru_cache(maxsize=_PARSED_KEPT)
def _parse(text: str) -> Node:
    """Parse an expression once for all policies that say the same; nobody writes into a tree, and its checkers are apart."""
    return cast("Node", shared_environment().compile(text))  # celpy annotates trees; our parser builds our own


def _check(text: str, declarations: Declarations) -> tuple[Node, Checker]:
    node = _parse(text) if len(text) <= _TREE_LIMIT else _parse.__wrapped__(text)
    functions = MUTATION_FUNCTIONS if declarations.patch_types else FUNCTIONS
    checker = Checker(declarations, functions) if declarations.checked else Resolver(declarations, functions)
    checker.check_all(node)
    if declarations.checked:
        validate(node, checker)
    return node, checker
