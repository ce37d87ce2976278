"""One timer for a connection, which is set anew several times in each request and hardly ever rings.

Setting it notes when it is due. The event loop's own timer is touched only where that would ring too late; where it rings too
early, it is set for the rest. So a busy connection costs a timer every few seconds and not five a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_GRAIN_SECONDS = 0.001
"""Event loops keep time in milliseconds and may be early by one."""


class Clock:
    """Rings at a moment that may be moved."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self._at = self._due = 0.0
        self._ring: Callable[[str], None] | None = None
        self._word = ""

    def set(self, seconds: float, ring: Callable[[str], None], word: str) -> None:
        """Call ``ring`` with a word after some seconds, instead of whatever was set before."""
        self._due = self._loop.time() + seconds
        self._ring, self._word = ring, word
        if self._handle is None or self._due < self._at:
            self._schedule()

    def stop(self) -> None:
        """Do not ring until it is set again."""
        self._ring = None

    def end(self) -> None:
        """Let go of the loop's timer, which would keep the connection in memory."""
        self._ring = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _schedule(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._at = self._due
        self._handle = self._loop.call_later(max(self._due - self._loop.time(), 0.0), self._rings)

    def _rings(self) -> None:
        self._handle = None
        if self._ring is None:
            return
        if self._due - self._loop.time() > _GRAIN_SECONDS:
            self._schedule()
            return
        ring, self._ring = self._ring, None
        ring(self._word)
