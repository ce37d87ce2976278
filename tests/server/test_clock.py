"""A clock rings once, when it is due by its last setting, and not after it was stopped."""

from __future__ import annotations

import asyncio

from webhook.server.clock import Clock


async def rung(*settings: float, stop: bool = False) -> list[str]:
    """Set a clock several times, wait longer than any, and return what it rang."""
    loop, heard = asyncio.get_running_loop(), list[str]()
    clock = Clock(loop)
    for number, seconds in enumerate(settings):
        clock.set(seconds, heard.append, str(number))
    if stop:
        clock.stop()
    done = asyncio.Event()
    loop.call_later(max(settings) + 0.05, done.set)
    await done.wait()
    clock.end()
    return heard


async def test_it_rings_once_by_its_last_setting() -> None:
    assert await rung(0.01) == ["0"]
    assert await rung(0.01, 0.03) == ["1"]
    assert await rung(0.05, 0.01) == ["1"]
    assert await rung(0.0) == ["0"]


async def test_a_stopped_clock_is_silent_and_can_be_set_again() -> None:
    assert await rung(0.01, stop=True) == []
    loop, ringing = asyncio.get_running_loop(), asyncio.Event()
    clock = Clock(loop)
    clock.set(0.01, lambda _: ringing.set(), "")
    clock.stop()
    clock.set(0.02, lambda _: ringing.set(), "")
    await asyncio.wait_for(ringing.wait(), 60)
    clock.end()
    clock.end()
