"""Moments as people write them: a day, or RFC 3339 with its time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:\d{2})")


def moment_of(text: str, *, at_end: bool = False) -> datetime:
    """Return a moment in UTC; raises ValueError for what is none. A day, in UTC, counts from its begin or up to its end."""
    try:
        if _DAY.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=at_end)
        if _MOMENT.fullmatch(text):
            return datetime.fromisoformat(text).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text} is out of range") from error
    raise ValueError(f"{text} is no moment")
