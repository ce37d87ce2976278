"""Hold the TLS context that new connections get, and swap it at the handshake.

A live context is never changed: ``load_cert_chain`` on it fails 5 to 8 % of the handshakes that run beside it, and
one mismatched pair breaks all. Instead a new context is built, and only a complete one takes the old one's place,
in the SNI callback, which OpenSSL calls for every handshake, also where the client names no server. Open connections
live on with what they have.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from webhook.certs.files import write_material
from webhook.certs.material import CERTIFICATE_FILE, KEY_FILE, Material, fingerprint, parse_certificates
from webhook.errors import CertificateError


class Tls:
    """The server's side of TLS; ``context`` is what a listener is given, once."""

    def __init__(self, material: Material) -> None:
        self.served = _fingerprint(material)
        """Fingerprint of the certificate that new connections get."""
        self._current = self.context = _build(material)
        self.context.sni_callback = self._choose

    def offer(self, material: Material) -> None:
        """Serve this material from the next handshake on; raises CertificateError and keeps the old if it cannot be used."""
        served = _fingerprint(material)
        self._current, self.served = _build(material), served

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        if connection.context is not self._current:
            connection.context = self._current


def _fingerprint(material: Material) -> str:
    return fingerprint(parse_certificates(material.certificate, what="tls.crt")[0])


def _build(material: Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # 1.3 is what both sides pick; 1.2 is for older probes and scanners
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of 1.2: forward secrecy and AEAD only (Mozilla "intermediate")
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])  # all that the API server offers for a Service (kubernetes issue 75791)
    # Python reads key material from files only; these live for one call, in a directory of our own, for our user alone.
    with tempfile.TemporaryDirectory(prefix="gangwarden-tls-") as name:
        directory = Path(name)
        write_material(directory, {CERTIFICATE_FILE: material.certificate, KEY_FILE: material.key})
        try:
            context.load_cert_chain(directory / CERTIFICATE_FILE, directory / KEY_FILE, password=_no_password)
        except (ssl.SSLError, CertificateError) as error:
            raise CertificateError(f"certificate and key cannot be served together: {_words(error)}") from error
    return context


def _no_password() -> str:
    """Answer for an encrypted key, for which OpenSSL would otherwise ask on the terminal."""
    raise CertificateError("the key is encrypted; give it without a password")


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        known = {"KEY_VALUES_MISMATCH": "the key belongs to another certificate", "NO_START_LINE": "not PEM"}
        return known.get(error.reason or "", error.reason or "unreadable")
    return str(error)
