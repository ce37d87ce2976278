"""Judge client certificates: which authorities vouch for callers, and under which names.

OpenSSL verifies a certificate once, at the handshake, and a connection of the API server then lives for hours. So each
call asks again, as kube-apiserver itself does (apiserver pkg/authentication/request/x509): has it expired meanwhile, and
does an authority of today's file vouch for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from webhook.certs.inspection import is_issued_by, names_of, why_not_now
from webhook.certs.material import parse_certificates

KEPT_LIMIT = 1_000
"""Certificates whose verdict is kept; API servers are few, and each has one at a time."""


class ClientAuthority:
    """The authorities whose client certificates are accepted, and the names that are; no names: any."""

    def __init__(self, bundle: bytes, names: Iterable[str] = (), *, what: str = "the client CA file") -> None:
        """``bundle`` is PEM; raises CertificateError for what cannot be read. ``what`` names it in errors."""
        self.anchors = parse_certificates(bundle, what=what)
        self.names = frozenset(names)
        self.bundle = "".join(each.public_bytes(Encoding.PEM).decode() for each in self.anchors)
        self._kept: dict[bytes, tuple[x509.Certificate | None, str]] = {}

    def why_refused(self, certificate: bytes, now: datetime, *, verified: bool) -> str:
        """Say why a client certificate (DER) is not accepted; empty when it is.

        ``verified``: the handshake has verified its whole chain by these very authorities. Where it has not, because they
        have changed since, one of them must have signed it itself: intermediates are sent at a handshake only.
        """
        found, reason = self._kept.get(certificate) or self._keep(certificate)
        if found is None:
            return reason
        if not verified and not any(is_issued_by(found, anchor) and not why_not_now(anchor, now) for anchor in self.anchors):
            return "no authority in the client CA file signed it"
        return reason or why_not_now(found, now)

    def _keep(self, certificate: bytes) -> tuple[x509.Certificate | None, str]:
        if len(self._kept) >= KEPT_LIMIT:
            self._kept.clear()
        self._kept[certificate] = judged = self._judge(certificate)
        return judged

    def _judge(self, certificate: bytes) -> tuple[x509.Certificate | None, str]:
        try:
            found = x509.load_der_x509_certificate(certificate)
        except ValueError:
            return None, "it cannot be read"
        given = {str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)} | names_of(found)
        if self.names and not self.names & given:
            return found, f"its names are {', '.join(sorted(given)) or 'none'}, and none of them is allowed"
        return found, ""
