"""What the API server says of a bearer token (TokenReview), and of one bound to a webhook configuration (KEP-6060)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

ATTESTED_GROUPS = "attestation.authentication.kubernetes.io/admissionReviewAPIGroups"
"""Key in a user's extra: the API group about which a token may ask a webhook; ``*`` is all, and the core group only in it."""
BOUND_KINDS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
"""To what such a token may be bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAnswer:
    """Who holds a token; without ``authenticated`` nobody, for a reason that may be told in ``error``."""

    authenticated: bool
    user: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    error: str = ""


TokenTold: TypeAlias = TokenAnswer | str
"""What came of a question: the answer, or why there is none."""


def bound_name_key(kind: str) -> str:
    """Return under which key of a user's extra the name of the configuration stands to which its token is bound."""
    return f"authentication.kubernetes.io/{kind}-name"
