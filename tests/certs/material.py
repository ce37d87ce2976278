"""Build certificates of every kind, good and bad, with cryptography alone: not with the code under test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.certs import Material

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_USAGES = (
    *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("crl_sign", "encipher_only", "decipher_only"),
)


@dataclass(frozen=True, kw_only=True)
class Issued:
    """A certificate with the key that belongs to it."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def key_pem(self, password: bytes = b"") -> bytes:
        encryption = BestAvailableEncryption(password) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """How a certificate should be."""

    name: str = "gangwarden.test"
    names: tuple[str, ...] = ("gangwarden.test",)
    is_authority: bool = False
    for_servers: bool | None = True
    signs: bool | None = None
    """What keyUsage says; None: nothing."""
    start: datetime = NOW - timedelta(days=1)
    end: datetime = NOW + timedelta(days=30)

    def but(self, **changes: object) -> Wish:
        return replace(self, **changes)


AUTHORITY = Wish(name="root", names=(), is_authority=True, for_servers=None)


def issue(wish: Wish, signer: Issued | None = None, key: Key | None = None) -> Issued:
    key = key or ec.generate_private_key(ec.SECP256R1())
    issuer, signing_key = (signer.certificate.subject, signer.key) if signer else (name_of(wish.name), key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name_of(wish.name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(wish.start)
        .not_valid_after(wish.end)
    )
    if wish.is_authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    if wish.signs is not None:
        others = dict.fromkeys(_USAGES, False)
        builder = builder.add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=wish.signs, **others), critical=True)
    if wish.names:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in wish.names]), critical=False)
    if wish.for_servers is not None:
        usage = ExtendedKeyUsageOID.SERVER_AUTH if wish.for_servers else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return Issued(certificate=builder.sign(signing_key, SHA256()), key=key)


def name_of(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def material(leaf: Issued, *authorities: Issued, chain: tuple[Issued, ...] = ()) -> Material:
    return Material(
        ca=b"".join(each.pem for each in authorities),
        certificate=b"".join(each.pem for each in (leaf, *chain)),
        key=leaf.key_pem(),
    )
