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
from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.certs.material import Material, fingerprint, parse_certificates, parse_key
from webhook.errors import CertificateError

CHAIN_LIMIT = 5  # leaf, intermediates and root; public chains have three or four
ExtensionT = TypeVar("ExtensionT", bound=x509.ExtensionType)
RSA_MINIMUM_BITS, RSA_MAXIMUM_BITS = 2048, 8192  # Go refuses larger keys since CVE-2023-29409; smaller ones are broken

_CURVES = {"secp256r1", "secp384r1", "secp521r1"}  # Go parses P-224 as well, which is too short; no others


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
    _check_chain(chain)
    missing = sorted(name for name in names if not _covers(names_of(leaf), name))
    if missing:
        raise CertificateError(
            f"tls.crt is not valid for {', '.join(missing)}; its names are {', '.join(sorted(names_of(leaf)))}"
        )
    for anchor in anchors:
        _check_authority(anchor, "ca.crt")
    reason = why_untrusted(material.certificate, material.ca, now)
    if reason:
        mend = "; append the missing intermediates to tls.crt, or the authority to ca.crt" if "does not hold" in reason else ""
        raise CertificateError(f"tls.crt: {reason}{mend}")
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
        return why_not_now(chain[0], now)
    if _anchor_of(chain[0], (*chain[1:], *anchors), anchors, now=None) is not None:
        return "an authority that signed it has expired or is not valid yet"
    return f"it was signed by {chain[0].issuer.rfc4514_string() or 'an unnamed authority'}, which the CA bundle does not hold"


def facts_of(pem: bytes, *, what: str) -> tuple[CertificateFacts, ...]:
    """Gather the facts of all certificates of a PEM text; ``what`` names it in the error."""
    found = parse_certificates(pem, what=what)
    return tuple(_facts(each, signers=found, anchors=found[index + 1 :]) for index, each in enumerate(found))


def signer_of(certificate: bytes, bundle: bytes) -> str:
    """Return the fingerprint of the authority in a bundle that vouches for a certificate (both PEM), whatever the dates say."""
    try:
        chain, anchors = parse_certificates(certificate, what="the certificate"), parse_certificates(bundle, what="the bundle")
    except CertificateError:
        return ""
    signer = _anchor_of(chain[0], (*chain[1:], *anchors), anchors, now=None)
    return fingerprint(signer) if signer else ""


def bundle_fingerprints(bundle: bytes) -> frozenset[str]:
    """Return what a caBundle trusts; an unreadable one trusts nothing."""
    try:
        return frozenset(fingerprint(each) for each in parse_certificates(bundle, what="the CA bundle"))
    except CertificateError:
        return frozenset()


def _chain_with_key(material: Material) -> tuple[x509.Certificate, ...]:
    chain = parse_certificates(material.certificate, what="tls.crt")
    public = parse_key(material.key, what="tls.key").public_key()
    if public != chain[0].public_key():
        place = next((number for number, each in enumerate(chain, start=1) if each.public_key() == public), 0)
        mend = f": it belongs to certificate {place}, which must come first, followed by who signed it" if place else ""
        raise CertificateError(f"tls.key does not belong to the first certificate in tls.crt{mend}")
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
        names=names_of(certificate),
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
        found = [each for each in signers if is_issued_by(current, each) and (now is None or not why_not_now(each, now))]
        anchor = next((each for each in found if each in anchors), None)
        if anchor is not None or not found:
            return anchor
        current = found[0]
    return None


def is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Tell whether ``issuer`` signed a certificate itself, whatever the dates say."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, InternalError):
        return False  # also for SHA-1, in OpenSSL's newer policies, and for keys that it cannot set up
    return True


def _check_leaf(leaf: x509.Certificate, now: datetime) -> None:
    reason = why_not_now(leaf, now)
    if reason:
        _refuse(reason)
    _check_strength(leaf, "tls.crt")
    if not names_of(leaf):
        _refuse("has no subjectAltName, and the API server ignores the common name")
    usage = _extension(leaf, x509.ExtendedKeyUsage)
    if usage is not None and not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(usage):
        _refuse("may not be used for servers: its extendedKeyUsage lacks serverAuth")


def _check_chain(chain: tuple[x509.Certificate, ...]) -> None:
    """Behind the serving certificate there may only be those who signed it."""
    others = [each for each in chain[1:] if not _is_authority(each)]
    if others:
        names = ", ".join(_title(each) for each in (chain[0], *others))
        _refuse(f"holds several serving certificates ({names}); keep one, followed by its intermediates")
    for each in chain[1:]:
        _check_authority(each, "tls.crt")
        _check_strength(each, f"tls.crt: {_title(each)}")


def _check_strength(certificate: x509.Certificate, what: str) -> None:
    """Refuse signatures and keys that Go's crypto/x509 refuses, and those that are broken."""
    algorithm = certificate.signature_hash_algorithm
    if algorithm is not None and algorithm.name in {"sha1", "md5"}:
        raise CertificateError(f"{what} is signed with {algorithm.name}, which the API server refuses; use SHA-256")
    _check_key(certificate, what)


def _check_key(certificate: x509.Certificate, what: str) -> None:
    public = certificate.public_key()
    if isinstance(public, rsa.RSAPublicKey) and not RSA_MINIMUM_BITS <= public.key_size <= RSA_MAXIMUM_BITS:
        raise CertificateError(
            f"{what} has an RSA key of {public.key_size} bits; use {RSA_MINIMUM_BITS} to {RSA_MAXIMUM_BITS}, or ECDSA"
        )
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name not in _CURVES:
        raise CertificateError(f"{what} has a key on the curve {public.curve.name}; use P-256, P-384 or P-521")


def _check_authority(anchor: x509.Certificate, what: str) -> None:
    if not _is_authority(anchor):
        raise CertificateError(f"{what}: {_title(anchor)} is not a certificate authority (basicConstraints CA:TRUE is missing)")
    usage = _extension(anchor, x509.KeyUsage)
    if usage is not None and not usage.key_cert_sign:
        raise CertificateError(f"{what}: {_title(anchor)} may not sign certificates (its keyUsage lacks keyCertSign)")
    _check_key(anchor, f"{what}: {_title(anchor)}")


def _is_authority(certificate: x509.Certificate) -> bool:
    basic = _extension(certificate, x509.BasicConstraints)
    return basic is not None and basic.ca


def _refuse(reason: str) -> NoReturn:
    raise CertificateError(f"tls.crt {reason}")


def why_not_now(certificate: x509.Certificate, now: datetime) -> str:
    """Say why a certificate is not valid at a moment; empty when it is."""
    if now < certificate.not_valid_before_utc:
        return f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M:%SZ}; check the clocks"
    if now > certificate.not_valid_after_utc:
        return f"expired at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M:%SZ}"
    return ""


def _extension(certificate: x509.Certificate, kind: type[ExtensionT]) -> ExtensionT | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, ValueError):
        return None  # what cannot be decoded, or stands there twice, says nothing


def names_of(certificate: x509.Certificate) -> frozenset[str]:
    """Return the DNS names (in lower case) and addresses that a certificate is for."""
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
