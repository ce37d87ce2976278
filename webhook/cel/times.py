"""Durations and timestamps as text, and their parts: Go's time.ParseDuration, RFC 3339, and calendar fields by zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from webhook.cel.errors import EvaluationError
from webhook.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND = 1_000_000_000
MIN_SECONDS, MAX_SECONDS = -62_135_596_800, 253_402_300_799
"""0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range of CEL timestamps."""

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3_600 * SECOND}
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)")
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
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
    moment = to_datetime(timestamp, timezone(timedelta(seconds=timestamp.offset_seconds)))
    fraction = f".{timestamp.nanoseconds % SECOND:09d}".rstrip("0").rstrip(".")
    zone = "Z" if timestamp.offset_seconds == 0 else moment.strftime("%z")
    if zone != "Z":
        zone = f"{zone[:3]}:{zone[3:5]}"
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}{zone}"


def to_datetime(timestamp: Timestamp, zone: tzinfo) -> datetime:
    """Return the calendar fields of a moment in a zone."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=timestamp.nanoseconds // SECOND)).astimezone(zone)
    except OverflowError as error:
        raise overflow() from error


def read_zone(name: str) -> tzinfo:
    """Return a zone by its IANA name, or an offset such as ``-02:30``."""
    hours, colon, minutes = name.partition(":")
    if colon:
        return _read_offset(name, hours, minutes)
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise EvaluationError(f"unknown time zone {name}", "conversion") from error


def _read_offset(name: str, hours: str, minutes: str) -> tzinfo:
    if not re.fullmatch(r"[+-]?\d{1,4}", hours, re.ASCII) or not re.fullmatch(r"[+-]?\d{1,4}", minutes, re.ASCII):
        raise EvaluationError(f'strconv.Atoi: parsing "{hours}": invalid syntax', "conversion")
    if not 0 <= int(minutes) <= 59:
        raise EvaluationError(f"timezone offset minutes out of range [0, 59]: {name}", "conversion")
    total = int(hours) * 60 + (-int(minutes) if name.startswith("-") else int(minutes))
    try:
        return timezone(timedelta(minutes=total))
    except ValueError as error:
        raise EvaluationError(f"timezone offset out of range: {name}", "conversion") from error
