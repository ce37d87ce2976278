"""What we answer: findings of single rules, and the closed unions of outcomes that a review can have."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from webhook.model.access import AccessQuestion
from webhook.model.objects import Object


class Verdict(StrEnum):
    """What one policy says of one object."""

    ALLOW = "allow"
    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"
    ERROR = "error"
    """A rule could not be evaluated and its policy ignores failures: admitted, and said so. Never a silent allow."""
    SKIP = "skip"
    """No policy matched, or a rule needs a snapshot that was not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionUse:
    """A PolicyException by which a rule was not applied."""

    name: str
    owner: str
    reason: str
    expires: str
    """RFC 3339, in UTC."""
    instead: str
    """What the rule would have done: deny, warn, audit, patch or group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one policy under one binding said; ``rule`` names the part that decided, such as ``validations[0]``."""

    policy: str
    binding: str = ""
    rule: str = ""
    verdict: Verdict
    message: str = ""
    field: str = ""
    """Path in the object, such as ``spec.completions``, where the policy tells it."""
    reason: str = "Invalid"
    """A metav1.StatusReason."""
    code: int = 422
    """The HTTP status that goes with ``reason``."""
    exception: ExceptionUse | None = None
    """Why the verdict is allow, where the rule itself says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What goes with any answer: shown to the caller, written to the audit log, counted."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: dict[str, str] = field(default_factory=dict)
    is_plain: bool = field(default=False, compare=False)
    """Every finding allows, without an exception, and there is nothing else: the same trail goes with many answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The object may pass as it is."""

    trail: Trail = field(default_factory=Trail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """The object may pass, changed."""

    object: Object
    """The whole object after the change."""
    patch: tuple[Object, ...]
    """RFC 6902 operations that lead from the object of the request to ``object``."""
    trail: Trail = field(default_factory=Trail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The object may not pass."""

    message: str
    reason: str = "Invalid"
    code: int = 422
    trail: Trail = field(default_factory=Trail)


Answer: TypeAlias = Admitted | Patched | Denied


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What goes back to the API server, and what it says: the latter for the log line and the counters."""

    document: Object
    """An ``admission.k8s.io/v1 AdmissionReview`` with its ``response``."""
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Nothing yet: the rules must first know who may do what."""

    questions: tuple[AccessQuestion, ...]
