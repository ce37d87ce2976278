"""When something happened, as objects say it; and how a sentence names it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from webhook.model.objects import Object, metadata_of


def moment(value: object) -> datetime | None:
    """Read an RFC 3339 time; None where there is none."""
    return datetime.fromisoformat(value) if isinstance(value, str) and value else None


def asked_to_go(pod: Object) -> datetime | None:
    """Return when a pod was deleted: its deletionTimestamp is when its grace ends (registry/rest/delete.go)."""
    meta = metadata_of(pod)
    ends = moment(meta.get("deletionTimestamp"))
    return None if ends is None else ends - timedelta(seconds=int(meta.get("deletionGracePeriodSeconds") or 0))


def created(pod: Object) -> datetime:
    """Return when an object was created; the beginning of time where it does not say."""
    return moment(metadata_of(pod).get("creationTimestamp")) or _BEGINNING


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the last of some moments that are known."""
    return max((one for one in moments if one is not None), default=None)


_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
