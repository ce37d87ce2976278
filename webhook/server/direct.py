"""Answer the reviews of an API server's pool in the reading of their last byte, without a task and the layers of ASGI.

Those layers cost three times what a small review does. What is answered here is what an API server sends: a POST of announced,
moderate length to a path of ours, on a connection that is kept, with nothing unanswered before it. Everything else, and every
review for which something must be asked first, goes the way of all requests. The clocks and bounds of a connection are the same.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import parse_qsl

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from webhook.errors import ReviewError
from webhook.server.clock import Clock
from webhook.server.limits import UnreadError
from webhook.server.protocol import GuardedConfig, GuardedProtocol
from webhook.server.reviewing import BEGUN, Incoming, Pending, Reply, ReviewHandler

_QUERY_LIMIT = 64
"""Longest query that is remembered; the API server's says how long it waits."""
_END_OF_HEAD, _LENGTH = b"\r\n\r\n", b"\r\nContent-Length: "
_HEADS, _HEAD_LIMIT = 64, 2048
"""How many heads are known again, and up to which length: an API server sends the same one to a path again and again."""
_ODD = frozenset({b"transfer-encoding", b"expect", b"upgrade"})


@dataclass(frozen=True, slots=True)
class Head:
    """What a known head asks for."""

    handler: ReviewHandler
    timeout: str


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
        self._most = min(config.serving.inline_limit_bytes, config.serving.body_limit_bytes)
        self._heads: dict[bytes, Head] = config.heads
        self._raw = b""
        self._begun: Pending | None = None

    def data_received(self, data: bytes) -> None:
        """Answer a whole review under a head that the parser has seen before, or feed the parser."""
        if self._in_message:
            super().data_received(data)
        elif not self._answered(data):
            self._raw = data
            super().data_received(data)
            self._raw, self._begun = b"", None

    def _answered(self, data: bytes) -> bool:
        known, body = self._known(data)
        is_mine = known is not None and len(body) <= self._most and self._is_free()
        incoming = known.handler.begin() if known is not None and is_mine else None
        if known is None or incoming is None:
            return False
        try:
            incoming.held.add(len(body))
            reply = known.handler.answer(incoming, body, known.timeout)
        except UnreadError:
            return False
        finally:
            known.handler.end(incoming)
        if isinstance(reply, Pending):
            self._begun = reply
            return False
        self._send(reply)
        return True

    def _known(self, data: bytes) -> tuple[Head | None, bytes]:
        """Return whose review this is, and its body, if it is one whole request whose head differs in no more than the length."""
        if not self._heads:
            return None, b""
        shape, body = _split(data)
        return self._heads.get(shape), body

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
            timeout = _timeout_in(self.url.partition(b"?")[2])
            reply = self._begun or handler.answer(incoming, body, timeout)
            self._remember(Head(handler, timeout), body)
        if not isinstance(reply, Reply):
            self._hand_over()
            if reply is not None:
                self.scope["state"][BEGUN] = reply
            super().on_message_complete()
            return
        self._forget(abandoned=False)
        self._in_message = False
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        """Send an answer, and let the connection rest."""
        self.transport.write(self._rendered(reply))
        self.server_state.total_requests += 1
        self._unset_keepalive_if_required()
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

    def _remember(self, head: Head, body: bytes) -> None:
        """Know the head of a review again that came in one piece."""
        shape, found = _split(self._raw)
        if shape and len(shape) <= _HEAD_LIMIT and found == body:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            self._heads[shape] = head

    def _is_free(self) -> bool:
        """Tell whether there is nothing before a request that waits, and no reason to tell its caller to close."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return not (
            (cycle is not None and not cycle.response_complete)
            or self.pipeline
            or self.flow.write_paused
            or self._refused
            or self._stop.is_set()
            or self.transport.is_closing()
        )

    def _is_usual(self) -> bool:
        """Tell whether a request is one that an API server sends, and there is nothing before it that waits."""
        headers = dict(self.headers)
        length = headers.get(b"content-length", b"")
        return (
            self._is_free()
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and self._fields + len(self.url) <= self._limits.header_limit_bytes
            and len(self.url) <= _QUERY_LIMIT
            and headers.get(b"content-type") == b"application/json"
            and len(headers) == len(self.headers)
            and headers.keys().isdisjoint(_ODD)
            and length.isdigit()
            and 0 < int(length[:20]) <= self._most
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
        default, length = tuple(self.server_state.default_headers), len(reply.body)
        if reply.headers:
            return _head_of.__wrapped__(default, reply.status, reply.media_type, length, **reply.headers) + reply.body
        return _head_of(default, reply.status, reply.media_type, length) + reply.body


@lru_cache(maxsize=64)
def _head_of(default: tuple[tuple[bytes, bytes], ...], status: int, media_type: str, length: int, **more: str) -> bytes:
    """Return the head of an answer; usual ones are remembered, for they differ in their lengths and in the second only."""
    content_type = "text/plain; charset=utf-8" if media_type == "text/plain" else media_type
    fields = {"content-length": str(length), "content-type": content_type, **more}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode("latin-1")
    return b"".join((STATUS_LINE[status], *(b"%b: %b\r\n" % each for each in default), lines, b"\r\n"))


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Return the head without the digits of its length, and the body; both empty unless that is all of the body, and no more."""
    head = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
    start = data.find(_LENGTH, 0, head) + len(_LENGTH)
    if head < len(_END_OF_HEAD) or start < len(_LENGTH):
        return b"", b""
    end = data.find(b"\r\n", start)
    if data[start:end] != b"%d" % (len(data) - head) or len(data) == head:
        return b"", b""
    return data[:start] + data[end:head], data[head:]


class _Resting:
    """Stands for uvicorn's own timer of a connection that rests: it is what tells that it does."""

    def cancel(self) -> None:
        """Do nothing: the clock goes on to the next thing by itself."""


_AT_REST: Any = _Resting()


@lru_cache(maxsize=64)
def _timeout_in(query: bytes) -> str:
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)).get("timeout", "")
