"""How advice is told: as diagnostics with the place of a policy, a binding or a part of an expression."""

from __future__ import annotations

from webhook.admission.advice.catalog import ADVICE
from webhook.admission.advice.subject import Part, Subject
from webhook.cel.syntax import Node
from webhook.model.diagnostics import Diagnostic, Level
from webhook.model.policies import Binding


def at_policy(subject: Subject, rule: str, message: str, *, level: Level | None = None) -> Diagnostic:
    """Tell something about a policy as a whole."""
    origin = subject.head.origin
    return Diagnostic(
        level=level or ADVICE[rule].level,
        rule=rule,
        message=message,
        file=origin.path,
        line=origin.line,
        subject=f"{subject.kind} {subject.head.name}",
    )


def at_node(subject: Subject, part: Part, node: Node, rule: str, message: str, *, level: Level | None = None) -> Diagnostic:
    """Tell something about a part of an expression."""
    return at_place(subject, part, node.place, rule, message, level=level)


def at_part(subject: Subject, part: Part, rule: str, message: str, *, level: Level | None = None) -> Diagnostic:
    """Tell something about a whole expression."""
    return at_place(subject, part, (1, 1), rule, message, level=level)


def at_place(
    subject: Subject, part: Part, place: tuple[int, int], rule: str, message: str, *, level: Level | None = None
) -> Diagnostic:
    """Tell something about a place within an expression, given by line and column in its text."""
    line, column = part.expression.place(*place)
    return Diagnostic(
        level=level or ADVICE[rule].level,
        rule=rule,
        message=message,
        file=part.expression.origin.path,
        line=line,
        column=column,
        subject=f"{subject.kind} {subject.head.name}",
    )


def at_binding(binding: Binding, rule: str, message: str) -> Diagnostic:
    """Tell something about a binding."""
    return Diagnostic(
        level=ADVICE[rule].level,
        rule=rule,
        message=message,
        file=binding.origin.path,
        line=binding.origin.line,
        subject=f"{binding.policy_kind}Binding {binding.name}",
    )


def shown(path: tuple[str, ...]) -> str:
    """Write a path as an author would: fields with dots, other keys in brackets."""
    text = ""
    for step in path:
        text += step if step.startswith("[") else f".{step}" if step.isidentifier() else f"['{step}']"
    return text.removeprefix(".")
