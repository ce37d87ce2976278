"""Guard each connection: uvicorn has no limit on headers and no clock for slow senders.

Measured on uvicorn 0.54: headers or a body that stall are waited for without end, each with a live task, and 64 MB of
headers are read into memory. So this subclass sets a timer at each stage and counts header bytes. It parses nothing.
``HttpToolsProtocol`` is not a stable interface, which is why uvicorn is pinned to a minor version and every limit here
has a test over a socket.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from webhook.server.crowd import Crowd
from webhook.settings import ServingSettings

CONNECTION_STATE = "tls"
"""Key in the state of a request under which its TLS connection stands, where callers are asked for certificates."""
_AROUND_FIELD = 4
"""Bytes of a header line besides its name and value."""
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 25\r\n\r\nthe headers are too large"
)


class GuardedConfig(uvicorn.Config):
    """uvicorn's configuration with our limits, for the protocol to find."""

    def __init__(
        self,
        app: Starlette,
        context: ssl.SSLContext | None,
        serving: ServingSettings,
        stop: asyncio.Event,
        *,
        crowd: Crowd,
        told: Callable[[str], None],
    ) -> None:
        """``told`` hears why a connection was closed that its caller would have kept."""
        super().__init__(
            app,
            host=serving.host,
            port=serving.port,
            http=GuardedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,  # a line per decision is written where the decision is known
            proxy_headers=False,
            server_header=False,
            workers=1,
            timeout_keep_alive=serving.keep_alive_seconds,
            timeout_graceful_shutdown=serving.shutdown_seconds,
            ssl_context_factory=(lambda _config, _default: context) if context else None,
        )
        self.serving, self.stop, self.crowd, self.told = serving, stop, crowd, told
        self.heads: dict[bytes, Any] = {}
        """What is known of requests by their heads; see ``direct``."""
        self.asks_for_certificates = context is not None and context.verify_mode is not ssl.CERT_NONE


class GuardedProtocol(HttpToolsProtocol):
    """One connection with clocks and a bound on headers."""

    def __init__(
        self,
        config: GuardedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits, self._stop, self._asks = config.serving, config.stop, config.asks_for_certificates
        self._crowd, self._told = config.crowd, config.told
        self._timer: asyncio.TimerHandle | None = None
        self._in_headers, self._in_message, self._began, self._refused = True, False, False, False
        self._arrived = self._fields = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's own class
        """Take a connection, or close it at once when there are too many and every one is being answered."""
        super().connection_made(transport)
        if not self._crowd.enter(self):
            self.cut("full")
            return
        if self._asks:
            self.app_state = {**self.app_state, CONNECTION_STATE: transport.get_extra_info("ssl_object")}
        # Nobody needs a parked connection to a server that leaves, and it would hold up the exit.
        patience = self._limits.drain_seconds if self._stop.is_set() else self._limits.first_byte_seconds
        self._arm(min(patience, self._limits.first_byte_seconds), "silent")

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and count what is not body: headers, but also trailers and what stands between chunks."""
        if self._refused or self.transport.is_closing():
            return
        self._arrived += len(data)
        was_idle, self._began = self.timeout_keep_alive_task is not None, False
        super().data_received(data)
        if (self._in_headers or self._in_message) and self._arrived > self._limits.header_limit_bytes:
            self._refuse_headers()
        elif was_idle and not self._began:
            # Blank lines between requests stop uvicorn's keep-alive clock, and begin no request that has ours.
            self._arm(self._limits.keep_alive_seconds, "silent")

    def on_message_begin(self) -> None:
        """Start the clock of the headers at their first byte."""
        super().on_message_begin()
        self._in_headers = self._in_message = self._began = True
        self._arrived = self._fields = 0
        self._crowd.begins(self)
        self._arm(self._limits.request_seconds, "slow")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count one header, with what stands around it: thousands of empty ones are no small request."""
        self._fields += len(name) + len(value) + _AROUND_FIELD
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application, and start the clock of the body."""
        self._in_headers = False
        if self._fields + len(self.url) > self._limits.header_limit_bytes:  # all in one read, so not counted before
            self._refuse_headers()
            return
        super().on_headers_complete()
        if self._stop.is_set():
            self.cycle.keep_alive = False  # empties the caller's pool without ever closing under a request
        self._arm(self._limits.request_seconds, "slow")

    def on_body(self, body: bytes) -> None:
        """Pass a piece of the body on."""
        self._arrived -= len(body)
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the clock: from here on, time is ours, unless the answer is out already."""
        self._in_message = False
        if not self._refused:
            self._disarm()
            if self.cycle.response_complete:
                # The pieces of a body that nobody reads have stopped uvicorn's keep-alive clock.
                self._arm(self._limits.keep_alive_seconds, "silent")
            self._note_turn()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Let it rest, unless the next request has come already."""
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self._crowd.rests(self)

    def pause_writing(self) -> None:
        """Start a clock for a caller that does not read its answer."""
        super().pause_writing()
        self._crowd.rests(self)
        self._arm(self._limits.request_seconds, "slow")

    def resume_writing(self) -> None:
        """Stop that clock."""
        super().resume_writing()
        if not self._in_message:
            self._note_turn()
            self._disarm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._crowd.leave(self)
        self._disarm()
        super().connection_lost(exc)

    def cut(self, reason: str) -> None:
        """Close it at once, whatever it is in the middle of."""
        self._told(reason)
        self.transport.abort()

    def _note_turn(self) -> None:
        """Note whose turn it is once a request is there: ours, or the caller's where it is answered."""
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn declares
        if cycle is None or cycle.response_complete:
            self._crowd.rests(self)
        else:
            self._crowd.works(self)

    def _refuse_headers(self) -> None:
        self._refused = True
        self._told("headers")
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _arm(self, seconds: float, reason: str) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self.cut, reason)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
