"""``python -m tests.security.fuzz.planting``: make the Secrets anew with which the fuzzer of PEM begins.

Their keys are random and belong to nothing. What once broke something (``broke-*``) stays as it is.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.certs.material import AUTHORITY, Issued, Wish, issue
from tests.security.fuzz.certificates import CORPUS, MARK

LEAF = Wish()


def main() -> None:
    """Write every seed."""
    for name, content in seeds().items():
        (CORPUS / name).write_bytes(content)


def seeds() -> dict[str, bytes]:
    """Return Secrets of different algorithms and lengths of chain, and one whose files are mixed up."""
    root = issue(AUTHORITY)
    between = issue(AUTHORITY.but(name="between"), root)
    leaf, short = issue(LEAF, between), issue(LEAF, root)
    by_rsa = issue(LEAF, root, rsa.generate_private_key(65537, 2048))  # its key is left out: a check of it takes long
    odd = ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {
        "chain.pem": secret(leaf.pem + between.pem, leaf.key_pem(), root, root.key_pem()),
        "short.pem": secret(short.pem, short.key_pem(), root),
        "rsa.pem": secret(by_rsa.pem, short.key_pem(), root),
        "client.pem": secret(issue(LEAF.but(for_servers=False, names=()), root).pem, short.key_pem(b"secret"), root, odd),
        "swapped.pem": secret(short.key_pem(), short.pem, root),
    }


def secret(certificate: bytes, key: bytes, authority: Issued, authority_key: bytes = b"") -> bytes:
    """Return four files as one input."""
    files = {"tls.crt": certificate, "tls.key": key, "ca.crt": authority.pem, "ca.key": authority_key}
    return b"".join(MARK + name.encode() + b"\n" + content for name, content in files.items() if content)


if __name__ == "__main__":
    main()
