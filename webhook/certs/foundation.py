"""What can be built on when the store was emptied or damaged.

Sound material is taken as it is. Of damaged material the authority is kept if it is sound, with the leaf that this process
remembers. Else all that it remembers is put back, because callers trust it already, unless the live configurations trust
more than that: then others have rotated since, and an authority whose key is gone must not become the newest again. Where
nothing is left a new authority is needed, and those that are trusted now stay beside it for as long as others may serve
their leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import structlog

from webhook.certs.inspection import Held, bundle_fingerprints, facts_of, inspect_material
from webhook.certs.material import Material, merged
from webhook.certs.renewal import OWN_SUBJECT
from webhook.errors import CertificateError

_LOG = structlog.get_logger(__name__)


def foundation(stored: Material | None, last: Material | None, live: tuple[bytes, ...]) -> tuple[Material, Held | None]:
    """Return what can be built on, and its facts: None for the facts means that a new authority is needed.

    ``last``: what this process remembers; ``live``: the caBundles of all webhooks. Raises CertificateError for damaged
    material without an authority's key: it is somebody else's, and for them to mend.
    """
    if stored is not None:
        try:
            held = inspect_material(stored)
        except CertificateError as error:
            if not (stored.ca_key or (last and last.ca_key) or _is_ours(stored.ca)):
                raise
            _LOG.warning("certificate material is unusable", reason=str(error))
        else:
            return _with_key(stored, held, last)
    for material in _candidates(stored, last, live):
        try:
            return material, inspect_material(material)
        except CertificateError:
            continue
    return Material(ca=merged((*live, last.ca if last else b""))), None


def _with_key(stored: Material, held: Held, last: Material | None) -> tuple[Material, Held]:
    if stored.ca_key or last is None or not last.ca_key or last.ca != stored.ca:
        return stored, held
    return replace(stored, ca_key=last.ca_key), replace(held, has_authority_key=True)


def _candidates(stored: Material | None, last: Material | None, live: Iterable[bytes]) -> Iterator[Material]:
    authority = Material(ca=stored.ca, ca_key=stored.ca_key) if stored is not None and stored.ca_key else None
    if authority and last and _signed_leaf(with_leaf := replace(authority, certificate=last.certificate, key=last.key)):
        yield with_leaf
    if authority:
        yield authority
    if last and last.ca_key and all(bundle_fingerprints(each) <= bundle_fingerprints(last.ca) for each in live):
        yield last


def _is_ours(bundle: bytes) -> bool:
    try:
        return facts_of(bundle, what="ca.crt")[0].subject.startswith(OWN_SUBJECT)
    except CertificateError:
        return False


def _signed_leaf(material: Material) -> bool:
    try:
        leaf = inspect_material(material).leaf
    except CertificateError:
        return False
    return leaf is not None and bool(leaf.signed_by)
