"""Waiting for a state with a deadline, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for is a state of the code under test, which has no event
            await asyncio.sleep(0.005)
