"""Accept connections and bring them through their handshake, no more at once than fit.

An event loop's own server counts nothing before the handshake is over. Connections that never finish it hold 55 KB each
(measured), so a few thousand a second of them would take all memory before their time is up. Here the oldest one goes.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable
from functools import partial

import structlog

from webhook.server.crowd import Crowd
from webhook.settings import ServingSettings

_BATCH = 64
"""Connections accepted before others get their turn."""
_PAUSE_SECONDS = 0.1
"""Until the next try where the system has no more files to give."""
_OWN_FILES = 256
"""Files that are not connections to us: watches and calls of the API server, policies, certificates."""
_LOG = structlog.get_logger(__name__)


def allow_files(wanted: int) -> int:
    """Raise the limit of open files as far as needed and allowed; returns how many connections that leaves room for.

    Many containers begin with a soft limit of 1,024 (containerd 2). Go programs raise theirs when they start, Python does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OWN_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(soft - _OWN_FILES, 2)


def connection_limits(serving: ServingSettings) -> tuple[int, int]:
    """Return how many connections may be open, and how many more in their handshake, with the files that there are."""
    wanted = serving.connection_limit + serving.handshake_limit
    given = allow_files(wanted)
    if given < wanted:
        _LOG.warning("fewer connections than planned: raise the limit of open files (RLIMIT_NOFILE)", fit=given, planned=wanted)
    handshakes = max(serving.handshake_limit * given // wanted, 1)
    return min(serving.connection_limit, given - handshakes), handshakes


async def listen(serving: ServingSettings, *, backlog: int) -> list[socket.socket]:
    """Return a listening socket for each address of the host; OSError if one cannot be had."""
    infos = await asyncio.get_running_loop().getaddrinfo(
        serving.host, serving.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    found = []
    for family, address in dict.fromkeys((info[0], info[4]) for info in infos):
        found.append(socket.create_server(address[:2], family=family, backlog=backlog))
        found[-1].setblocking(False)
    return found


class Listener:
    """One listening socket."""

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[], asyncio.Protocol],
        *,
        context: ssl.SSLContext | None,
        patience_seconds: float,
        handshakes: int,
        crowd: Crowd,
        told: Callable[[str], None],
    ) -> None:
        """``make`` returns a protocol for a connection; ``told`` hears why one ended before it had its own."""
        self._socket, self._make, self._crowd, self._told, self._limit = listening, make, crowd, told, handshakes
        self._context, self._patience = context, patience_seconds if context else None
        self._joining: dict[asyncio.Task[None], socket.socket] = {}
        self.accepted = 0
        """How many connections there have been."""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._resume()

    @property
    def port(self) -> int:
        """Return the port that it listens on."""
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Stop listening; connections that are being made are dropped."""
        if self._timer is not None:
            self._timer.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()
        for task in self._joining:
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until nothing is left of those that were being made."""
        while self._joining:
            await asyncio.wait(self._joining)

    def _resume(self) -> None:
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for _ in range(_BATCH):
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            accepted.setblocking(False)
            self.accepted += 1
            self._make_room()
            task = self._loop.create_task(self._join(accepted))
            self._joining[task] = accepted
            task.add_done_callback(partial(self._joined, accepted))

    def _make_room(self) -> None:
        """Give up the handshake that has taken longest where too many are going on."""
        if len(self._joining) >= self._limit:
            oldest = next(iter(self._joining))
            self._joining.pop(oldest)
            oldest.cancel()

    async def _join(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=self._patience,
                ssl_shutdown_timeout=self._patience,
            )
        except OSError:  # a handshake that failed, hung up or took too long; errors of TLS are of this kind too
            self._told("handshake")

    def _joined(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        self._joining.pop(task, None)
        if task.cancelled():
            self._told("handshake")
            accepted.close()  # nobody else does where the task had not begun

    def _pause(self, error: OSError) -> None:
        """Wait for files, with one connection less."""
        _LOG.warning("no connection could be accepted", error=error.strerror, relieved=self._crowd.relieve())
        self._loop.remove_reader(self._socket)
        self._timer = self._loop.call_later(_PAUSE_SECONDS, self._resume)
