"""Give the memory of connections that are gone back to the system.

glibc keeps what is freed below something that is not, and what a connection needs is of many sizes: OpenSSL's buffers, and
256 KiB for uvloop of which a few pages are touched. So every crowd that comes and goes leaves some of it, and the next one
touches other pages. Three times 10,000 connections left 290, 410 and 510 MiB (measured); given back, there are 120 each time,
and that takes 10 to 30 ms beside the event loop.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable

_LOOK_SECONDS = 15.0
_CROWD = 1_000
"""Connections that leave less than this many do not pay: 35 to 55 KB each. An API server opens a few in a minute."""


def trim() -> None:
    """Give back what is free; nothing where the C library is not glibc."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if give_back is not None:
        give_back(0)


async def return_memory(
    gone: Callable[[], int], *, give_back: Callable[[], None] = trim, look_seconds: float = _LOOK_SECONDS
) -> None:
    """Give memory back whenever another thousand connections are gone, until cancelled; ``gone`` tells how many are in all."""
    seen = 0
    while True:
        await asyncio.sleep(look_seconds)
        count = gone()
        if count - seen >= _CROWD:
            await asyncio.to_thread(give_back)
            seen = count
