"""Bound what is held at once, so that a flood is answered instead of ending the process.

Bytes count as they arrive, not as they are announced: announcing costs an attacker nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from webhook.errors import ReviewError
from webhook.settings import ServingSettings


class UnreadError(ReviewError):
    """A refusal while the body is still being sent; only closing the connection makes the caller stop."""


class InFlight:
    """How many reviews, and how many bytes of them, are in memory."""

    def __init__(self, serving: ServingSettings) -> None:
        self._limits = serving
        self._reviews = self._bytes = 0

    @contextmanager
    def review(self) -> Iterator[Held]:
        """Hold a place for one review; ReviewError 429 when there is none."""
        held = self.take()
        try:
            yield held
        finally:
            self.give_back(held)

    def take(self) -> Held:
        """Take a place, which must be given back; ReviewError 429 when there is none."""
        if self._reviews >= self._limits.in_flight_limit:
            raise ReviewError(f"{self._reviews} reviews are being decided already; try again", status=429)
        self._reviews += 1
        return Held(self)

    def give_back(self, held: Held) -> None:
        """Give a place back, with the bytes that were counted in it."""
        self._reviews -= 1
        self._bytes -= held.size

    def add(self, size: int) -> None:
        """Count bytes that arrived; ReviewError 429 when they are too many together."""
        self._bytes += size
        if self._bytes > self._limits.in_flight_limit_bytes:
            raise UnreadError("the bodies of all reviews being decided take too much memory; try again", status=429)


class Held:
    """What one review holds."""

    __slots__ = ("_total", "size")

    def __init__(self, total: InFlight) -> None:
        self.size = 0
        self._total = total

    def add(self, size: int) -> None:
        """Count bytes of this review."""
        self.size += size
        self._total.add(size)


async def receive_body(request: Request, held: Held, limit: int) -> bytes:
    """Read the body of a review; ReviewError for what is no JSON, empty (400), of another type (415) or too large (413)."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise ReviewError(f"expected content type application/json, got {media_type[:100] or 'none'}", status=415)
    too_large = UnreadError(f"the body is larger than {limit} bytes", status=413)
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise too_large
    chunks = []
    async for chunk in request.stream():
        held.add(len(chunk))
        if held.size > limit:
            raise too_large
        chunks.append(chunk)
    if not held.size:
        raise ReviewError("the body is empty; expected an AdmissionReview")
    return b"".join(chunks)
