"""Which client certificates are accepted, asked at each call, whatever the handshake has said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from webhook.certs import ClientAuthority, Pair, Profile, mint_authority, mint_client
from webhook.errors import CertificateError

NOW, PROFILE = datetime.now(UTC), Profile()
DAYS = timedelta(days=PROFILE.settings.ca_days)
OURS, ANOTHER = mint_authority(PROFILE, NOW), mint_authority(PROFILE, NOW)


def client(authority: Pair, name: str = "kube-apiserver") -> bytes:
    return load_pem_x509_certificate(mint_client(PROFILE, authority, NOW, name=name).certificate).public_bytes(Encoding.DER)


@pytest.mark.parametrize("verified", [True, False])
def test_a_certificate_of_an_accepted_authority(verified: bool) -> None:
    accepted = ClientAuthority(ANOTHER.certificate + OURS.certificate, ["kube-apiserver", "x"])
    assert [accepted.why_refused(client(OURS), NOW, verified=verified) for _ in range(2)] == ["", ""]


@pytest.mark.parametrize(
    ("certificate", "at", "told"),
    [
        (client(ANOTHER), NOW, "no authority in the client CA file signed it"),
        (client(OURS, "x"), NOW, "its names are x, and none of them is allowed"),
        (client(OURS), NOW + DAYS + timedelta(hours=1), "no authority in the client CA file signed it"),
        (b"garbage", NOW, "it cannot be read"),
    ],
    ids=["another authority", "another name", "an authority that has expired", "no certificate"],
)
def test_what_is_refused(certificate: bytes, at: datetime, told: str) -> None:
    accepted = ClientAuthority(OURS.certificate, ["kube-apiserver"])
    assert accepted.why_refused(certificate, at, verified=False) == told


def test_a_certificate_that_ends_while_its_connection_lives() -> None:
    accepted, certificate = ClientAuthority(OURS.certificate), client(OURS)
    assert accepted.why_refused(certificate, NOW, verified=True) == ""
    assert accepted.why_refused(certificate, NOW + DAYS + timedelta(hours=1), verified=True).startswith("expired at")


@pytest.mark.parametrize(
    ("bundle", "told"),
    [(b"", "the client CA file is empty"), (b"garbage", "not a PEM certificate"), (OURS.key, "private key")],
    ids=["empty", "garbage", "a key"],
)
def test_a_bundle_that_cannot_be_read(bundle: bytes, told: str) -> None:
    with pytest.raises(CertificateError, match=told):
        ClientAuthority(bundle)
