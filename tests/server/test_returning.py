"""When the memory of connections that are gone is given back to the system, and that this does give it back."""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys

import pytest

from tests.server.running import PATIENCE, running
from webhook.server import serving
from webhook.server.returning import return_memory

HELD = """
import ctypes
from webhook.server.returning import trim

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]


def resident():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


blocks = [libc.malloc(64 * 1024) for _ in range(4096)]
for block in blocks:
    ctypes.memset(block, 1, 64 * 1024)
for block in blocks[:-1]:
    libc.free(block)
kept = resident()
trim()
print(kept - resident())
"""
"""256 MiB in blocks of which all but the topmost are free: those stay where they are."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other C library gives memory back when asked")
def test_what_is_free_below_what_is_not_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) > 200


@pytest.mark.parametrize(
    ("counts", "given"),
    [
        pytest.param([0, 999, 999], [], id="too few"),
        pytest.param([1000], [1000], id="a thousand"),
        pytest.param([400, 1100, 1500, 2099, 2100, 2100], [1100, 2100], id="each further thousand"),
    ],
)
async def test_memory_is_given_back_after_each_thousand_that_is_gone(counts: list[int], given: list[int]) -> None:
    at: list[int] = []
    left = iter(counts)
    now = 0

    def gone() -> int:
        nonlocal now
        now = next(left)  # the end of them ends the task
        return now

    with pytest.raises(RuntimeError, match="StopIteration"):
        await return_memory(gone, give_back=lambda: at.append(now), look_seconds=0.0)
    assert at == given


async def test_connections_that_are_gone_are_counted_with_those_that_never_were_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def noted(gone: object) -> None:
        asked.append(gone)

    monkeypatch.setattr(serving, "return_memory", noted)
    async with running() as server:
        (gone,) = asked
        staying = await server.connect()
        for _ in range(3):
            (await server.connect()).close()
        rude = await asyncio.open_connection("127.0.0.1", server.port)
        rude[1].write(b"no handshake")
        async with asyncio.timeout(PATIENCE):
            while gone() != 4:  # type: ignore[operator]  # what the server handed over  # noqa: ASYNC110 - counted by nobody who could tell
                await asyncio.sleep(0.01)
        rude[1].close()
        assert (await staying.post(b"{}")).status == 400
