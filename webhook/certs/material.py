"""Key and certificate material as it is stored: four PEM files, in a directory or in a Secret.

Rotation keeps no other state. That two authorities overlap is said by ``ca.crt`` itself, which then holds two
certificates, newest first; who signed what is in the certificates. So a process that dies anywhere is continued by
the next one from the files alone.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from webhook.errors import CertificateError

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

CA_FILE, CA_KEY_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.crt", "ca.key", "tls.crt", "tls.key"  # names of a kubernetes.io/tls Secret

# Crafted PEM burns CPU (CVE-2024-12401, cert-manager), so size and count are bounded before a parser sees it.
BUNDLE_LIMIT_BYTES = 256 * 1024  # a few public roots beside one's own; a caBundle shares etcd's 1.5 MiB with its object
KEY_LIMIT_BYTES = 16 * 1024  # an RSA key of 8192 bits takes 6.5 KiB
CERTIFICATES_LIMIT = 100
_PKCS12_CONTENT = bytes.fromhex("06092a864886f70d0107")  # the object identifier pkcs-7, with which a PKCS#12 file begins
_NOT_SET_UP = "OpenSSL cannot set its key up"
"""In place of what cryptography says of a key shorter than its kind has (InternalError), which asks to be told of a bug."""
_MERGED_LIMIT = 20
"""Authorities that a merged bundle holds at most: whoever damages the store in a loop must not make it grow for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A serving certificate with its key, and the authorities that vouch for it; keys stay out of ``repr``."""

    ca: bytes
    """PEM bundle that callers should trust; the newest authority first."""
    ca_key: bytes = field(default=b"", repr=False)
    """Key of the first certificate in ``ca``; empty when someone else runs the authority."""
    certificate: bytes = b""
    """The serving certificate, followed by intermediates if there are any."""
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> Material:
        """Read the four files by name; missing ones become empty."""
        return cls(
            ca=files.get(CA_FILE, b""),
            ca_key=files.get(CA_KEY_FILE, b""),
            certificate=files.get(CERTIFICATE_FILE, b""),
            key=files.get(KEY_FILE, b""),
        )

    def as_files(self) -> dict[str, bytes]:
        """Return the files by name; empty ones are left out."""
        files = {CA_FILE: self.ca, CA_KEY_FILE: self.ca_key, CERTIFICATE_FILE: self.certificate, KEY_FILE: self.key}
        return {name: content for name, content in files.items() if content}


def parse_certificates(pem: bytes, *, what: str) -> tuple[x509.Certificate, ...]:
    """Read all certificates of a PEM text; ``what`` names it in the error."""
    if not pem.strip():
        raise CertificateError(f"{what} is empty")
    if len(pem) > BUNDLE_LIMIT_BYTES:
        raise CertificateError(f"{what} has {len(pem)} bytes; at most {BUNDLE_LIMIT_BYTES} are read")
    count = pem.count(b"-----BEGIN ")
    if count > CERTIFICATES_LIMIT:
        raise CertificateError(f"{what} holds {count} PEM blocks; at most {CERTIFICATES_LIMIT} are read")
    if b"PRIVATE KEY-----" in pem:
        raise CertificateError(f"{what} holds a private key: the files were swapped or concatenated")
    try:
        found = tuple(x509.load_pem_x509_certificates(pem))
    except (ValueError, x509.InvalidVersion) as error:
        raise CertificateError(f"{what} is not a PEM certificate: {_other_form(pem, 'x509') or error}") from error
    for number, certificate in enumerate(found, start=1):
        try:
            _look_through(certificate)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise CertificateError(f"{what}: certificate {number} cannot be read: {error}") from error
        except InternalError as error:
            raise CertificateError(f"{what}: certificate {number} cannot be read: {_NOT_SET_UP}") from error
    return found


def _look_through(certificate: x509.Certificate) -> None:
    """Read the parts that cryptography decodes only when they are asked for, so that none of them fails later.

    The API server takes a signature as a string of bits; cryptography takes its bytes, however many bits of them count.
    """
    _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.signature_hash_algorithm)
    certificate.public_key()
    for name in (certificate.subject, certificate.issuer):
        name.rfc4514_string()
    if certificate.public_bytes(Encoding.DER)[-len(certificate.signature) - 1] != 0:  # the count of bits that are not used
        raise ValueError("its signature is not of whole bytes (RFC 5280, 4.1.1.3), so the API server will not verify it")


def parse_key(pem: bytes, *, what: str) -> PrivateKey:
    """Read a private key without a password; its text never appears in the error."""
    if not pem.strip():
        raise CertificateError(f"{what} is empty")
    if len(pem) > KEY_LIMIT_BYTES:
        raise CertificateError(f"{what} has {len(pem)} bytes; at most {KEY_LIMIT_BYTES} are read")
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError as error:  # what cryptography raises when a password is needed
        raise CertificateError(f"{what} is encrypted; give it without a password") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        form = _other_form(pem, "pkey")
        raise CertificateError(f"{what} is not a PEM private key{form and f': {form}'}") from error
    except InternalError as error:
        raise CertificateError(f"{what} is not a private key of the kind that it says: {_NOT_SET_UP}") from error
    if not isinstance(key, PrivateKey):
        raise CertificateError(f"{what} is a {type(key).__name__}; use ECDSA, RSA or Ed25519")
    return key


def _other_form(content: bytes, tool: str) -> str:
    """Say what binary form is there in place of PEM, and how to convert it; empty where it is none that is known."""
    if not content.startswith(b"\x30"):  # every DER structure of ours is a SEQUENCE
        return ""
    if _PKCS12_CONTENT in content[:64]:
        return "it is PKCS#12; convert it with: openssl pkcs12 -in FILE -nodes"
    return f"it is DER; convert it with: openssl {tool} -inform der -in FILE"


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate, in lower-case hexadecimal."""
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


def without(bundle: bytes, unwanted: str) -> bytes:
    """Return a PEM bundle without the certificate of this fingerprint."""
    kept = (each for each in parse_certificates(bundle, what="ca.crt") if fingerprint(each) != unwanted)
    return b"".join(each.public_bytes(Encoding.PEM) for each in kept)


def merged(bundles: Iterable[bytes]) -> bytes:
    """Return one PEM bundle of all readable certificates, each once and in this order; of very many, the first."""
    found: dict[x509.Certificate, None] = {}
    for bundle in bundles:
        with contextlib.suppress(CertificateError):
            found.update(dict.fromkeys(parse_certificates(bundle, what="a live CA bundle")))
    return b"".join(each.public_bytes(Encoding.PEM) for each in list(found)[:_MERGED_LIMIT])
