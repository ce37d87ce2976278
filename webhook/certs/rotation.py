"""Carry out renewal plans: the only place in this room that changes anything.

Store, publisher, server and clock are handed in. Two processes that renew at once meet at the store: the slower one
is told so (409), looks again and finds the work done.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Protocol, assert_never

import structlog

from webhook.certs.inspection import Held, bundle_fingerprints, check_material, inspect_material
from webhook.certs.material import Material, merged, without
from webhook.certs.minting import Pair, mint_authority, mint_leaf
from webhook.certs.profile import Profile
from webhook.certs.renewal import Action, DropAuthority, MintAuthority, MintLeaf, PublishBundle, ServeLeaf, plan_renewal
from webhook.errors import CertificateError, ClusterError, GangwardenError

ATTEMPTS = 5  # lost races for the store in a row; two replicas need two, more mean that something else is wrong
_LOG = structlog.get_logger(__name__)


class MaterialStore(Protocol):
    """Where material is kept, as files by name: a directory or a Secret."""

    async def load(self) -> tuple[dict[str, bytes], str] | None:
        """Return the files and their version, or None where there are none."""

    async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
        """Replace ``version`` (None: create); ClusterError with status 409 if another process was faster."""


class BundlePublisher(Protocol):
    """The webhook configurations, as far as their caBundle goes."""

    async def published(self) -> tuple[bytes, ...]:
        """Return the caBundle (PEM; empty if unset) of every webhook of ours that is registered."""

    async def publish(self, bundle: bytes) -> None:
        """Set the caBundle (PEM) of every webhook of ours."""


class CertificateServer(Protocol):
    """Whoever answers handshakes."""

    served: str

    def offer(self, material: Material) -> None:
        """Serve this from the next handshake on; raises CertificateError and keeps the old if it cannot."""


class Rotator:
    """Keeps material valid, published and served.

    Without ``publisher`` it publishes nothing (``dev``), without ``server`` it serves nothing (the controller).
    """

    def __init__(
        self,
        store: MaterialStore,
        *,
        profile: Profile,
        clock: Callable[[], datetime],
        publisher: BundlePublisher | None = None,
        server: CertificateServer | None = None,
    ) -> None:
        self._store, self._profile, self._clock = store, profile, clock
        self._publisher, self._server = publisher, server
        self._last: Material | None = None
        self.held: Held | None = None
        """What was found or made last; for metrics and readiness."""

    async def renew(self) -> Material:
        """Bring material, webhook configurations and server to where they should be now; return the material."""
        for _ in range(ATTEMPTS):
            try:
                return await self._renew_once()
            except ClusterError as error:
                if error.status != 409:
                    raise
        raise CertificateError(f"lost the race for the certificate store {ATTEMPTS} times in a row; another process rewrites it")

    async def follow(self, names: Iterable[str] = ()) -> Material:
        """Serve what the store holds, changing nothing there: for replicas that only read, and for material of others.

        ``names`` are those the certificate must carry.
        """
        found = await self._store.load()
        if found is None:
            raise CertificateError("there is no certificate yet: the store is empty")
        material = Material.of_files(found[0])
        self.held = check_material(material, names, self._clock())
        if self._server is not None and self.held.leaf is not None and self.held.leaf.fingerprint != self._server.served:
            self._server.offer(material)
            _LOG.info("certificate served", reason="the stored certificate is another than the one in use")
        return material

    async def run(self, step: Callable[[], Awaitable[object]], *, stop: asyncio.Event) -> None:
        """Repeat ``renew`` or ``follow`` until ``stop``; a failure is logged, and what works stays in use."""
        while not stop.is_set():
            try:
                await step()
            except GangwardenError as error:
                _LOG.warning("certificates not renewed", reason=str(error), advice=error.advice())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._profile.settings.check_seconds)

    async def _renew_once(self) -> Material:
        found = await self._store.load()
        files, version = found if found is not None else ({}, None)
        stored, now = Material.of_files(files) if files else None, self._clock()
        live = await self._publisher.published() if self._publisher else ()
        before, held = _foundation(stored, self._last, live)
        served = self._server.served if self._server else None
        plan = plan_renewal(held, now=now, profile=self._profile, live=tuple(map(bundle_fingerprints, live)), served=served)
        material = before
        for action in plan:
            material = _changed(material, action, self._profile, now)
        if material != stored:
            await self._store.save(material.as_files(), version)
        self._last, self.held = material, inspect_material(material)
        for action in plan:
            await self._announce(action, material)
        return material

    async def _announce(self, action: Action, material: Material) -> None:
        match action:
            case PublishBundle() if self._publisher is not None:
                await self._publisher.publish(material.ca)
            case ServeLeaf() if self._server is not None:
                self._server.offer(material)
            case _:
                pass
        _LOG.info("certificate action", action=type(action).__name__, reason=action.reason)


def _foundation(stored: Material | None, last: Material | None, live: tuple[bytes, ...]) -> tuple[Material, Held | None]:
    """Return what can be built on, and its facts: None for the facts means that a new authority is needed.

    A store that was emptied or damaged gets back what this process remembers, because callers trust it already. One
    that remembers nothing keeps what the live configurations trust beside the new authority, until it is dropped in
    the usual way: other replicas still serve its leaf.
    """
    candidates = [stored, last]
    if stored is not None:
        candidates.append(Material(ca=stored.ca, ca_key=stored.ca_key))
    for material in candidates:
        if material is None:
            continue
        try:
            return material, inspect_material(material)
        except CertificateError as error:
            if not material.ca_key:
                raise  # somebody else's material is for them to mend
            _LOG.warning("certificate material is unusable", reason=str(error))
    return Material(ca=merged(live)), None


def _changed(material: Material, action: Action, profile: Profile, now: datetime) -> Material:
    match action:
        case MintAuthority():
            pair = mint_authority(profile, now)
            return replace(material, ca=pair.certificate + material.ca, ca_key=pair.key)
        case DropAuthority():
            return replace(material, ca=without(material.ca, action.fingerprint))
        case MintLeaf():
            leaf = mint_leaf(profile, Pair(material.ca, material.ca_key), now)
            return replace(material, certificate=leaf.certificate, key=leaf.key)
        case PublishBundle() | ServeLeaf():
            return material
        case _:
            assert_never(action)
