"""One leader at a time, by a Lease.

The package's electors were tried first (kubernetes 37.0.2): the synchronous one goes on leading when the API server is
down or hangs, the asynchronous one cannot create a Lease, writes local time as UTC and swallows the work's exceptions.
Each of these is a test in ``tests/cluster/test_elector.py``. The protocol is client-go's (leaderelection.go).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.settings import ControllerSettings

_LOG = structlog.get_logger(__name__)


class Elector:
    """Runs work while it holds the Lease. ``identity`` must differ between processes, also of one pod."""

    def __init__(
        self, api: Api, settings: ControllerSettings, *, identity: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api, self._settings, self._identity, self._clock = api, settings, identity, clock
        self._key = ObjectKey("coordination.k8s.io", "Lease", settings.namespace, settings.lease_name)
        self._renewed = float("-inf")
        """When the last successful attempt began, by our own clock."""
        self._seen: tuple[str, float] = ("", 0.0)
        """The Lease's version and when we first saw it: another's age is judged by our clock, never by its words."""

    @property
    def leading(self) -> bool:
        """Tell whether writes are allowed: the Lease is ours and was renewed within the deadline."""
        return self._clock() - self._renewed < self._settings.renew_deadline_seconds

    def fence(self) -> None:
        """Raise ClusterError unless leading; ``Api.fenced`` calls it before every write."""
        if not self.leading:
            raise ClusterError(
                f"{self._identity} does not lead; nothing is written", verb="lead", key=str(self._key), reason="Fenced"
            )

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, then work; after a loss wait again. Returns or raises when the work does."""
        while True:
            if not await self._attempt():
                await asyncio.sleep(self._settings.retry_seconds * random.uniform(1, 1.2))  # noqa: S311 - client-go's jitter
                continue
            _LOG.info("leading", identity=self._identity, lease=str(self._key))
            if await self._lead(work):
                return
            _LOG.warning("leadership lost; the work was stopped", identity=self._identity, lease=str(self._key))

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Work and renew; True when the work ended by itself. It never outlives the Lease, and the Lease is given back."""
        task = asyncio.ensure_future(work())
        try:
            while self.leading:
                await asyncio.wait({task}, timeout=self._settings.retry_seconds)
                if task.done():
                    await task
                    return True
                await self._attempt()
            return False
        finally:
            try:
                await _end(task)
            finally:
                if self.leading:
                    await self._release()
                self._renewed = float("-inf")

    async def _attempt(self) -> bool:
        """Take or renew the Lease; a failed call is only told (also 409: a write in between), time decides."""
        began, deadline = self._clock(), self._settings.renew_deadline_seconds
        left = deadline - (began - self._renewed) if self.leading else deadline
        try:
            async with asyncio.timeout(left):
                held = await self._take(deadline / 2)
        except (ClusterError, TimeoutError) as error:
            _LOG.warning("the Lease could not be renewed", lease=str(self._key), error=str(error) or "no answer in time")
            return False
        self._renewed = began if held else float("-inf")
        return held

    async def _take(self, wait: float) -> bool:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours: Object = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._settings.lease_seconds),
            "renewTime": now,
        }
        try:
            lease = await self._api.get(self._key, timeout_seconds=wait)
        except ClusterError as error:
            if error.status != 404:
                raise
            await self._api.create(self._lease({}, ours | {"acquireTime": now, "leaseTransitions": 0}))
            return True
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder != self._identity:
            if holder and not self._is_over(lease):
                return False
            ours |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1}
        await self._api.replace(self._lease(metadata_of(lease), spec | ours), timeout_seconds=wait)
        return True

    def _lease(self, metadata: Object, spec: Object) -> Object:
        named = metadata | {"namespace": self._key.namespace, "name": self._key.name}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": named, "spec": spec}

    def _is_over(self, lease: Object) -> bool:
        version = str(metadata_of(lease).get("resourceVersion"))
        if version != self._seen[0]:
            self._seen = (version, self._clock())
        lasts = float((lease.get("spec") or {}).get("leaseDurationSeconds") or self._settings.lease_seconds)
        return self._clock() - self._seen[1] >= lasts

    async def _release(self) -> None:
        """Give the Lease back, so that the next leader need not wait for it to run out."""

        def edit(lease: Object) -> Object | None:
            spec = lease.get("spec") or {}
            return (
                lease | {"spec": spec | {"holderIdentity": "", "leaseDurationSeconds": 1}}
                if spec.get("holderIdentity") == self._identity
                else None
            )

        try:
            await self._api.change(self._key, edit)
        except ClusterError as error:
            _LOG.warning("the Lease could not be given back; it runs out by itself", lease=str(self._key), error=str(error))


async def _end(task: asyncio.Future[None]) -> None:
    """Stop the work and wait for it: two leaders at once are what all of this is against."""
    if task.done():
        return
    task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:  # ours, while the work is still ending
            cancelled = error
    if not task.cancelled() and (failure := task.exception()) is not None:
        _LOG.error("the work failed while it was being stopped", error=repr(failure))
    if cancelled is not None:
        raise cancelled
