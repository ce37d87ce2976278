"""A PolicyException as its author wrote it: decoded and checked in shape, not yet compiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from webhook.model.policies import NamedExpression, Origin

WHOLE_WORKLOAD = "podGroups"
"""The one rule that a WorkloadPolicy has for exceptions: that the object gets a group at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptedRule:
    """A rule of a policy that an exception is about."""

    name: str
    """As verdicts name it: ``validations[0]``, ``mutations[1]``, or ``podGroups``."""
    expression: str = ""
    """What the rule said when the exception was made; empty: not recorded. A rule that says something else is another one."""
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyException:
    """A rule that does not apply to some objects, until a day (``gangwarden.dev/v1alpha1``)."""

    name: str
    origin: Origin
    policy_kind: str
    """Such as ``ValidatingAdmissionPolicy``."""
    policy_name: str
    policy_origin: Origin
    """Where the policy is named."""
    rules: tuple[ExceptedRule, ...]
    match_conditions: tuple[NamedExpression, ...]
    """All must hold. They may read what match conditions of a policy read, and ``namespaceObject``."""
    owner: str
    """Who answers for it."""
    reason: str
    expires: datetime
    """With a time zone; from this moment on it does not apply any more."""
    annotations: dict[str, str] = field(default_factory=dict)
