"""Kubernetes' access checks: ``authorizer.group('batch').resource('jobs').check('create').allowed()``."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.authorization import AccessRoot, Decision, GroupCheck, PathCheck, ResourceCheck
from webhook.cel.budget import Budget
from webhook.cel.declare import overload

_CHECK_COST = 350_000
"""What a check costs: an authorizer may be a webhook of its own (apiserver pkg/cel/library/cost.go)."""


def _check(budget: Budget, target: PathCheck | ResourceCheck, verb: str) -> Decision:
    budget.spend(_CHECK_COST)
    return target.check(verb)


def _narrow(part: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    return lambda target, value: target.narrow(**{part: value})


_PARTS = {
    "subresource": "subresource",
    "namespace": "namespace",
    "name": "name",
    "fieldSelector": "field_selector",
    "labelSelector": "label_selector",
}

OVERLOADS = (
    overload("(authorizer).path(string) -> pathcheck", AccessRoot.path),
    overload("(authorizer).group(string) -> groupcheck", AccessRoot.group),
    overload("(authorizer).serviceAccount(string, string) -> authorizer", AccessRoot.service_account),
    overload("(groupcheck).resource(string) -> resourcecheck", GroupCheck.resource),
    *(overload(f"(resourcecheck).{name}(string) -> resourcecheck", _narrow(part)) for name, part in _PARTS.items()),
    overload("(pathcheck).check(string) -> decision", _check, metered=True),
    overload("(resourcecheck).check(string) -> decision", _check, metered=True),
    overload("(decision).allowed() -> bool", lambda decision: decision.answer.allowed),
    overload("(decision).reason() -> string", lambda decision: decision.answer.reason),
    overload("(decision).errored() -> bool", lambda decision: decision.answer.error != ""),
    overload("(decision).error() -> string", lambda decision: decision.answer.error),
)
