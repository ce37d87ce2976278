"""Watching policy files at the standard of KEP-5793: notifications plus polling, content hash, validate, then swap.

Notifications (inotify) only wake the loop early. What decides is the hash of all names and contents, read every
``poll_seconds`` and whenever woken: that sees ConfigMap flips, files renamed over others, deletions and mounts on which
no notification comes (configmap-reload 190, opa 2588). Files are taken once two readings in a row are equal.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from watchfiles import awatch

from webhook.admission.policyset import PolicySet
from webhook.errors import PolicyError, PolicySetError
from webhook.policies.files import Sources, read_sources
from webhook.policies.load import compile_sources
from webhook.policies.store import PolicyStore, Swap
from webhook.settings import ReloadSettings

_TURN_SECONDS = 0.0005
"""How long loading keeps other threads waiting for their turn; Python's own 5 ms are several reviews."""
_YOUNG_OBJECTS, _NEVER = 5_000, 2**31 - 1
"""After how many new objects these are looked through while loading, which takes about a millisecond; and the older ones."""
_SETTLE_ROUNDS = 50
"""Rounds of settling after which changing files are taken as they are, so that a busy writer cannot hold us off."""


class PolicyWatcher:
    """Keeps a store in step with its files until it is told to stop."""

    def __init__(
        self,
        paths: Sequence[str | Path],
        store: PolicyStore,
        *,
        settings: ReloadSettings | None = None,
        told: Callable[[Swap], None] = lambda _: None,
    ) -> None:
        self._paths, self._store, self._told = tuple(paths), store, told
        self._settings = settings or ReloadSettings()
        self._seen = store.current.revision
        self._woken = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Watch until ``stop`` is set. ``told`` hears of every attempt, also of failed ones."""
        notices = asyncio.create_task(self._listen(stop))
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self.check()
                waking = asyncio.create_task(self._woken.wait())
                await asyncio.wait((waking, stopping), timeout=self._settings.poll_seconds, return_when=asyncio.FIRST_COMPLETED)
                waking.cancel()
                self._woken.clear()
        finally:
            for task in (notices, stopping):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def check(self) -> Swap | None:
        """Look once; returns what came of it, or None when nothing has changed since the last look."""
        sources = await self._read()
        if sources.revision == self._seen:
            return None
        sources = await self._settled(sources)
        self._seen = sources.revision
        begun = time.monotonic()
        offered = await asyncio.to_thread(_compile_beside, sources)
        swap = replace(self._store.offer(offered), seconds=time.monotonic() - begun)
        self._told(swap)
        return swap

    async def _settled(self, sources: Sources) -> Sources:
        """Read until nothing changes any more: editors and copies write in several steps."""
        for _ in range(_SETTLE_ROUNDS):
            await asyncio.sleep(self._settings.settle_seconds)
            again = await self._read()
            if again.revision == sources.revision:
                break
            sources = again
        return again

    async def _read(self) -> Sources:
        return await asyncio.to_thread(read_sources, self._paths, limit_bytes=self._settings.file_limit_bytes)

    async def _listen(self, stop: asyncio.Event) -> None:
        """Wake the loop at every notification; where none can be had, polling alone goes on."""
        folders = {path if path.is_dir() else path.parent for path in map(Path, self._paths) if path.exists()}
        if not folders:
            return
        with suppress(OSError, RuntimeError):  # no inotify here, or its limits are used up
            async for _ in awatch(*folders, watch_filter=None, stop_event=stop, step=50, debounce=200):
                self._woken.set()


def _compile_beside(sources: Sources) -> PolicySet | PolicySetError:
    """Load while the process goes on answering, which must not notice it.

    A collection of all objects would hold every review for half a second where there are hundreds of policies. So only what is
    new is looked through while loading, often and a little at a time: with none at all, what reviews leave behind meanwhile
    would never be collected. What is there afterwards counts as old without having been looked through once more.
    """
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    gc.collect(1)
    gc.set_threshold(_YOUNG_OBJECTS, _NEVER, _NEVER)
    sys.setswitchinterval(_TURN_SECONDS)
    try:
        return _compile(sources)
    finally:
        sys.setswitchinterval(interval)
        gc.collect(0)
        gc.freeze()
        gc.unfreeze()  # into the oldest generation, however young it is
        gc.set_threshold(*thresholds)


def _compile(sources: Sources) -> PolicySet | PolicySetError:
    try:
        return compile_sources(sources)
    except PolicySetError as error:
        return _without_frames(error)
    except Exception as error:  # noqa: BLE001 - a bug of ours that some file lays bare must not end the watching (GHSA-r5p3-955p-5ggq)
        path = ", ".join(file.path for file in sources.files[:3])
        return PolicySetError([PolicyError(f"internal error while loading: {type(error).__name__}: {error}", path=path)])


def _without_frames(error: PolicySetError) -> PolicySetError:
    """Let go of all that was loaded in vain: errors hold frames and frames errors, which only a full collection would undo."""
    waiting: list[BaseException | None] = [error, *error.errors]
    while waiting:
        each = waiting.pop()
        if each is not None:
            waiting += (each.__cause__, each.__context__)
            each.__traceback__ = each.__cause__ = each.__context__ = None
    return error
