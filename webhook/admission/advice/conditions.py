"""Advice about conditions and validations that always come to the same, by themselves or for what the policy matches."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.advice.narrowing import dotted, when, when_all
from webhook.admission.advice.nodes import roots_of, walk
from webhook.admission.advice.subject import EXCEPTION, Part, Role, Subject
from webhook.admission.advice.telling import at_node, at_part
from webhook.admission.advice.walk import Walker
from webhook.cel import CompileError, Declarations, EvaluationError, compile_expression
from webhook.cel.syntax import Select
from webhook.model.diagnostics import Diagnostic


def condition_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at match conditions and validations."""
    constants = {part: value for part in subject.parts if (value := constant_of(part)) is not None}
    for part in subject.having(Role.CONDITION):
        if part in constants:
            told = "always true: leave it out" if constants[part] else "always false, so the policy never applies"
            yield at_part(subject, part, "constant-condition", f"match condition '{part.name}' is {told}")
    for part in subject.having(Role.VALIDATION):
        if constants.get(part) is True:
            yield at_part(subject, part, "constant-condition", f"validations[{part.index}] is always true")
    if subject.kind != EXCEPTION:
        yield from _namespaces(subject)
    yield from _contradictions(subject, [part for part in subject.having(Role.CONDITION) if part not in constants])


def constant_of(part: Part) -> bool | None:
    """Return what an expression comes to that reads nothing; None for any other."""
    if part.role not in (Role.CONDITION, Role.VALIDATION) or roots_of(part.root):
        return None
    try:
        value = compile_expression(part.expression.text, Declarations()).evaluate({})
    except (CompileError, EvaluationError):
        return None
    return value if isinstance(value, bool) else None


def _namespaces(subject: Subject) -> Iterator[Diagnostic]:
    """Look for match conditions that read the namespace: the API server does not hand it to them (matchconditions/matcher.go)."""
    for part in subject.having(Role.CONDITION):
        for node in walk(part.root):
            if isinstance(node, Select) and not node.test and not node.optional and dotted(node.operand) == "namespaceObject":
                message = (
                    "namespaceObject is null in match conditions, so this fails; use a namespaceSelector, or ask in a validation"
                )
                yield at_node(subject, part, node, "null-object", message)


def _contradictions(subject: Subject, conditions: list[Part]) -> Iterator[Diagnostic]:
    walker = Walker(subject)
    scope = walker.scope
    for index, part in enumerate(conditions):
        if not when_all([one.root for one in conditions[: index + 1]], walker.start(), scope).cases:
            alone = not when(part.root, walker.start(), scope, holds=True).cases
            why = "for what the rules match" if alone else "where the conditions before it hold"
            message = f"match condition '{part.name}' is never true {why}, so the policy never applies"
            yield at_part(subject, part, "never-applies", message)
            return
    for part in subject.having(Role.VALIDATION):
        context = walker.context_of(part)
        if constant_of(part) is None and context.cases and not when(part.root, context, scope, holds=False).cases:
            message = f"validations[{part.index}] is always true for what the policy matches, so it never denies"
            yield at_part(subject, part, "constant-condition", message)
