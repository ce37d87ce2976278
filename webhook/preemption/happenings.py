"""Events as the API keeps them, in either of its two forms, and what they say of the objects of one story."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from webhook.model.objects import Object, metadata_of
from webhook.model.snapshot import Snapshot
from webhook.preemption.moments import moment

EVENT_KINDS = (("events.k8s.io", "Event"), ("", "Event"))
PREEMPTED = "Preempted"
_PREEMPTED_BY = re.compile(r"Preempted by (?:pod|podgroup|compositepodgroup) (?P<uid>[0-9a-fA-F-]{8,}) on node (?P<node>\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event."""

    at: datetime
    kind: str
    """Of the object that it is about, as are name and UID."""
    name: str
    uid: str
    reason: str
    text: str
    related: str
    """``Kind namespace/name`` of the object that it names besides; the scheduler names the preempting group."""
    count: int

    @property
    def preemptor(self) -> tuple[str, str] | None:
        """Return UID and node from the scheduler's event on a victim (experiments 10.3); None for any other."""
        found = _PREEMPTED_BY.search(self.text) if self.reason == PREEMPTED else None
        return (found["uid"], found["node"].rstrip(".")) if found else None


def happenings(snapshot: Snapshot, namespace: str) -> Iterator[Happening]:
    """Yield the events of a namespace, each once, in no order."""
    seen: set[str] = set()
    for group, kind in EVENT_KINDS:
        for event in snapshot.list(group, kind, namespace=namespace):
            name = str(metadata_of(event).get("name"))
            found = None if name in seen else _read(event)
            seen.add(name)
            if found is not None:
                yield found


def _read(event: Object) -> Happening | None:
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("deprecatedLastTimestamp"), event.get("eventTime"),
        event.get("firstTimestamp"), event.get("deprecatedFirstTimestamp"), metadata_of(event).get("creationTimestamp"),
    )  # fmt: skip
    at = next((found for time in times if (found := moment(time)) is not None), None)
    about = event.get("regarding") or event.get("involvedObject") or {}
    if at is None or not about:
        return None
    return Happening(
        at=at,
        kind=str(about.get("kind") or ""),
        name=str(about.get("name") or ""),
        uid=str(about.get("uid") or ""),
        reason=str(event.get("reason") or ""),
        text=str(event.get("note") or event.get("message") or "").strip(),
        related=_related(event.get("related") or {}),
        count=int(series.get("count") or event.get("count") or event.get("deprecatedCount") or 1),
    )


def _related(reference: Object) -> str:
    if not reference.get("name"):
        return ""
    namespace = f"{reference['namespace']}/" if reference.get("namespace") else ""
    return f"{reference.get('kind')} {namespace}{reference['name']}"
