"""The policy set in force: swapped as a whole, or kept with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from webhook.admission.policyset import PolicySet
from webhook.errors import PolicyError, PolicySetError


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapped:
    """A new set is in force."""

    revision: str
    policies: int
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    """How long loading took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The old set stays in force."""

    revision: str
    because: str
    """One line per error."""
    errors: tuple[PolicyError, ...] = ()
    seconds: float = 0.0
    """How long loading took."""


Swap: TypeAlias = Swapped | Kept


class PolicyStore:
    """Holds the policy set that requests see. Readers take ``current`` once per request."""

    def __init__(self, initial: PolicySet) -> None:
        self.current = initial

    def offer(self, candidate: PolicySet | PolicySetError) -> Swap:
        """Put a new set in force by one assignment; a failed one leaves the old rules as they are (fail static)."""
        if isinstance(candidate, PolicySetError):
            return Kept(revision=self.current.revision, because=str(candidate), errors=candidate.each())
        self.current = candidate
        count = len(candidate.validating) + len(candidate.mutating) + len(candidate.workload)
        return Swapped(revision=candidate.revision, policies=count, warnings=candidate.warnings)
