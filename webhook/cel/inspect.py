"""An expression taken apart but not planned: for those who give advice about it rather than evaluate it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from webhook.cel.check import Checker
from webhook.cel.declarations import Declarations
from webhook.cel.errors import CompileError
from webhook.cel.library import FUNCTIONS, MUTATION_FUNCTIONS
from webhook.cel.program import shared_environment
from webhook.cel.syntax import Node
from webhook.cel.types import DYN, Type
from webhook.cel.validate import validate


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What the checker says of an expression."""

    root: Node
    type: Type
    """Of the result; dyn where the expression is wrong."""
    references: frozenset[str]
    """Root variables that it reads."""
    errors: tuple[CompileError, ...] = ()
    """Every mistake, in the order of places; where there is none, the first that the validators find."""


def parse_expression(text: str) -> Node:
    """Return the syntax tree of an expression; raises CompileError where it has none."""
    try:
        return cast("Node", shared_environment().compile(text))  # celpy annotates trees; our parser builds our own
    except RecursionError:
        raise CompileError("expression is nested too deeply") from None


def inspect_expression(text: str, declarations: Declarations) -> Inspection:
    """Check an expression and keep all mistakes; raises CompileError only where it cannot be parsed."""
    return inspect_node(parse_expression(text), declarations)


def inspect_node(root: Node, declarations: Declarations) -> Inspection:
    """Check an expression that has been parsed; it may be checked again, under other declarations."""
    checker = Checker(declarations, MUTATION_FUNCTIONS if declarations.patch_types else FUNCTIONS)
    checker.check(root)
    errors = checker.errors
    if not errors:
        try:
            validate(root, checker)
        except CompileError as error:
            errors = (error,)
    found = DYN if errors else checker.type_of(root)
    return Inspection(root=root, type=found, references=frozenset(checker.references), errors=errors)
