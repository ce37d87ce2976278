"""A snapshot of the cluster that follows it: one informer per kind, copied on write.

A namespace may hold 50,000 pods and change 2,000 times a second, so a bucket is not copied per event: events are
gathered for a moment, then the buckets they touched are copied once, the new snapshot is put in place, and only then
are the listeners called. Whoever is told of a change therefore finds it in ``current``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic, perf_counter
from types import MappingProxyType
from typing import TypeAlias

import structlog

from webhook.cluster.api import Api
from webhook.cluster.informer import Informer, Name
from webhook.cluster.mapping import is_cluster_wide
from webhook.cluster.trim import Trimmer
from webhook.errors import ClusterError
from webhook.model.objects import Kind, Object, ObjectKey
from webhook.model.snapshot import EMPTY_SNAPSHOT, Bucket, Snapshot

_LOG = structlog.get_logger(__name__)
_COPY_SHARE = 20
"""Copying may take this part (1/20) of the time: after a copy of 1 ms the next one comes 20 ms later at the earliest."""

_NOTHING: Mapping[str, Bucket] = MappingProxyType({})

Change: TypeAlias = tuple[ObjectKey, Object | None, Object | None]
"""Key, old and new object; None: it was not there, or is no longer."""
Listener: TypeAlias = Callable[[ObjectKey, Object | None, Object | None], None]
"""Called with the parts of a Change."""


class SnapshotFeed:
    """Holds ``current``, the newest snapshot of the kinds that are wanted.

    Readers take ``current`` once per question. ``run`` must be running for it to follow the cluster.
    """

    def __init__(self, api: Api, kinds: Iterable[Kind] = (), *, namespaces: Iterable[str] = ()) -> None:
        self.current: Snapshot = EMPTY_SNAPSHOT
        self._api = api
        self._namespaces = tuple(namespaces) or ("",)
        self._trimmer = Trimmer()
        self._listeners: list[Listener] = []
        self._informers: dict[Kind, tuple[Informer, ...]] = {}
        self._tasks: dict[Kind, tuple[asyncio.Task[None], ...]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._pending: list[Change] = []
        self._timer: asyncio.TimerHandle | None = None
        self._not_before = 0.0
        self.want(kinds)

    def listen(self, listener: Listener) -> None:
        """Call this after every change, in the order of the changes of each kind."""
        self._listeners.append(listener)

    def want(self, kinds: Iterable[Kind]) -> None:
        """Follow exactly these kinds from now on; kinds that stay are not touched, others are dropped at once.

        Not told to listeners as deletions: what is no longer watched is unknown, not gone.
        """
        wanted = {_mark(kind): kind for kind in kinds}
        for kind in [kind for kind in self._informers if wanted.get(_mark(kind)) != kind]:
            self._drop(kind)
        for kind in wanted.values():
            if kind not in self._informers:
                spaces = ("",) if is_cluster_wide(kind) else self._namespaces
                self._informers[kind] = tuple(self._informer(kind, namespace) for namespace in spaces)
                self._start(kind)

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        try:
            async with asyncio.TaskGroup() as self._group:
                for kind in self._informers:
                    self._start(kind)
                await asyncio.Event().wait()
        finally:
            self._group = None
            self._tasks.clear()
            if self._timer is not None:
                self._timer.cancel()

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Wait until every kind is known or known not to be served; raises ClusterError that names what is missing."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while not self.synced():  # noqa: ASYNC110 - the state of many informers; asked only at the start
                    await asyncio.sleep(0.02)
        if not self.synced():
            raise ClusterError("; ".join(self.problems()), verb="watch", reason="Timeout")

    def synced(self) -> bool:
        """Tell whether ``current`` holds every wanted kind that the API server serves."""
        informers = [informer for several in self._informers.values() for informer in several]
        return self._timer is None and all(informer.synced.is_set() or _is_unserved(informer) for informer in informers)

    def problems(self) -> tuple[str, ...]:
        """Say for every kind that is not followed at the moment why that is so."""
        told = []
        for informer in (informer for several in self._informers.values() for informer in several):
            if informer.problem is not None:
                told.append(f"{informer.kind} is not followed: {informer.problem}")
            elif not informer.synced.is_set():
                told.append(f"{informer.kind} is still being read")
        return tuple(told)

    @property
    def age_seconds(self) -> float:
        """Return how long ago the API server was last heard of, by the kind for which that is longest.

        A healthy watch without changes reaches 60 s: that is how often the server sends a bookmark.
        """
        now = monotonic()  # not the loop's time: a large review asks from a thread
        served = (informer for several in self._informers.values() for informer in several if not _is_unserved(informer))
        return max((now - informer.last_contact for informer in served), default=0.0)

    def _informer(self, kind: Kind, namespace: str) -> Informer:
        took = partial(self._took, kind.group, kind.kind)
        trim = self._trimmer.for_kind(kind.group, kind.kind)
        return Informer(self._api, kind, on_event=took, on_synced=self._schedule, trim=trim, namespace=namespace)

    def _start(self, kind: Kind) -> None:
        if self._group is not None:
            self._tasks[kind] = tuple(
                self._group.create_task(informer.run(), name=f"watch {kind}") for informer in self._informers[kind]
            )

    def _drop(self, kind: Kind) -> None:
        for task in self._tasks.pop(kind, ()):
            task.cancel()
        del self._informers[kind]
        self._pending = [change for change in self._pending if (change[0].group, change[0].kind) != _mark(kind)]
        self.current = Snapshot({mark: spaces for mark, spaces in self.current.buckets.items() if mark != _mark(kind)})

    def _took(self, group: str, kind: str, name: Name, old: Object | None, new: Object | None) -> None:
        self._pending.append((ObjectKey(group, kind, *name), old, new))
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._not_before), self._publish)

    def _publish(self) -> None:
        """Put the next snapshot in place, then tell the listeners."""
        self._timer = None
        began = perf_counter()
        known = {_mark(kind) for kind, several in self._informers.items() if all(one.synced.is_set() for one in several)}
        batch = [change for change in self._pending if (change[0].group, change[0].kind) in known]
        if len(batch) < len(self._pending):  # of a kind whose other namespaces are still being read
            self._pending = [change for change in self._pending if (change[0].group, change[0].kind) not in known]
        else:
            self._pending = []
        self.current = advance(self.current, known, batch)
        self._not_before = asyncio.get_running_loop().time() + (perf_counter() - began) * _COPY_SHARE
        for change in batch:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        for listener in self._listeners:
            try:
                listener(*change)
            except Exception:  # noqa: BLE001 - a bug in one listener must not keep the others from being told
                _LOG.exception("a listener failed", key=str(change[0]))


async def fetch_snapshot(api: Api, kinds: Iterable[Kind], *, namespaces: Iterable[str] = ()) -> Snapshot:
    """Read kinds once and return them as a snapshot; a kind that is not served stays unknown."""
    trimmer, spaces = Trimmer(), tuple(namespaces) or ("",)
    snapshot = EMPTY_SNAPSHOT
    for kind in kinds:
        trim = trimmer.for_kind(kind.group, kind.kind)
        try:
            found = [trim(obj) for space in spaces async for page in api.pages(kind, namespace=space) for obj in page["items"]]
        except ClusterError as error:
            if error.status == 404:
                continue
            raise
        snapshot = advance(snapshot, {_mark(kind)}, ((ObjectKey.of(obj), None, obj) for obj in found))
    return snapshot


def advance(snapshot: Snapshot, known: Iterable[tuple[str, str]], changes: Iterable[Change]) -> Snapshot:
    """Return the snapshot after these changes; only the buckets that they touch are copied."""
    buckets = {**dict.fromkeys(known, _NOTHING), **snapshot.buckets}
    spaces: dict[tuple[str, str], dict[str, Bucket]] = {}
    copies: dict[tuple[str, str, str], dict[str, Object]] = {}
    for key, _, new in changes:
        mark, place = (key.group, key.kind), (key.group, key.kind, key.namespace)
        if mark not in spaces:
            buckets[mark] = spaces[mark] = dict(buckets.get(mark, _NOTHING))
        if place not in copies:
            spaces[mark][key.namespace] = copies[place] = dict(spaces[mark].get(key.namespace, {}))
        if new is None:
            copies[place].pop(key.name, None)
        else:
            copies[place][key.name] = new
    for (group, kind, namespace), bucket in copies.items():
        if not bucket:
            del spaces[group, kind][namespace]
    return Snapshot(buckets)


def _mark(kind: Kind) -> tuple[str, str]:
    return (kind.group, kind.kind)


def _is_unserved(informer: Informer) -> bool:
    """Tell whether the API server does not know the kind (404), such as PodGroup with its gate off."""
    return informer.problem is not None and informer.problem.status == 404
