"""What one validating policy says in one run, validation by validation.

Follows apiserver pkg/admission/plugin/policy/validating/validator.go. One thing differs and does not show: where the budget
suffices, a messageExpression is evaluated only where its validation has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from webhook.cel import EvaluationError, Program
from webhook.rules.cluster import UNDECIDED
from webhook.rules.compile import CompiledPolicy, CompiledValidation, NamedProgram
from webhook.rules.problems import RuleProblem
from webhook.rules.run import Run

MESSAGE_LIMIT_BYTES = 5 * 1024
"""Longest result of a messageExpression; a longer one counts as none (apiserver pkg/apis/cel/config.go)."""


class Outcome(Enum):
    """How one part of a policy ended, before the failurePolicy is asked."""

    PASSED = "passed"
    FAILED = "failed"
    BROKEN = "broken"
    """It could not be evaluated."""
    UNDECIDED = "undecided"
    """It asks for something that is not in the snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one validation says; ``rule`` is empty where the policy broke as a whole."""

    outcome: Outcome
    index: int = 0
    rule: str = ""
    message: str = ""
    reason: str = "Invalid"
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What one audit annotation says: a value, nothing (empty value), or that it broke."""

    key: str
    rule: str
    value: str = ""
    error: str = ""
    is_wrong_type: bool = False
    """A result that is no string; unlike other errors this one is never forgiven by failurePolicy Ignore."""


def decide(policy: CompiledPolicy, run: Run) -> tuple[Decision, ...]:
    """Evaluate the validations in order; where the shared budget runs out, the policy breaks as a whole."""
    try:
        decisions = [_decide_one(index, validation, run) for index, validation in enumerate(policy.validations)]
    except RuleProblem as problem:
        return (broken(problem),)
    try:
        return tuple(_tell(policy, decisions, run))
    except RuleProblem as problem:
        message = f"failed messageExpression: {problem}"
        judged = (Outcome.PASSED, Outcome.FAILED)
        return tuple(
            replace(each, outcome=Outcome.BROKEN, message=message, reason="Invalid") if each.outcome in judged else each
            for each in decisions
        )


def annotate(policy: CompiledPolicy, run: Run) -> tuple[Annotation, ...]:
    """Evaluate the audit annotations; raises RuleProblem where the shared budget runs out."""
    run.refill()
    return tuple(_annotate_one(index, source, run) for index, source in enumerate(policy.audit_annotations))


def broken(problem: RuleProblem) -> Decision:
    """Build the decision of a policy that could not be evaluated as a whole."""
    return Decision(outcome=Outcome.UNDECIDED if problem.undecided else Outcome.BROKEN, message=str(problem))


def _decide_one(index: int, validation: CompiledValidation, run: Run) -> Decision:
    def decision(outcome: Outcome, message: str = "", reason: str = "Invalid") -> Decision:
        rule = f"validations[{index}]"
        return Decision(outcome=outcome, index=index, rule=rule, message=message, reason=reason, field=validation.field)

    try:
        value = run.evaluate(validation.program)
    except EvaluationError as error:
        outcome = Outcome.UNDECIDED if error.kind == UNDECIDED else Outcome.BROKEN
        return decision(outcome, f"expression '{validation.program.text}' resulted in error: {error}")
    if value is True:
        return _passed(index, validation.field)
    if value is not False:
        message = f"expression '{validation.program.text}' resulted in error: must evaluate to bool, not {_type_name(value)}"
        return decision(Outcome.BROKEN, message)
    return decision(Outcome.FAILED, reason=validation.source.reason)


@lru_cache(maxsize=1024)
def _passed(index: int, field: str) -> Decision:
    """Return what most validations come to, made once."""
    return Decision(outcome=Outcome.PASSED, index=index, rule=f"validations[{index}]", field=field)


def _tell(policy: CompiledPolicy, decisions: Sequence[Decision], run: Run) -> Iterator[Decision]:
    """Give the failed ones their messages: the first of messageExpression, message and the expression that says something.

    The API server evaluates every messageExpression, and all of them fail together where the budget runs out. So those of
    what has passed are evaluated too, where that could happen.
    """
    messages = [validation.message for validation in policy.validations]
    could_fail = run.may_run_out_apart(sum(message is not None for message in messages))
    for decision, validation, message in zip(decisions, policy.validations, messages, strict=True):
        failed = decision.outcome is Outcome.FAILED
        composed = _composed_message(message, run) if message and (failed or could_fail) else ""
        if not failed:
            yield decision
            continue
        source = validation.source
        said = composed or source.message.strip() or f"failed expression: {source.expression.text.strip()}"
        yield replace(decision, message=said)


def _composed_message(program: Program, run: Run) -> str:
    try:
        value = run.evaluate_apart(program)
    except EvaluationError:  # the next fallback speaks; the verdict stands already
        return ""
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text.encode("utf-8", "surrogatepass")) <= MESSAGE_LIMIT_BYTES and "\n" not in text else ""


def _annotate_one(index: int, source: NamedProgram, run: Run) -> Annotation:
    def annotation(**what: Any) -> Annotation:
        return Annotation(key=source.name, rule=f"auditAnnotations[{index}]", **what)

    try:
        value = run.evaluate_apart(source.program)
    except EvaluationError as error:
        return annotation(error=f"expression '{source.program.text}' resulted in error: {error}")
    if value is None or isinstance(value, str):
        return annotation(value=(value or "").strip())
    return annotation(
        error=f"valueExpression '{source.program.text}' resulted in unsupported return type: {_type_name(value)}. "
        "Return type must be either string or null.",
        is_wrong_type=True,
    )


_TYPE_NAMES: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (lambda value: value is None, "null_type"),
    (lambda value: isinstance(value, bool), "bool"),
    (lambda value: isinstance(value, int), "int"),
    (lambda value: isinstance(value, float), "double"),
    (lambda value: isinstance(value, str), "string"),
    (lambda value: isinstance(value, bytes), "bytes"),
    (lambda value: isinstance(value, (list, tuple)), "list"),
    (lambda value: isinstance(value, dict), "map"),
)


def _type_name(value: Any) -> str:
    """Name the CEL type of a value, for a message."""
    return next((name for is_it, name in _TYPE_NAMES if is_it(value)), type(value).__name__)
