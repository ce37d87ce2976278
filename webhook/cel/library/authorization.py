"""Kubernetes' access checks: ``authorizer.group('batch').resource('jobs').check('create').allowed()``."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.authorization import AccessRoot, GroupCheck, PathCheck, ResourceCheck
from webhook.cel.declare import overload


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
    overload("(pathcheck).check(string) -> decision", PathCheck.check),
    overload("(resourcecheck).check(string) -> decision", ResourceCheck.check),
    overload("(decision).allowed() -> bool", lambda decision: decision.answer.allowed),
    overload("(decision).reason() -> string", lambda decision: decision.answer.reason),
    overload("(decision).errored() -> bool", lambda decision: decision.answer.error != ""),
    overload("(decision).error() -> string", lambda decision: decision.answer.error),
)
