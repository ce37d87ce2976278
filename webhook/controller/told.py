"""What was told of which object, so that each sentence is told once, and again when it has grown old."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from webhook.model.actions import Tell
from webhook.model.objects import metadata_of

_TELL_AGAIN = timedelta(minutes=5)
"""The same sentence about the same object is told again after this long, so that its event does not age away (1 h)."""
_MOST = 10_000
"""With more, what has grown old is forgotten: it would be told again all the same."""


class Told:
    """The last sentence of each reason about each object, by its UID."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[str, datetime]] = {}

    def news(self, tells: Iterable[Tell], now: datetime) -> tuple[Tell, ...]:
        """Return what was not told lately in the same words."""
        return tuple(tell for tell in tells if not self._is_told(tell, now))

    def note(self, tells: Iterable[Tell], now: datetime) -> None:
        """Remember what was told."""
        self._last |= {_place(tell): (tell.message, now) for tell in tells}
        if len(self._last) > _MOST:
            self._last = {place: (message, at) for place, (message, at) in self._last.items() if not _is_old(at, now)}

    def _is_told(self, tell: Tell, now: datetime) -> bool:
        message, at = self._last.get(_place(tell), ("", now))
        return message == tell.message and not _is_old(at, now)


def _is_old(at: datetime, now: datetime) -> bool:
    return now - at >= _TELL_AGAIN


def _place(tell: Tell) -> tuple[str, str]:
    return str(metadata_of(tell.about).get("uid")), tell.reason
