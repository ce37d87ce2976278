"""Durations and timestamps as text, and their parts: Go's time.ParseDuration, RFC 3339, and calendar fields by zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from webhook.cel.errors import EvaluationError
from webhook.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND = 1_000_000_000
MIN_SECONDS, MAX_SECONDS = -62_135_596_800, 253_402_300_799
"""0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range of CEL timestamps."""

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3_600 * SECOND}
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_LONGEST_ZONE = 100
_EPOCH = date(1970, 1, 1).toordinal()


def parse_duration(text: str) -> Duration | None:
    """Read a Go duration such as ``-1h2.5s``; None where it is none or does not fit in 64 bits of nanoseconds."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(body):
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]) or len(match[1]) > 20:
            return None
        total += _scale(match[1] or "0", (match[2] or "")[:18], _UNITS[match[3]])
        position = match.end()
    signed = -total if text[:1] == "-" else total
    return Duration(signed) if body and INT_MIN <= signed <= INT_MAX else None


def _scale(whole: str, fraction: str, unit: int) -> int:
    part = int(fraction) * unit // 10 ** len(fraction) if fraction else 0
    return int(whole) * unit + part


def parse_timestamp(text: str) -> Timestamp | None:
    """Read an RFC 3339 timestamp; None where it is none. Raises EvaluationError where it lies outside of CEL's years."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    offset = (int(match[9]) * 3600 + int(match[10]) * 60) * (-1 if match[8] == "-" else 1) if match[8] else 0
    if hour > 23 or minute > 59 or second > 59 or (match[8] and (int(match[9]) > 24 or int(match[10]) > 60)):
        return None
    try:
        days = date(year or 4, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
    if year == 0 or not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise overflow()
    return Timestamp(seconds * SECOND + int((match[7] or "0")[:9].ljust(9, "0")), offset)


def overflow() -> EvaluationError:
    """Build the error of a timestamp outside of CEL's years."""
    return EvaluationError("timestamp overflow", "overflow")


def show_duration(duration: Duration) -> str:
    """Print seconds, as protobuf's JSON does. Go goes through a double here, and so do we."""
    seconds, rest = divmod(abs(duration.nanoseconds), SECOND)
    text = f"{Decimal(repr(float(seconds) + rest / 1e9)):f}".removesuffix(".0")
    return f"{'-' if duration.nanoseconds < 0 else ''}{text}s"


def show_timestamp(timestamp: Timestamp) -> str:
    """Print RFC 3339 with as many digits of a second as there are."""
    offset = timestamp.offset_seconds
    moment = civil(timestamp, offset)
    fraction = f".{timestamp.nanoseconds % SECOND:09d}".rstrip("0").rstrip(".")
    sign, minutes = "-" if offset < 0 else "+", abs(offset) // 60
    zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" if offset else "Z"
    return (
        f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
        f"{fraction}{zone}"
    )


class Civil(NamedTuple):
    """Calendar fields. Not a datetime: a zone may carry a timestamp out of the years 1 to 9999."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    day_of_year: int
    """From 0."""
    weekday: int
    """From 0, Sunday."""


_CYCLE_DAYS = 146_097
"""Days of the 400 years after which the Gregorian calendar repeats itself."""


def civil(timestamp: Timestamp, offset_seconds: int) -> Civil:
    """Return the calendar fields of a moment, this far east of Greenwich."""
    days, second = divmod(timestamp.nanoseconds // SECOND + offset_seconds, 86_400)
    cycles, day = divmod(days + _EPOCH, _CYCLE_DAYS)
    found = date.fromordinal(day or _CYCLE_DAYS)
    year = found.year + 400 * (cycles if day else cycles - 1)
    day_of_year = found.timetuple().tm_yday - 1
    return Civil(year, found.month, found.day, second // 3600, second // 60 % 60, second % 60, day_of_year, (days + 4) % 7)


def read_offset(name: str, timestamp: Timestamp) -> int:
    """Return the offset in seconds of a zone at a moment; ``name`` is an IANA name, or an offset such as ``-02:30``."""
    hours, colon, minutes = name.partition(":")
    if colon:
        return _read_offset(name, hours, minutes)
    if name in ("", "UTC", "Local"):  # the local time of API servers
        return 0
    if len(name) > _LONGEST_ZONE:
        raise EvaluationError(f"unknown time zone {name[:_LONGEST_ZONE]}…", "conversion")
    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise EvaluationError(f"unknown time zone {name}", "conversion") from error
    seconds = min(max(timestamp.nanoseconds // SECOND, MIN_SECONDS + 172_800), MAX_SECONDS - 172_800)
    offset = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
    return round(offset.total_seconds()) if offset is not None else 0


def _read_offset(name: str, hours: str, minutes: str) -> int:
    """Read hours and minutes, any number of them: a duration is made of them, which wraps around (common/stdlib, inTimeZone)."""
    for part in (hours, minutes):
        if not re.fullmatch(r"[+-]?0{0,99}\d{1,19}", part, re.ASCII):
            raise EvaluationError(f'strconv.Atoi: parsing "{part}": invalid syntax', "conversion")
        if not INT_MIN <= int(part) <= INT_MAX:
            raise EvaluationError(f'strconv.Atoi: parsing "{part}": value out of range', "conversion")
    east = int(hours) * 60 + (-int(minutes) if name.startswith("-") else int(minutes))
    nanoseconds = (east * 60 * SECOND + 2**63) % 2**64 - 2**63
    return abs(nanoseconds) // SECOND * (-1 if nanoseconds < 0 else 1)
