"""Answer the reviews of an API server's pool in the reading of their last byte, without a task and the layers of ASGI.

Those layers cost three times what a small review does. What is answered here is what an API server sends: a POST of announced,
moderate length to a path of ours, on a connection that is kept, with nothing unanswered before it. Everything else, and every
review for which something must be asked first, goes the way of all requests. The clocks and bounds of a connection are the same.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any, cast
from urllib.parse import parse_qsl

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from webhook.errors import ReviewError
from webhook.server.clock import Clock
from webhook.server.protocol import GuardedConfig, GuardedProtocol
from webhook.server.reviewing import BEGUN, Incoming, Pending, Reply, ReviewHandler

_QUERY_LIMIT = 64
"""Longest query that is remembered; the API server's says how long it waits."""
_ODD = frozenset({b"transfer-encoding", b"expect", b"upgrade"})


class DirectProtocol(GuardedProtocol):
    """A connection of which most requests are answered at once."""

    def __init__(
        self,
        config: GuardedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._handlers: dict[bytes, ReviewHandler] = getattr(config.app.state, "at_once", {})  # type: ignore[union-attr]  # Starlette
        self._handler: ReviewHandler | None = None
        self._incoming: Incoming | None = None
        self._pieces: list[bytes] = []
        self._clock = Clock(self.loop)

    def on_headers_complete(self) -> None:
        """Take the review over, or leave the request to all others."""
        handler = self._handlers.get(self.url.partition(b"?")[0])
        incoming = handler.begin() if handler is not None and self._is_usual() else None
        if incoming is None:
            super().on_headers_complete()
            return
        self._handler, self._incoming = handler, incoming
        self._in_headers = False
        self._arm(self._limits.request_seconds, "slow")

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body, and count it."""
        if self._incoming is None:
            super().on_body(body)
            return
        self._arrived -= len(body)
        self._pieces.append(body)
        try:
            self._incoming.held.add(len(body))
        except ReviewError:
            self._hand_over()

    def on_message_complete(self) -> None:
        """Answer the review."""
        handler, incoming = self._handler, self._incoming
        if handler is None or incoming is None:
            super().on_message_complete()
            return
        reply: Reply | Pending | None = None
        if not self._stop.is_set():  # then the caller must be told to close
            body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            reply = handler.answer(incoming, body, _timeout_in(self.url.partition(b"?")[2]))
        if not isinstance(reply, Reply):
            self._hand_over()
            if reply is not None:
                self.scope["state"][BEGUN] = reply
            super().on_message_complete()
            return
        self._forget(abandoned=False)
        self._in_message = False
        self.transport.write(self._rendered(reply))
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self._crowd.rests(self)
        self.timeout_keep_alive_task = _AT_REST
        self._clock.set(self._limits.keep_alive_seconds, self._leave, "")

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back what a review held that has not arrived whole."""
        if self._incoming is not None:
            self._forget(abandoned=True)
        super().connection_lost(exc)
        self._clock.end()

    def shutdown(self) -> None:
        """Close, unless a review is arriving: it is answered first."""
        if self._incoming is None:
            super().shutdown()

    def _is_usual(self) -> bool:
        """Tell whether a request is one that an API server sends, and there is nothing before it that waits."""
        headers, cycle = dict(self.headers), cast("RequestResponseCycle | None", self.cycle)
        length = headers.get(b"content-length", b"")
        return (
            (cycle is None or cycle.response_complete)
            and not self.pipeline
            and not self.flow.write_paused
            and not self._stop.is_set()
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and self._fields + len(self.url) <= self._limits.header_limit_bytes
            and len(self.url) <= _QUERY_LIMIT
            and headers.get(b"content-type") == b"application/json"
            and len(headers) == len(self.headers)
            and headers.keys().isdisjoint(_ODD)
            and length.isdigit()
            and 0 < int(length[:20]) <= min(self._limits.inline_limit_bytes, self._limits.body_limit_bytes)
        )

    def _arm(self, seconds: float, reason: str) -> None:
        self._clock.set(seconds, self.cut, reason)

    def _disarm(self) -> None:
        self._clock.stop()

    def _leave(self, _: str) -> None:
        """Close a connection that rests, as uvicorn does."""
        self.timeout_keep_alive_handler()

    def _hand_over(self) -> None:
        """Let the application read the request from its beginning."""
        pieces = self._pieces
        self._forget(abandoned=False)
        super().on_headers_complete()
        for piece in pieces:
            HttpToolsProtocol.on_body(self, piece)  # counted already

    def _forget(self, *, abandoned: bool) -> None:
        handler, incoming = self._handler, self._incoming
        self._handler, self._incoming, self._pieces = None, None, []
        if handler is not None and incoming is not None:
            handler.end(incoming, abandoned=abandoned)

    def _rendered(self, reply: Reply) -> bytes:
        content_type = "text/plain; charset=utf-8" if reply.media_type == "text/plain" else reply.media_type
        fields = {"content-length": str(len(reply.body)), "content-type": content_type, **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode("latin-1")
        default = b"".join(b"%b: %b\r\n" % each for each in self.server_state.default_headers)
        return b"".join((STATUS_LINE[reply.status], default, lines, b"\r\n", reply.body))


class _Resting:
    """Stands for uvicorn's own timer of a connection that rests: it is what tells that it does."""

    def cancel(self) -> None:
        """Do nothing: the clock goes on to the next thing by itself."""


_AT_REST: Any = _Resting()


@lru_cache(maxsize=64)
def _timeout_in(query: bytes) -> str:
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)).get("timeout", "")
