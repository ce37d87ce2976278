"""What can go wrong with an expression: refused when it is compiled, or failed when it is evaluated.

Both derive from cel-python's own errors, so that code written against that package catches ours.
"""

from __future__ import annotations

from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError


class CompileError(CELParseError):
    """An expression that the API server would refuse to store, or that needs something we do not have."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message, line=line, column=column)
        self.message = message
        self.line: int = line
        """Line within the expression, from 1."""
        self.column: int = column
        """Column within that line in characters, from 1."""
        self.others: tuple[CompileError, ...] = ()
        """Further mistakes in the same expression, in the order of their places."""

    def __str__(self) -> str:
        """Return ``line:column: message``."""
        return f"{self.line}:{self.column}: {self.message}"


class EvaluationError(CELEvalError):
    """An expression that has no value for these inputs; ``&&``, ``||``, ``all`` and ``exists`` may absorb it.

    Where it stands in a tree, which its base sets anew for each, is never known here: that would double what an error costs.
    """

    tree = token = line = column = None

    def __init__(self, message: str, kind: str = "other") -> None:
        Exception.__init__(self, message)
        self.message = message
        self.kind = kind
        """One word for the cause: ``no_such_key``, ``no_overload``, ``overflow``, … as in cel-go's error table."""

    def bare(self) -> EvaluationError:
        """Return it without the frames that it came through.

        What is kept in one of them, or raised out of one that keeps it, must be bare: else both, and all that a review holds,
        wait for Python's search for cycles.
        """
        return type(self)(self.message, self.kind)

    def __str__(self) -> str:
        """Return the API server's wording, where we know it."""
        return self.message


class Overrun(EvaluationError):  # noqa: N818 - the name of an event; callers catch EvaluationError
    """A spent budget, a passed deadline, or a panic in Go. Nothing absorbs it: an exhausted evaluation has no value at all."""


def go_panic(what: str) -> Overrun:
    """Build the error of what makes Go panic: the API server ends the whole evaluation there, so nothing absorbs it."""
    return Overrun(f"internal error: {what}", "internal")


def no_overload(function: str = "", *arguments: str) -> EvaluationError:
    """Build the error of a call whose arguments no overload takes; ``arguments`` are type names."""
    if not function:
        return EvaluationError("no such overload", "no_overload")
    return EvaluationError(f"no such overload: {function}" + (f"({', '.join(arguments)})" if arguments else ""), "no_overload")


def no_operand(function: str, value: object) -> EvaluationError:
    """Build the error of an operator on a value of a wrong type.

    Text, durations and timestamps have methods in cel-go, so the call reaches them and fails there, without a name.
    """
    return no_overload("" if type(value).__name__ in ("str", "Duration", "Timestamp") else function)


def no_key(key: object) -> EvaluationError:
    """Build the error of a field or map key that is not there."""
    return EvaluationError(f"no such key: {key}", "no_such_key")
