"""Advice about how a policy behaves towards people and clusters: what it says, fails on and reaches, and where it can run."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.advice.subject import Role, Subject
from webhook.admission.advice.telling import at_part, at_policy
from webhook.model.diagnostics import Diagnostic
from webhook.model.policies import FailurePolicy, ResourceRule


def conduct_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at a policy as a whole."""
    yield from _messages(subject)
    yield from _reach(subject)
    if subject.uses_cluster:
        yield at_policy(subject, "not-exportable", "reads cluster, which the API server does not have: Gangwarden must be asked")
    elif subject.kind == "WorkloadPolicy":
        yield at_policy(subject, "not-exportable", "the API server makes no groups: a WorkloadPolicy is for Gangwarden alone")


def _messages(subject: Subject) -> Iterator[Diagnostic]:
    for part in subject.having(Role.VALIDATION) if subject.policy else ():
        assert subject.policy is not None  # noqa: S101 - asked for in the line above
        validation = subject.policy.validations[part.index]
        if not validation.message and validation.message_expression is None:
            message = (
                f"validations[{part.index}] has neither message nor messageExpression: people are shown the expression; "
                "name the field, the value and what to do"
            )
            yield at_part(subject, part, "no-message", message)


def _reach(subject: Subject) -> Iterator[Diagnostic]:
    head = subject.head
    ignores = head.failure_policy is FailurePolicy.IGNORE
    if ignores and subject.policy is not None and subject.bindings and subject.denies:
        message = "denies, but failurePolicy is Ignore: what it cannot evaluate is let pass; write Fail if it guards something"
        yield at_policy(subject, "ignored-failures", message)
    if not ignores and not head.match_conditions and any(map(_is_everything, head.match_constraints.resource_rules)):
        message = (
            "matches every resource and fails closed: a slip in it stops leases, nodes and its own repair with everything else; "
            "name groups and resources, or set failurePolicy to Ignore"
        )
        yield at_policy(subject, "matches-everything", message)


def _is_everything(rule: ResourceRule) -> bool:
    return "*" in rule.api_groups and bool({"*", "*/*"} & set(rule.resources)) and not rule.resource_names
