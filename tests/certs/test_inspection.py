"""Material that an API server would refuse is refused before it is served, in words an operator can act on."""

import base64
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
from cryptography.x509.oid import NameOID

from tests.certs.material import AUTHORITY, NOW, Issued, Key, Wish, issue, material
from webhook.certs import Material, check_material, inspect_material, why_untrusted
from webhook.certs.material import CERTIFICATES_LIMIT, parse_certificates, parse_key
from webhook.errors import CertificateError

ROOT = issue(AUTHORITY)
OTHER = issue(AUTHORITY.but(name="other"))
GOOD = issue(Wish(), ROOT)
MIDDLE = issue(AUTHORITY.but(name="middle"), ROOT)
UNDER_MIDDLE = issue(Wish(), MIDDLE)
WEAK = issue(AUTHORITY.but(name="weak"), key=rsa.generate_private_key(65537, 1024))
NO_SIGNER = issue(AUTHORITY.but(name="no signer", signs=False))
DER = GOOD.certificate.public_bytes(Encoding.DER)
DER_KEY = GOOD.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
PKCS12 = pkcs12.serialize_key_and_certificates(b"gangwarden", GOOD.key, GOOD.certificate, [ROOT.certificate], NoEncryption())


def test_good_material_passes_with_its_facts() -> None:
    held = check_material(material(GOOD, ROOT), ["gangwarden.test"], NOW)
    assert held.leaf is not None
    assert held.leaf.signed_by == held.authorities[0].fingerprint
    assert held.leaf.names == {"gangwarden.test"}
    assert not held.has_authority_key


def test_an_intermediate_in_the_chain_is_walked() -> None:
    assert check_material(material(UNDER_MIDDLE, ROOT, chain=(MIDDLE,)), ["gangwarden.test"], NOW).leaf
    with pytest.raises(CertificateError, match="CN=middle, which the CA bundle does not hold"):
        check_material(material(UNDER_MIDDLE, ROOT), ["gangwarden.test"], NOW)


def test_a_star_covers_one_label() -> None:
    leaf = material(issue(Wish(names=("*.svc.test",)), ROOT), ROOT)
    assert check_material(leaf, ["a.svc.test"], NOW)
    with pytest.raises(CertificateError, match=r"not valid for a\.b\.svc\.test"):
        check_material(leaf, ["a.b.svc.test"], NOW)


def leaf(signer: Issued = ROOT, key: Key | None = None, **changes: object) -> Material:
    return material(issue(Wish().but(**changes), signer, key), ROOT)


def recorded(name: str) -> Material:
    """Read a certificate that cryptography itself no longer makes: ``openssl req -x509 -newkey ec -nodes -sha1``."""
    text = Path(__file__).with_name(name).read_bytes()
    key, certificate = text.split(b"-----BEGIN CERTIFICATE-----")
    return Material(ca=ROOT.pem, certificate=b"-----BEGIN CERTIFICATE-----" + certificate, key=key)


@pytest.mark.parametrize(
    "given, words",
    [
        pytest.param(lambda: leaf(end=NOW - timedelta(hours=1)), "tls.crt expired at 2027-03-01 11:00:00Z", id="expired"),
        pytest.param(lambda: leaf(start=NOW + timedelta(hours=1)), "is not valid before", id="not yet valid"),
        pytest.param(lambda: leaf(names=()), "ignores the common name", id="no subjectAltName"),
        pytest.param(
            lambda: leaf(names=("elsewhere.test",)), "not valid for gangwarden.test; its names are elsewhere.test", id="name"
        ),
        pytest.param(lambda: leaf(for_servers=False), "lacks serverAuth", id="for clients only"),
        pytest.param(lambda: recorded("sha1.pem"), "is signed with sha1", id="SHA-1"),
        pytest.param(lambda: leaf(key=rsa.generate_private_key(65537, 1024)), "RSA key of 1024 bits", id="weak RSA"),
        pytest.param(lambda: leaf(signer=OTHER), "signed by CN=other, which the CA bundle does not hold", id="stranger"),
        pytest.param(lambda: material(GOOD, GOOD), "is not a certificate authority", id="no CA"),
        pytest.param(lambda: replace(leaf(), key=OTHER.key_pem()), "tls.key does not belong", id="another's key"),
        pytest.param(lambda: replace(leaf(), key=GOOD.key_pem(b"secret")), "tls.key is encrypted", id="encrypted key"),
        pytest.param(lambda: replace(leaf(), key=b""), "tls.key is empty", id="no key"),
        pytest.param(lambda: replace(leaf(), ca=b""), "ca.crt is empty", id="no authority"),
        pytest.param(lambda: replace(leaf(), certificate=GOOD.key_pem()), "tls.crt holds a private key", id="swapped files"),
        pytest.param(lambda: replace(leaf(), certificate=b"hello"), "tls.crt is not a PEM certificate", id="not PEM"),
        pytest.param(lambda: replace(leaf(), key=b"hello"), "tls.key is not a PEM private key", id="key not PEM"),
        pytest.param(lambda: replace(leaf(), ca_key=OTHER.key_pem()), "ca.key does not belong", id="another authority's key"),
        pytest.param(lambda: leaf(signer=OTHER), "append the missing intermediates to tls.crt", id="what to do"),
        pytest.param(
            lambda: material(GOOD, ROOT, chain=(issue(Wish(name="second"), ROOT),)),
            "tls.crt holds several serving certificates (gangwarden.test, second); keep one",
            id="several leaves",
        ),
        pytest.param(
            lambda: replace(material(MIDDLE, ROOT, chain=(UNDER_MIDDLE,)), key=UNDER_MIDDLE.key_pem()),
            "it belongs to certificate 2, which must come first",
            id="chain in the wrong order",
        ),
        pytest.param(lambda: material(GOOD, WEAK), "ca.crt: weak has an RSA key of 1024 bits", id="weak authority"),
        pytest.param(
            lambda: leaf(key=ec.generate_private_key(ec.SECP256K1())), "on the curve secp256k1", id="a curve of its own"
        ),
        pytest.param(lambda: material(GOOD, NO_SIGNER), "its keyUsage lacks keyCertSign", id="an authority that may not sign"),
        pytest.param(lambda: replace(leaf(), certificate=DER), "it is DER; convert it with: openssl x509", id="DER"),
        pytest.param(lambda: replace(leaf(), key=DER_KEY), "it is DER; convert it with: openssl pkey", id="DER key"),
        pytest.param(lambda: replace(leaf(), certificate=PKCS12), "it is PKCS#12; convert it with: openssl pkcs12", id="PKCS#12"),
        pytest.param(lambda: replace(leaf(), key=PKCS12), "it is PKCS#12", id="PKCS#12 for a key"),
        pytest.param(lambda: replace(leaf(), key=b"\n" * 20_000 + b"x"), "at most 16384 are read", id="a key of many bytes"),
        pytest.param(lambda: replace(leaf(), certificate=GOOD.pem[:300]), "tls.crt is not a PEM certificate", id="half a PEM"),
        pytest.param(lambda: replace(leaf(), key=GOOD.key_pem()[:90]), "tls.key is not a PEM private key", id="half a key"),
    ],
)
def test_bad_material_is_refused_in_words(given: object, words: str) -> None:
    assert callable(given)
    with pytest.raises(CertificateError) as caught:
        check_material(given(), ["gangwarden.test"], NOW)
    assert words in str(caught.value)
    assert "PRIVATE" not in str(caught.value)


def test_an_expired_authority_is_named_as_the_reason() -> None:
    old = issue(AUTHORITY.but(end=NOW - timedelta(days=1), start=NOW - timedelta(days=9)))
    assert why_untrusted(issue(Wish(), old).pem, old.pem, NOW) == "an authority that signed it has expired or is not valid yet"


def test_one_valid_signer_of_two_is_enough() -> None:
    assert why_untrusted(GOOD.pem, OTHER.pem + ROOT.pem, NOW) == ""


@pytest.mark.parametrize("bundle, words", [(b"", "is empty"), (b"garbage", "is not a PEM certificate")])
def test_a_bundle_that_cannot_be_read_trusts_nothing(bundle: bytes, words: str) -> None:
    assert words in why_untrusted(GOOD.pem, bundle, NOW)


def test_a_namesake_of_the_authority_does_not_vouch() -> None:
    namesake = issue(AUTHORITY)
    assert "does not hold" in why_untrusted(GOOD.pem, namesake.pem, NOW)


def test_a_loop_of_authorities_ends() -> None:
    first, second = issue(AUTHORITY.but(name="a")), issue(AUTHORITY.but(name="b"))
    crossed = [issue(AUTHORITY.but(name="a"), second, first.key), issue(AUTHORITY.but(name="b"), first, second.key)]
    chain = issue(Wish(), crossed[0]).pem + crossed[0].pem + crossed[1].pem
    assert "does not hold" in why_untrusted(chain, ROOT.pem, NOW)


@pytest.mark.parametrize(
    "pem, words",
    [
        pytest.param(b"x" * 300_000, "at most 262144 are read", id="too many bytes"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\n" * (CERTIFICATES_LIMIT + 1), "at most 100 are read", id="too many blocks"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is not a PEM certificate", id="not DER"),
        pytest.param(b" \n", "is empty", id="blank"),
    ],
)
def test_crafted_pem_is_refused_before_it_is_parsed(pem: bytes, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        parse_certificates(pem, what="the bundle")


def test_a_huge_key_is_not_parsed() -> None:
    with pytest.raises(CertificateError, match="at most 16384 are read"):
        parse_key(b"x" * 20_000, what="tls.key")


ED25519, X448 = bytes.fromhex("06032b6570"), bytes.fromhex("06032b656f")
"""Kinds of key, as they stand in DER; a key of the second is longer."""


def test_a_key_that_is_too_short_for_its_kind_is_refused_in_words() -> None:
    der = ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(
        CertificateError, match=r"tls\.key is not a private key of the kind that it says: OpenSSL cannot set its key up"
    ):
        parse_key(as_pem(der.replace(ED25519, X448), "PRIVATE KEY"), what="tls.key")


def test_a_certificate_with_a_key_too_short_for_its_kind_is_refused_in_words() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "short")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=1))
    der = builder.sign(key, None).public_bytes(Encoding.DER).replace(ED25519, X448)
    with pytest.raises(CertificateError, match="certificate 1 cannot be read: "):
        parse_certificates(as_pem(der, "CERTIFICATE"), what="the bundle")


def test_a_signature_that_is_not_of_whole_bytes_is_refused() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bits")])
    builders = (
        x509.CertificateBuilder(name, name, key.public_key(), serial, NOW, NOW + timedelta(days=1)) for serial in range(1, 1000)
    )
    signed = next(each for each in (builder.sign(key, None) for builder in builders) if not each.signature[-1] & 1)
    der = bytearray(signed.public_bytes(Encoding.DER))
    assert parse_certificates(as_pem(bytes(der), "CERTIFICATE"), what="the bundle") == (signed,)
    der[-len(signed.signature) - 1] = 1  # the last bit does not count
    with pytest.raises(CertificateError, match="certificate 1 cannot be read: its signature is not of whole bytes"):
        parse_certificates(as_pem(bytes(der), "CERTIFICATE"), what="the bundle")


def as_pem(der: bytes, word: str) -> bytes:
    return f"-----BEGIN {word}-----\n{base64.encodebytes(der).decode()}-----END {word}-----\n".encode()


def test_material_without_a_leaf_has_none() -> None:
    held = inspect_material(Material(ca=ROOT.pem, ca_key=ROOT.key_pem()))
    assert held.leaf is None
    assert held.has_authority_key
