"""A Service of the test: one address, behind it the replicas that are ready, as endpoints controller and kube-proxy have it.

A connection goes to one replica for as long as it lasts. A replica is asked for its readiness as kubelet asks; one that is on
its way out is taken out by whoever sends it away, whatever it says of itself. What runs already is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from dataclasses import dataclass
from typing import Self

import uvloop

PROBE_SECONDS, PROBE_TIMEOUT_SECONDS, FAILURES = 0.5, 5.0, 3
"""A probe every half second; three that failed in a row, as Kubernetes counts by default, take a replica out."""


@dataclass
class _Backend:
    ready: bool = False
    failures: int = 0


class Service:
    """Listens on loopback in a thread of its own; replicas are named by their ports."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.refused = self.connections = 0
        """Connections for which no replica was ready, or whose replica did not take them; and all."""
        self._backends: dict[int, _Backend] = {}
        self._turn = 0
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="service", daemon=True)
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE  # kubelet does not verify either

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._begin(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        """Drop every connection and listen no more."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def add(self, port: int) -> None:
        """Begin to ask a replica whether it is ready."""
        self._loop.call_soon_threadsafe(self._backends.setdefault, port, _Backend())

    def take_out(self, port: int) -> None:
        """Send nobody there any more."""
        self._loop.call_soon_threadsafe(self._backends.pop, port, None)

    def is_ready(self, port: int) -> bool:
        """Tell whether connections may go to this replica."""
        backend = self._backends.get(port)
        return backend is not None and backend.ready

    async def _begin(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)
        self._prober = asyncio.create_task(self._probe_all())

    async def _end(self) -> None:
        self._server.close()
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=5)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        ready = [port for port, backend in self._backends.items() if backend.ready]
        self._turn += 1
        try:
            if not ready:
                raise ConnectionRefusedError
            there = await asyncio.open_connection("127.0.0.1", ready[self._turn % len(ready)])
        except OSError:
            self.refused += 1
            writer.transport.abort()
            return
        await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))

    async def _probe_all(self) -> None:
        while True:
            await asyncio.gather(*(self._probe(port, backend) for port, backend in list(self._backends.items())))
            await asyncio.sleep(PROBE_SECONDS)

    async def _probe(self, port: int, backend: _Backend) -> None:
        if await self._says_ready(port):
            backend.ready, backend.failures = True, 0
            return
        backend.failures += 1
        backend.ready = backend.ready and backend.failures < FAILURES

    async def _says_ready(self, port: int) -> bool:
        writer = None
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=self._context)
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
        except (OSError, TimeoutError):
            return False
        finally:
            if writer is not None:
                writer.transport.abort()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Carry bytes one way, and the end of them as well."""
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.close()
