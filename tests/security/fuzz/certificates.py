"""PEM: whatever stands in a Secret or in a caBundle is read, or refused in words; and a chain is trusted only if it verifies.

Bytes within a block are changed beneath their base64, where a parser of certificates meets them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.security.fuzz.reviews import in_words
from webhook.certs import Material, check_material, inspect_material, why_untrusted
from webhook.certs.inspection import bundle_fingerprints
from webhook.certs.material import (
    CA_FILE,
    CA_KEY_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    fingerprint,
    merged,
    parse_certificates,
    parse_key,
)
from webhook.certs.tls import Tls
from webhook.errors import CertificateError

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
NAMES = ("gangwarden.test",)
CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "certificates"
MARK = b"==== "
"""Begins the line that says of which file the following lines are."""
_BLOCK = re.compile(rb"(-----BEGIN [A-Z ]+-----\n)([A-Za-z0-9+/=\s]*)(\n-----END )")


class TrustError(AssertionError):
    """A certificate was taken for good that the known authority did not sign."""


class Target:
    """A Secret of four files, and a caBundle that somebody else wrote."""

    def __init__(self) -> None:
        self._honest = parts((CORPUS / "chain.pem").read_bytes())
        seeds = (parts(path.read_bytes()) for path in CORPUS.glob("*.pem") if not path.name.startswith("broke-"))
        self._signed = frozenset().union(*(bundle_fingerprints(content) for files in seeds for content in files.values()))
        """What the honest authority signed."""

    def run(self, data: bytes) -> None:
        """Read one input in every way in which we read such bytes."""
        files = parts(data)
        material = Material.of_files(files)
        for content in (data, *files.values()):
            bundle_fingerprints(content)
            merged([content, self._honest[CA_FILE]])
            refusable(lambda content=content: parse_certificates(content, what="it"))
            refusable(lambda content=content: parse_key(content, what="it"))
            refusable(lambda content=content: why_untrusted(self._honest[CERTIFICATE_FILE], content, NOW))
            refusable(lambda content=content: why_untrusted(content, content, NOW))
        refusable(lambda: inspect_material(material))
        refusable(lambda: Tls(material))
        for now in (NOW, NOW - timedelta(days=400)):
            refusable(lambda now=now: check_material(material, NAMES, now))
        self._trust_only_what_was_signed(files.get(CERTIFICATE_FILE, data))

    def mutate(self, data: bytes, random: Random) -> bytes | None:
        """Change bytes beneath the base64 of one block, or exchange blocks."""
        blocks = list(_BLOCK.finditer(data))
        if not blocks:
            return None
        one, other = random.choice(blocks), random.choice(blocks)
        if random.random() < 0.2:
            return data[: one.start()] + other[0] + data[one.end() :]
        try:
            inner = bytearray(base64.b64decode(one[2]))
        except ValueError:
            return None
        for _ in range(random.choice((1, 1, 2, 8))):
            _spoil(inner, random)
        encoded = b"\n".join(re.findall(b".{1,64}", base64.b64encode(bytes(inner)), re.DOTALL))
        return data[: one.start(2)] + encoded + data[one.end(2) :]

    def _trust_only_what_was_signed(self, certificate: bytes) -> None:
        """Raise TrustError for a leaf that passes under the honest authority, unless it is the honest one."""
        try:
            if why_untrusted(certificate, self._honest[CA_FILE], NOW):
                return
            leaf = fingerprint(parse_certificates(certificate, what="it")[0])
        except CertificateError:
            return
        if leaf not in self._signed:
            raise TrustError("trusted, though the authority never signed it")


def refusable(act: Callable[[], object]) -> None:
    """Do something that may be refused, in words."""
    try:
        act()
    except CertificateError as error:
        in_words(error)
        must_hide(str(error))


def must_hide(text: str) -> None:
    """Refuse a text that shows a key."""
    assert "PRIVATE KEY-----\n" not in text, "a key in an error"


def parts(data: bytes) -> dict[str, bytes]:
    """Return the files that an input is made of."""
    found: dict[str, bytes] = {}
    for piece in (b"\n" + data).split(b"\n" + MARK):
        name, _, content = piece.partition(b"\n")
        if name.decode("latin-1") in (CA_FILE, CA_KEY_FILE, CERTIFICATE_FILE, KEY_FILE):
            found[name.decode()] = content + b"\n"
    return found


def _spoil(inner: bytearray, random: Random) -> None:
    at = random.randrange(len(inner) + 1)
    match random.randrange(4):
        case 0 if at < len(inner):
            inner[at] = random.randrange(256)
        case 1 if at < len(inner):
            inner[at] = (inner[at] + random.choice((1, -1, 128))) % 256
        case 2:
            del inner[at : at + random.randint(1, 4)]
        case _:
            inner[at:at] = bytes([random.randrange(256)])
