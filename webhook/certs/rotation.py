"""Carry out renewal plans: the only place in this room that changes anything.

Store, publisher, server and clocks are handed in. Two processes that renew at once meet at the store: the slower one is
told so (409), looks again and finds the work done. What is published cannot fall back to an older state either: the
configurations are read before the store, and written only as they were read.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import assert_never

import structlog

from webhook.certs.foundation import foundation
from webhook.certs.inspection import Held, bundle_fingerprints, check_material, inspect_material
from webhook.certs.material import Material, merged, without
from webhook.certs.minting import Pair, mint_authority, mint_leaf
from webhook.certs.places import BundlePublisher, CertificateServer, LiveBundle, MaterialStore
from webhook.certs.profile import Profile
from webhook.certs.renewal import (
    Action,
    DropAuthority,
    MintAuthority,
    MintLeaf,
    PublishBundle,
    ServeLeaf,
    Sight,
    plan_follow,
    plan_renewal,
)
from webhook.certs.watching import TrustWatch, sight_of, why_distrusted
from webhook.errors import CertificateError, ClusterError, GangwardenError

ATTEMPTS = 5  # lost races in a row; two replicas need two, more mean that something else is wrong
_KEPT_OVERLAPS = 3
"""How long replicas that follow material of others leave former authorities in the caBundle: each of them serves the new
leaf within one overlap and a look, and then the old ones wait twice as long again for slow ones."""
_LOG = structlog.get_logger(__name__)


class Rotator:
    """Keeps material valid, published and served.

    Without ``publisher`` it publishes nothing (``dev``), without a server it serves nothing (``certs init``).
    """

    def __init__(
        self,
        store: MaterialStore,
        *,
        profile: Profile,
        clock: Callable[[], datetime],
        publisher: BundlePublisher | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` tells what is valid; ``timer`` (seconds) how long something has been seen, and never goes back."""
        self._store, self._profile, self._clock, self._timer = store, profile, clock, timer
        self._publisher = publisher
        settings = profile.settings
        self._watch = TrustWatch(credit_seconds=2 * settings.check_seconds, enough_seconds=settings.overlap_seconds)
        self._server: CertificateServer | None = None
        self._serving = b""
        self._lock = asyncio.Lock()
        self._last: Material | None = None
        self.held: Held | None = None
        """What was found or made last; for metrics and readiness."""

    def attach(self, server: CertificateServer, material: Material | None = None) -> None:
        """Offer certificates to this server from now on; ``material`` is what it serves already."""
        self._server, self._serving = server, material.certificate if material else b""

    async def renew(self) -> Material:
        """Bring material, webhook configurations and server to where they should be now; return the material."""
        return await self._until_won(self._renew_once)

    async def follow(self, names: Iterable[str] = ()) -> Material:
        """Publish and serve what the store holds, changing nothing there: for material of others.

        ``names`` are those the certificate must carry. Raises CertificateError for material that callers would refuse;
        what was good before stays published and served.
        """
        wanted = tuple(names)
        return await self._until_won(lambda: self._follow_once(wanted))

    async def replace(self, *, authority: bool) -> Material:
        """Make a new leaf, or a new authority beside the old one, though none is due; the replicas do the rest when they look.

        The leaf keeps its names: who asks need not know them. Raises CertificateError where there is nothing of ours, or
        where the authority that was made last is not in use yet.
        """
        found = await self._store.load()
        if found is None:
            raise CertificateError("there is no certificate yet: the store is empty")
        material = Material.of_files(found[0])
        held = inspect_material(material)
        if not held.has_authority_key:
            raise CertificateError("there is no ca.key: the authority is somebody else's, who must replace it")
        if held.leaf is not None and held.leaf.signed_by != held.authorities[0].fingerprint:
            raise CertificateError("the authority that was made last is not in use yet: replace nothing before it is")
        action = MintAuthority(reason="it was asked for") if authority else MintLeaf(reason="it was asked for")
        profile = self._profile.named_as(held.leaf.names) if held.leaf is not None else self._profile
        material = _changed(material, action, profile, self._clock())
        await self._store.save(material.as_files(), found[1])
        return material

    async def distrust(self) -> str:
        """Say why the API server would refuse the certificate that is served now; empty when it would not."""
        return why_distrusted(self._serving, await self._published(), self._clock()) if self._serving else ""

    async def run(self, step: Callable[[], Awaitable[object]], *, stop: asyncio.Event) -> None:
        """Repeat ``renew`` or ``follow`` until ``stop``; a failure is logged, and what works stays in use."""
        while not stop.is_set():
            try:
                await step()
            except GangwardenError as error:
                _LOG.warning("certificates not renewed", reason=str(error), advice=error.advice())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._profile.settings.check_seconds)

    async def _until_won(self, step: Callable[[], Awaitable[Material]]) -> Material:
        async with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    return await step()
                except ClusterError as error:
                    if error.status != 409:
                        raise
        raise CertificateError(
            f"lost the race for certificates and webhook configurations {ATTEMPTS} times in a row; another process rewrites them"
        )

    async def _renew_once(self) -> Material:
        live = await self._published()  # before the store: what is read there is then no older
        found = await self._store.load()
        files, version = found if found is not None else ({}, None)
        stored, now = Material.of_files(files) if files else None, self._clock()
        material, held = foundation(stored, self._last, tuple(each.bundle for each in live))
        plan = plan_renewal(held, now=now, profile=self._profile, sight=self._look(live, material, now))
        for action in plan:
            material = _changed(material, action, self._profile, now)
        if material != stored:
            await self._store.save(material.as_files(), version)
        self._last, self.held = material, inspect_material(material)
        await self._announce(plan, material, material.ca, live)
        return material

    async def _follow_once(self, names: Iterable[str]) -> Material:
        live = await self._published()
        try:
            material, held = await self._checked(names)
        except CertificateError:
            if self._last is not None and self.held is not None:
                await self._follow(self._last, self.held, live)
            raise
        self._last, self.held = material, held
        await self._follow(material, held, live)
        return material

    async def _checked(self, names: Iterable[str]) -> tuple[Material, Held]:
        found = await self._store.load()
        if found is None:
            raise CertificateError("there is no certificate yet: the store is empty")
        material = Material.of_files(found[0])
        return material, check_material(material, names, self._clock())

    async def _follow(self, material: Material, held: Held, live: Sequence[LiveBundle]) -> None:
        now = self._clock()
        sight, bundle = self._look(live, material, now), material.ca
        signer = held.leaf.signed_by if held.leaf else ""
        if not sight.trusts(signer, _KEPT_OVERLAPS * self._profile.settings.overlap_seconds):
            bundle = merged((material.ca, *(each.bundle for each in live)))
        plan = plan_follow(held, bundle=bundle_fingerprints(bundle), now=now, profile=self._profile, sight=sight)
        await self._announce(plan, material, bundle, live)

    async def _published(self) -> Sequence[LiveBundle]:
        return await self._publisher.published() if self._publisher else ()

    def _look(self, live: Sequence[LiveBundle], material: Material, now: datetime) -> Sight:
        seconds = self._watch.look(live, self._timer())
        served = self._server.served if self._server else None
        return sight_of(live, seconds, served=served, certificate=self._serving, ca=material.ca, now=now)

    async def _announce(self, plan: Iterable[Action], material: Material, bundle: bytes, live: Sequence[LiveBundle]) -> None:
        for action in plan:
            if isinstance(action, PublishBundle) and self._publisher is not None:
                versions = {each.place: each.version for each in live if not each.foreign}
                await self._publisher.publish(bundle, versions)
            if isinstance(action, ServeLeaf) and self._server is not None:
                self._server.offer(material)
                self._serving = material.certificate
            _LOG.info("certificate action", action=type(action).__name__, reason=action.reason)


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
