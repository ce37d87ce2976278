"""Hold the TLS context that new connections get, and swap it at the handshake.

A live context is never changed: ``load_cert_chain`` on it fails 5 to 8 % of the handshakes that run beside it, and
one mismatched pair breaks all. Instead a new context is built, and only a complete one takes the old one's place,
in the SNI callback, which OpenSSL calls for every handshake, also where the client names no server. Open connections
live on with what they have.

Where callers are to show certificates, the handshake asks for one and takes a caller without: the kubelet's probes have
none, and who may ask for what is decided by path. No session is resumed then (TLS 1.3, no tickets), because a resumed one
would bring back a certificate that nobody has verified since. A certificate that no authority vouches for ends the
handshake; Python cannot take it and say so later.
"""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from webhook.certs.clients import ClientAuthority
from webhook.certs.files import write_material
from webhook.certs.material import CERTIFICATE_FILE, KEY_FILE, Material, fingerprint, parse_certificates
from webhook.errors import CertificateError


class Tls:
    """The server's side of TLS; ``context`` is what a listener is given, once."""

    def __init__(self, material: Material, clients: ClientAuthority | None = None) -> None:
        """``clients``: who vouches for callers; None: no caller is asked for a certificate."""
        self.served = _fingerprint(material)
        """Fingerprint of the certificate that new connections get."""
        self._material, self._clients = material, clients
        self._current = self.context = _build(material, clients)
        self.context.sni_callback = self._choose

    def offer(self, material: Material) -> None:
        """Serve this material from the next handshake on; raises CertificateError and keeps the old if it cannot be used."""
        served = _fingerprint(material)
        self._current, self.served, self._material = _build(material, self._clients), served, material

    def trust(self, clients: ClientAuthority) -> None:
        """Accept the client certificates of these authorities from now on, and no others, on open connections too."""
        assert self._clients is not None  # noqa: S101 - whether to ask is decided once: OpenSSL copies it before our callback
        self._current, self._clients = _build(self._material, clients), clients

    def why_refused(self, connection: ssl.SSLObject) -> str | None:
        """Say why the certificate of a caller is not accepted: empty when it is, None when there is none."""
        certificate = connection.getpeercert(binary_form=True)
        if certificate is None or self._clients is None:
            return None
        verified = isinstance(connection.context, _Context) and connection.context.clients is self._clients
        return self._clients.why_refused(certificate, datetime.now(UTC), verified=verified)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        if connection.context is not self._current:
            connection.context = self._current


def _fingerprint(material: Material) -> str:
    return fingerprint(parse_certificates(material.certificate, what="tls.crt")[0])


class _Context(ssl.SSLContext):
    """A context that remembers by whose authorities it verifies callers."""

    clients: ClientAuthority | None = None


def _build(material: Material, clients: ClientAuthority | None) -> ssl.SSLContext:
    context = _Context(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # 1.3 is what both sides pick; 1.2 is for older probes and scanners
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of 1.2: forward secrecy and AEAD only (Mozilla "intermediate")
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])  # all that the API server offers for a Service (kubernetes issue 75791)
    if clients is not None:
        _ask_callers(context, clients)
    # Python reads key material from files only; these live for one call, in a directory of our own, for our user alone.
    with tempfile.TemporaryDirectory(prefix="gangwarden-tls-") as name:
        directory = Path(name)
        write_material(directory, {CERTIFICATE_FILE: material.certificate, KEY_FILE: material.key})
        try:
            context.load_cert_chain(directory / CERTIFICATE_FILE, directory / KEY_FILE, password=_no_password)
        except (ssl.SSLError, CertificateError) as error:
            raise CertificateError(f"certificate and key cannot be served together: {_words(error)}") from error
    return context


def _ask_callers(context: _Context, clients: ClientAuthority) -> None:
    context.clients, context.verify_mode = clients, ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # an intermediate in the file is an anchor, as in Go
    context.minimum_version, context.num_tickets = ssl.TLSVersion.TLSv1_3, 0
    try:
        context.load_verify_locations(cadata=clients.bundle)
    except ssl.SSLError as error:
        raise CertificateError(f"the client CA file cannot be used: {_words(error)}") from error


def _no_password() -> str:
    """Answer for an encrypted key, for which OpenSSL would otherwise ask on the terminal."""
    raise CertificateError("the key is encrypted; give it without a password")


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        known = {"KEY_VALUES_MISMATCH": "the key belongs to another certificate", "NO_START_LINE": "not PEM"}
        return known.get(error.reason or "", error.reason or "unreadable")
    return str(error)
