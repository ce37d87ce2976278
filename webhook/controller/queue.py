"""A queue of keys for one kind of work: each key is handled by one worker at a time, and never twice for one change.

The shape is that of client-go's rate-limited work queue (util/workqueue): a key added while it is being handled is
handled once more afterwards; a failed one comes back after a pause that doubles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog

_LOG = structlog.get_logger(__name__)
Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """Keys that wait to be handled. Belongs to one event loop."""

    def __init__(self, *, backoff_initial_seconds: float, backoff_limit_seconds: float) -> None:
        self._initial, self._limit = backoff_initial_seconds, backoff_limit_seconds
        self._ready: asyncio.Queue[Key] = asyncio.Queue()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        """Return how many keys wait, without those that a timer holds."""
        return len(self._queued)

    def add(self, key: Key) -> None:
        """Have a key handled soon."""
        if key in self._active:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Have a key handled after some seconds; the earlier of two such wishes counts."""
        loop = asyncio.get_running_loop()
        held = self._timers.get(key)
        if held is not None and held.when() <= loop.time() + seconds:
            return
        if held is not None:
            held.cancel()
        self._timers[key] = loop.call_later(seconds, self._fire, key)

    async def serve(self, handle: Callable[[Key], Awaitable[bool]], *, on_bug: Callable[[Key], None]) -> None:
        """Have keys handled one by one until cancelled; one for which ``handle`` says false comes back after a pause.

        So does one at which it raised: ``on_bug`` is called then, with the exception at hand, and all others go on.
        """
        while True:
            key = await self.take()
            try:
                succeeded = await handle(key)
            except Exception:  # noqa: BLE001 - a bug on one key must not stop the work on all others
                on_bug(key)
                succeeded = False
            if succeeded:
                self.done(key)
            else:
                _LOG.warning("will try again", key=str(key), after_seconds=self.failed(key))

    async def take(self) -> Key:
        """Wait for a key; the caller must answer with ``done`` or ``failed``."""
        key = await self._ready.get()
        self._queued.discard(key)
        self._active.add(key)
        return key

    def done(self, key: Key) -> None:
        """Say that a key was handled."""
        self._failures.pop(key, None)
        self._release(key)

    def failed(self, key: Key) -> float:
        """Say that handling failed; the key comes back after the returned number of seconds."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        pause = min(self._initial * 2.0 ** min(count - 1, 30), self._limit)
        self._release(key)
        self.add_after(key, pause)
        return pause

    def close(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _fire(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _release(self, key: Key) -> None:
        self._active.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
