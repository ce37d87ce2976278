"""The first look at a cluster that may not answer yet: a process that starts beside its API server waits, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from webhook.errors import ClusterError

_AGAIN_SECONDS = 1.0


async def look_until_answered(look: Callable[[], Awaitable[None]], timeout_seconds: float) -> None:
    """Look until it succeeds; raises the last ClusterError when it does not in time."""
    deadline = asyncio.get_running_loop().time() + timeout_seconds
    while True:
        try:
            await look()
        except ClusterError:
            if asyncio.get_running_loop().time() + _AGAIN_SECONDS > deadline:
                raise
            await asyncio.sleep(_AGAIN_SECONDS)
        else:
            return
