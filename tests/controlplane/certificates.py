"""Keys, certificates and kubeconfigs of one test control plane; they live as long as its directory."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
IDENTITIES = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
}
"""Who gets a client certificate: common name and organization, which Kubernetes reads as user and group."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority that lives in memory and signs for one day."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(name, "")
        certificate = _unsigned(self._name, self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.certificate = certificate.sign(self._key, hashes.SHA256()).public_bytes(PEM)

    def issue(self, name: str, organization: str = "", *, hosts: tuple[str, ...] = ()) -> Pair:
        """Sign a serving certificate for hosts (DNS names or addresses), or a client certificate when there are none."""
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = _unsigned(_subject(name, organization), self._name, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        return Pair(builder.sign(self._key, hashes.SHA256()).public_bytes(PEM), _private_pem(key))


def _subject(name: str, organization: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _unsigned(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(PEM, PKCS8, serialization.NoEncryption())


def write_pki(directory: Path) -> None:
    """Write CA, serving and client certificates and the service account key; nothing is replaced that is there."""
    if (directory / "sa.key").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    authority = Authority("gangwarden-test-ca")
    pairs = {name: authority.issue(*identity) for name, identity in IDENTITIES.items()}
    pairs["apiserver"] = authority.issue("kube-apiserver", hosts=("localhost", "127.0.0.1", "10.0.0.1"))
    (directory / "ca.crt").write_bytes(authority.certificate)
    for name, pair in pairs.items():
        (directory / f"{name}.crt").write_bytes(pair.certificate)
        (directory / f"{name}.key").write_bytes(pair.key)
    # The API server signs service account tokens with RSA by default and refuses unknown key kinds.
    (directory / "sa.key").write_bytes(_private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))


def write_kubeconfigs(directory: Path, server: str) -> None:
    """Write one self-contained kubeconfig per identity, as ``<identity>.kubeconfig``."""
    for name in IDENTITIES:
        ca, crt, key = (_encoded(directory / file) for file in ("ca.crt", f"{name}.crt", f"{name}.key"))
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": ca}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "users": [{"name": name, "user": {"client-certificate-data": crt, "client-key-data": key}}],
        }
        (directory / f"{name}.kubeconfig").write_text(json.dumps(config, indent=1))  # JSON is YAML too


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
