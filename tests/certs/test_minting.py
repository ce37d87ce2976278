"""Minted certificates satisfy strangers: cryptography's own verifier, and OpenSSL in a handshake."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from webhook.certs import Material, Pair, Profile, Tls, mint_authority, mint_leaf
from webhook.settings import CertificateSettings

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
PROFILE = Profile(dns_names=("gangwarden.gangwarden-system.svc",), ip_addresses=("127.0.0.1", "::1"))


def leaf_of(profile: Profile = PROFILE, now: datetime = NOW) -> tuple[x509.Certificate, x509.Certificate]:
    authority = mint_authority(profile, now)
    leaf = mint_leaf(profile, authority, now)
    return x509.load_pem_x509_certificate(leaf.certificate), x509.load_pem_x509_certificate(authority.certificate)


@pytest.mark.parametrize("name", [x509.DNSName("gangwarden.gangwarden-system.svc")])
def test_a_web_verifier_accepts_the_chain(name: x509.DNSName) -> None:
    leaf, authority = leaf_of()
    verifier = PolicyBuilder().store(Store([authority])).time(NOW).build_server_verifier(name)
    assert verifier.verify(leaf, []) == [leaf, authority]


def test_openssl_accepts_the_chain_by_name_and_by_address() -> None:
    authority = mint_authority(PROFILE, datetime.now(UTC))
    leaf = mint_leaf(PROFILE, authority, datetime.now(UTC))
    tls = Tls(Material(ca=authority.certificate, certificate=leaf.certificate, key=leaf.key))
    for name in ("gangwarden.gangwarden-system.svc", "127.0.0.1", "::1"):
        assert handshake(tls.context, authority, name) == "TLSv1.3"


def handshake(server_context: ssl.SSLContext, authority: Pair, name: str) -> str | None:
    """Shake hands in memory."""
    client_in, client_out = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    client = trusting.wrap_bio(client_in, client_out, server_hostname=name)
    server = server_context.wrap_bio(client_out, client_in, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return client.version()


def test_an_authority_may_sign_leaves_only() -> None:
    _, authority = leaf_of()
    basic = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    usage = authority.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.key_cert_sign
    assert not usage.digital_signature


def test_a_leaf_names_its_authority_key_and_use() -> None:
    leaf, authority = leaf_of()
    issuer = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    assert issuer == authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    use = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [each.dotted_string for each in use] == ["1.3.6.1.5.5.7.3.1"]


def test_not_before_lies_back_by_the_clock_skew() -> None:
    leaf, authority = leaf_of()
    assert leaf.not_valid_before_utc == authority.not_valid_before_utc == NOW - timedelta(seconds=300)


def test_a_leaf_never_outlives_its_authority() -> None:
    authority = mint_authority(PROFILE, NOW - timedelta(days=360))
    leaf = x509.load_pem_x509_certificate(mint_leaf(PROFILE, authority, NOW).certificate)
    assert leaf.not_valid_after_utc == x509.load_pem_x509_certificate(authority.certificate).not_valid_after_utc


def test_lifetimes_follow_the_profile() -> None:
    profile = Profile(settings=CertificateSettings(leaf_days=1, ca_days=3))
    leaf, authority = leaf_of(profile)
    assert leaf.not_valid_after_utc == NOW + timedelta(days=1)
    assert authority.not_valid_after_utc == NOW + timedelta(days=3)


def test_serials_and_authority_names_are_never_reused() -> None:
    pairs = [leaf_of() for _ in range(5)]
    assert len({certificate.serial_number for pair in pairs for certificate in pair}) == 10
    assert len({authority.subject for _, authority in pairs}) == 5


def test_keys_stay_out_of_text() -> None:
    authority = mint_authority(PROFILE, NOW)
    material = Material(ca=authority.certificate, ca_key=authority.key, certificate=authority.certificate, key=authority.key)
    assert "PRIVATE" not in repr(authority) + repr(material)
