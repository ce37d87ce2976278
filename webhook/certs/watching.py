"""What one process has seen of the webhook configurations: who trusts what, and for how long already.

API servers hear of a new caBundle a moment after it is written, each for itself. So a leaf of a new authority waits until
the authority has been seen in every configuration for a while. The time counts by a clock that no operator sets, and only
as far as looks lie close together: what happened between distant ones, nobody has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from webhook.certs.inspection import bundle_fingerprints, signer_of, why_not_now, why_untrusted
from webhook.certs.material import parse_certificates
from webhook.certs.places import LiveBundle
from webhook.certs.renewal import Sight


class TrustWatch:
    """Remembers for how long every configuration has trusted an authority."""

    def __init__(self, *, credit_seconds: float, enough_seconds: float) -> None:
        """``credit_seconds``: how much time two looks can prove, a little more than lies between them as a rule.

        ``enough_seconds``: what is waited for. Where a configuration was written between two looks, by whomever, nobody
        knows what it trusted meanwhile: then at least one credit is missing again.
        """
        self._credit_seconds, self._enough_seconds = credit_seconds, enough_seconds
        self._looked, self._versions = 0.0, frozenset[tuple[str, str]]()
        self._seconds: dict[str, float] = {}

    def look(self, live: Sequence[LiveBundle], at: float) -> Mapping[str, float]:
        """Take in what is registered at a moment in seconds; return for how long each authority has been trusted by all."""
        gap, self._looked = min(max(at - self._looked, 0.0), self._credit_seconds), at
        before, self._versions = self._versions, frozenset((each.place, each.version) for each in live)
        most = float("inf") if before == self._versions else max(self._enough_seconds - self._credit_seconds, 0.0)
        trusted = [bundle_fingerprints(each.bundle) for each in live]
        everywhere = frozenset.intersection(*trusted) if trusted else frozenset()
        known = self._seconds
        self._seconds = {one: min(known[one] + gap, most) if one in known else 0.0 for one in everywhere}
        return self._seconds


def sight_of(
    live: Sequence[LiveBundle],
    trusted_seconds: Mapping[str, float],
    *,
    served: str | None,
    certificate: bytes,
    ca: bytes,
    now: datetime,
) -> Sight:
    """Gather what a plan must know. ``certificate``: the PEM of what is ``served``; ``ca``: the PEM of who may vouch for it."""
    return Sight(
        live=tuple(bundle_fingerprints(each.bundle) for each in live if not each.foreign),
        foreign=tuple(bundle_fingerprints(each.bundle) for each in live if each.foreign),
        trusted_seconds=trusted_seconds,
        served=served,
        served_by=signer_of(certificate, ca) if certificate else "",
        serves_well=bool(certificate) and not why_distrusted(certificate, live, now),
    )


def why_distrusted(certificate: bytes, live: Iterable[LiveBundle], now: datetime) -> str:
    """Say why an API server would refuse a certificate (PEM) now; empty when it would not."""
    dated = why_not_now(parse_certificates(certificate, what="the served certificate")[0], now)
    return dated or next((reason for each in live if (reason := why_untrusted(certificate, each.bundle, now))), "")
