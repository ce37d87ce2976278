"""What happened to the objects of a group, in the order of time: their own times, their conditions, and events about them.

Equal things of the same second are told once, with all the objects they happened to: a group of a thousand pods is created,
bound and deleted in a few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from webhook.model.objects import Object, metadata_of
from webhook.model.stories import Entry
from webhook.preemption.happenings import Happening
from webhook.preemption.moments import asked_to_go, latest, moment

MOST_ENTRIES = 200
_SECOND = timedelta(seconds=1)
_POD_CONDITIONS = ("PodScheduled", "DisruptionTarget")
_ENDS = ("Succeeded", "Failed")


def timeline(
    workload: Object | None,
    pod_groups: Iterable[Object],
    pods: Iterable[Object],
    events: Iterable[Happening],
    name_of: Callable[[str], str],
) -> tuple[Entry, ...]:
    """Return all that is known, oldest first."""
    entries = [entry for obj in ((workload,) if workload else ()) for entry in (*_born(obj), *_conditions(obj))]
    entries += [entry for group in pod_groups for entry in (*_born(group), *_conditions(group))]
    entries += [entry for pod in pods for entry in (*_born(pod), *_of_pod(pod))]
    entries += [_of_event(event, name_of) for event in events]
    return tuple(_gathered(entries))


def newest(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], int]:
    """Return the last entries that one person can read, and how many are left out."""
    return tuple(entries[-MOST_ENTRIES:]), max(len(entries) - MOST_ENTRIES, 0)


def _born(obj: Object) -> Iterator[Entry]:
    meta = metadata_of(obj)
    created, deleted = moment(meta.get("creationTimestamp")), asked_to_go(obj)
    if created is not None:
        yield _entry(created, obj, "Created", "", "object")
    if deleted is not None:
        yield _entry(deleted, obj, "Deleted", "it was asked to go", "object")


def _conditions(obj: Object, kinds: Sequence[str] = ()) -> Iterator[Entry]:
    for one in (obj.get("status") or {}).get("conditions") or ():
        at = moment(one.get("lastTransitionTime"))
        if at is not None and (not kinds or one.get("type") in kinds):
            text = ": ".join(part for part in (str(one.get("reason") or ""), str(one.get("message") or "")) if part)
            yield _entry(at, obj, f"{one.get('type')}={one.get('status')}", text, "condition")


def _of_pod(pod: Object) -> Iterator[Entry]:
    node = (pod.get("spec") or {}).get("nodeName")
    for entry in _conditions(pod, _POD_CONDITIONS):
        bound = entry.what == "PodScheduled=True"
        yield _entry(entry.at, pod, "Bound", "to a node", "condition") if bound else entry
    status = pod.get("status") or {}
    states = ((one.get("state") or {}).get("terminated") or {} for one in status.get("containerStatuses") or ())
    ended = latest(moment(state.get("finishedAt")) for state in states)
    if status.get("phase") in _ENDS and ended is not None:
        text = str(status.get("reason") or "") + (f" on node {node}" if node else "")
        yield _entry(ended, pod, str(status["phase"]), text.strip(), "object")


def _of_event(event: Happening, name_of: Callable[[str], str]) -> Entry:
    text = event.text
    if event.preemptor:
        uid = event.preemptor[0]
        who = event.related or name_of(uid) or "gone by now, or of a namespace that was not read"
        text = f"{text.rstrip('. ')} ({uid} is {who})" if event.related or name_of(uid) else f"{text.rstrip('. ')} ({who})"
    times = f" ({event.count} times)" if event.count > 1 else ""
    return Entry(at=event.at, about=(f"{event.kind} {event.name}",), what=event.reason, text=text + times, source="event")


def _entry(at: datetime, obj: Object, what: str, text: str, source: str) -> Entry:
    return Entry(at=at, about=(f"{obj.get('kind')} {metadata_of(obj).get('name')}",), what=what, text=text, source=source)


def _gathered(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Join what is equal but for the object and not a second apart."""
    open_by: dict[tuple[str, str, str], int] = {}
    found: list[Entry] = []
    for entry in sorted(entries, key=lambda one: (one.at, one.about, one.what)):
        key = entry.what, entry.text, entry.source
        index = open_by.get(key)
        if index is not None and entry.at - found[index].at <= _SECOND:
            about = (*found[index].about, *(one for one in entry.about if one not in found[index].about))
            first = found[index]
            found[index] = Entry(at=first.at, about=about, what=first.what, text=first.text, source=first.source)
        else:
            open_by[key] = len(found)
            found.append(entry)
    yield from found
