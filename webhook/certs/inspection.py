"""Read what certificates say: facts for planning, and the checks that material must pass before it is served.

The checks are those of the client that matters, Go's crypto/x509 in the API server: it ignores common names,
refuses SHA-1 and wants a server's usage, and says none of it in words an operator would search for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.certs.material import Material, fingerprint, parse_certificates, parse_key
from webhook.errors import CertificateError

CHAIN_LIMIT = 5  # leaf, intermediates and root; public chains have three or four
ExtensionT = TypeVar("ExtensionT", bound=x509.ExtensionType)
RSA_MINIMUM_BITS, RSA_MAXIMUM_BITS = 2048, 8192  # Go refuses larger keys since CVE-2023-29409; smaller ones are broken


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFacts:
    """What planning needs to know of one certificate; times are aware and in UTC."""

    fingerprint: str
    subject: str
    not_before: datetime
    not_after: datetime
    names: frozenset[str] = frozenset()
    signed_by: str = ""
    """Fingerprint of the authority in the bundle that signed it; empty when none did."""

    def is_valid(self, now: datetime) -> bool:
        """Tell whether its time has come and not passed."""
        return self.not_before <= now <= self.not_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a set of material amounts to."""

    authorities: tuple[CertificateFacts, ...]
    """As in ``ca.crt``: the newest first."""
    leaf: CertificateFacts | None
    has_authority_key: bool
    """The key of ``authorities[0]`` is there, so leaves can be minted."""


def inspect_material(material: Material) -> Held:
    """Gather the facts; raises CertificateError when a part cannot be read or keys do not fit their certificates."""
    authorities = parse_certificates(material.ca, what="ca.crt")
    has_authority_key = bool(material.ca_key)
    if has_authority_key and parse_key(material.ca_key, what="ca.key").public_key() != authorities[0].public_key():
        raise CertificateError("ca.key does not belong to the first certificate in ca.crt")
    leaf = None
    if material.certificate or material.key:
        chain = _chain_with_key(material)
        leaf = _facts(chain[0], signers=(*chain[1:], *authorities), anchors=authorities)
    return Held(
        authorities=tuple(_facts(each, signers=authorities, anchors=authorities) for each in authorities),
        leaf=leaf,
        has_authority_key=has_authority_key,
    )


def check_material(material: Material, names: Iterable[str], now: datetime) -> Held:
    """Refuse material that callers would refuse, with the reason in words."""
    chain, anchors = _chain_with_key(material), parse_certificates(material.ca, what="ca.crt")
    leaf = chain[0]
    _check_leaf(leaf, now)
    missing = sorted(name for name in names if not _covers(_names(leaf), name))
    if missing:
        raise CertificateError(f"tls.crt is not valid for {', '.join(missing)}; its names are {', '.join(sorted(_names(leaf)))}")
    for anchor in anchors:
        _check_authority(anchor)
    reason = why_untrusted(material.certificate, material.ca, now)
    if reason:
        raise CertificateError(f"tls.crt: {reason}")
    return inspect_material(material)


def why_untrusted(certificate: bytes, bundle: bytes, now: datetime) -> str:
    """Say why a caller that trusts ``bundle`` would refuse ``certificate`` (both PEM); empty when it would not."""
    chain = parse_certificates(certificate, what="the served certificate")
    try:
        anchors = parse_certificates(bundle, what="the CA bundle")
    except CertificateError as error:  # whoever wrote it there: nobody can verify with it
        return str(error)
    signer = _anchor_of(chain[0], (*chain[1:], *anchors), anchors, now=now)
    if signer is not None:
        return _why_not_now(chain[0], now)
    if _anchor_of(chain[0], (*chain[1:], *anchors), anchors, now=None) is not None:
        return "an authority that signed it has expired or is not valid yet"
    return f"it was signed by {chain[0].issuer.rfc4514_string() or 'an unnamed authority'}, which the CA bundle does not hold"


def bundle_fingerprints(bundle: bytes) -> frozenset[str]:
    """Return what a caBundle trusts; an unreadable one trusts nothing."""
    try:
        return frozenset(fingerprint(each) for each in parse_certificates(bundle, what="the CA bundle"))
    except CertificateError:
        return frozenset()


def _chain_with_key(material: Material) -> tuple[x509.Certificate, ...]:
    chain = parse_certificates(material.certificate, what="tls.crt")
    if parse_key(material.key, what="tls.key").public_key() != chain[0].public_key():
        raise CertificateError("tls.key does not belong to the first certificate in tls.crt")
    return chain


def _facts(
    certificate: x509.Certificate, *, signers: tuple[x509.Certificate, ...], anchors: tuple[x509.Certificate, ...]
) -> CertificateFacts:
    signer = _anchor_of(certificate, signers, anchors, now=None)
    return CertificateFacts(
        fingerprint=fingerprint(certificate),
        subject=certificate.subject.rfc4514_string(),
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        names=_names(certificate),
        signed_by=fingerprint(signer) if signer else "",
    )


def _anchor_of(
    certificate: x509.Certificate,
    signers: tuple[x509.Certificate, ...],
    anchors: tuple[x509.Certificate, ...],
    *,
    now: datetime | None,
) -> x509.Certificate | None:
    """Walk up from a certificate to an anchor; ``now`` None: whatever the dates say."""
    current = certificate
    for _ in range(CHAIN_LIMIT):
        if current in anchors:
            return current
        found = [each for each in signers if _is_issued_by(current, each) and (now is None or not _why_not_now(each, now))]
        anchor = next((each for each in found if each in anchors), None)
        if anchor is not None or not found:
            return anchor
        current = found[0]
    return None


def _is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _check_leaf(leaf: x509.Certificate, now: datetime) -> None:
    reason = _why_not_now(leaf, now)
    if reason:
        _refuse(reason)
    if leaf.signature_hash_algorithm is not None and leaf.signature_hash_algorithm.name in {"sha1", "md5"}:
        _refuse(f"is signed with {leaf.signature_hash_algorithm.name}, which the API server refuses; use SHA-256")
    public = leaf.public_key()
    if isinstance(public, rsa.RSAPublicKey) and not RSA_MINIMUM_BITS <= public.key_size <= RSA_MAXIMUM_BITS:
        _refuse(f"has an RSA key of {public.key_size} bits; use {RSA_MINIMUM_BITS} to {RSA_MAXIMUM_BITS}, or ECDSA")
    if not _names(leaf):
        _refuse("has no subjectAltName, and the API server ignores the common name")
    usage = _extension(leaf, x509.ExtendedKeyUsage)
    if usage is not None and not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(usage):
        _refuse("may not be used for servers: its extendedKeyUsage lacks serverAuth")


def _check_authority(anchor: x509.Certificate) -> None:
    basic = _extension(anchor, x509.BasicConstraints)
    if basic is None or not basic.ca:
        raise CertificateError(f"ca.crt: {_title(anchor)} is not a certificate authority (basicConstraints CA:TRUE is missing)")


def _refuse(reason: str) -> NoReturn:
    raise CertificateError(f"tls.crt {reason}")


def _why_not_now(certificate: x509.Certificate, now: datetime) -> str:
    if now < certificate.not_valid_before_utc:
        return f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M:%SZ}; check the clocks"
    if now > certificate.not_valid_after_utc:
        return f"expired at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M:%SZ}"
    return ""


def _extension(certificate: x509.Certificate, kind: type[ExtensionT]) -> ExtensionT | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, ValueError):  # ValueError: an extension that cannot be decoded says nothing
        return None


def _names(certificate: x509.Certificate) -> frozenset[str]:
    names = _extension(certificate, x509.SubjectAlternativeName)
    if names is None:
        return frozenset()
    addresses = (str(each) for each in names.get_values_for_type(x509.IPAddress))
    return frozenset((*(each.lower() for each in names.get_values_for_type(x509.DNSName)), *addresses))


def _covers(names: frozenset[str], wanted: str) -> bool:
    wildcard = "*." + wanted.partition(".")[2]  # a star stands for exactly one label, RFC 6125 §6.4.3
    return wanted.lower() in names or wildcard.lower() in names


def _title(certificate: x509.Certificate) -> str:
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(common[0].value) if common else certificate.subject.rfc4514_string()
