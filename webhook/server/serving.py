"""Run the application: as the work of a process, or beside other work in an event loop that is not ours.

The end is announced before it comes. ``stop`` makes the replica unready and every answer say ``Connection: close``,
so that the API server's pool runs empty by itself; only ``drain_seconds`` later the listener closes. Without that
phase, 24 of 32 busy connections saw an EOF, and an EOF under failurePolicy Fail is a refused Job.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Callable, Iterator

import uvicorn
from starlette.applications import Starlette

from webhook.errors import UsageError
from webhook.server.crowd import Crowd
from webhook.server.direct import DirectProtocol
from webhook.server.listening import Listener, connection_limits, listen
from webhook.server.metrics import Metrics
from webhook.server.protocol import GuardedConfig
from webhook.server.returning import return_memory
from webhook.settings import ServingSettings


async def serve(
    app: Starlette,
    context: ssl.SSLContext | None,
    serving: ServingSettings,
    *,
    stop: asyncio.Event,
    started: Callable[[int], None] = lambda _port: None,
    metrics: Metrics | None = None,
) -> None:
    """Serve until ``stop`` is set and all is drained; ``started`` is told the port once connections are accepted.

    Installs no signal handlers. ``context`` None serves plain HTTP. Raises UsageError if the address cannot be had.
    Cancelled, it closes at once. ``metrics`` counts connections; None: nobody does.
    """
    most, handshakes = connection_limits(serving)
    crowd = Crowd(most)
    if metrics is not None:
        metrics.connections_are(lambda: len(crowd))
    told = metrics.connection_closed if metrics else _unheard
    server = _Server(GuardedConfig(app, context, serving, stop, crowd=crowd, told=told), started, handshakes)
    beside = [asyncio.create_task(server.leave()), asyncio.create_task(return_memory(server.gone))]
    try:
        await server.serve()
    finally:
        for task in beside:
            task.cancel()
        server.close()


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set ``stop`` at the first SIGTERM or SIGINT; the second one ends the process as usual."""
    loop = asyncio.get_running_loop()

    def first(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, first, number)


def _unheard(_reason: str) -> None:
    """Hear why a connection was closed, and do nothing about it."""


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handlers, its exits, and its patience in a handshake that nothing counts."""

    config: GuardedConfig
    servers: list[Listener]  # type: ignore[assignment]  # uvicorn closes them and waits for them, no more

    def __init__(self, config: GuardedConfig, started: Callable[[int], None], handshakes: int) -> None:
        super().__init__(config)
        self.servers = []
        self._tell, self._handshakes = started, handshakes

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever owns the process."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Listen; uvicorn's own way counts no handshakes and answers a taken port with ``sys.exit``."""
        config, limits = self.config, self.config.serving
        try:
            listening = await listen(limits, backlog=config.backlog)
        except OSError as error:
            raise UsageError(f"cannot listen on {limits.host}:{limits.port}: {error.strerror or error}") from error
        self.servers += [
            Listener(
                one,
                lambda: DirectProtocol(config, self.server_state, self.lifespan.state),
                context=config.ssl,
                patience_seconds=limits.handshake_seconds,
                handshakes=self._handshakes,
                crowd=config.crowd,
                told=config.told,
            )
            for one in listening
        ]
        self.started = True
        self._tell(self.servers[0].port)

    def gone(self) -> int:
        """Return how many connections there have been and are no more."""
        return sum(listener.accepted for listener in self.servers) - len(self.config.crowd)

    async def leave(self) -> None:
        """Wait for ``stop``, let callers notice, and end."""
        await self.config.stop.wait()
        await asyncio.sleep(self.config.serving.drain_seconds)
        self.should_exit = True

    def close(self) -> None:
        """Close what is still open, at once."""
        for listener in self.servers:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
