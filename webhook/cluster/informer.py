"""Keeps one kind of the cluster in memory: a WatchList stream, resumed and retried until cancelled.

``kubernetes.informer`` was tried first (37.0.2): it has no backoff (an API server that is down for 8 s costs 2,971
attempts and a full core), no idle limit (a half-open connection is silent for ever), no bookmarks and no old object,
and its models cost 36 times the memory. Each of these is a test in ``tests/cluster/test_informer.py``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from time import monotonic
from typing import Any, TypeAlias

import structlog

from webhook.cluster.answers import decode, status_error
from webhook.cluster.api import Api
from webhook.cluster.connection import Call
from webhook.errors import ClusterError
from webhook.model.objects import Kind, Object, metadata_of

_LOG = structlog.get_logger(__name__)
_INITIAL_END = "k8s.io/initial-events-end"

Name: TypeAlias = tuple[str, str]
"""Namespace (empty: cluster-scoped) and name."""


def keep_whole(obj: Object) -> Object:
    """Trim nothing."""
    return obj


class Informer:
    """The objects of one kind, each trimmed on arrival, and a call of ``on_event(name, old, new)`` per change."""

    def __init__(
        self,
        api: Api,
        kind: Kind,
        *,
        on_event: Callable[[Name, Object | None, Object | None], None],
        on_synced: Callable[[], None] = lambda: None,
        trim: Callable[[Object], Object] = keep_whole,
        namespace: str = "",
    ) -> None:
        self.kind, self.namespace = kind, namespace
        self.store: dict[Name, Object] = {}
        self.synced = asyncio.Event()
        self.last_contact = float("-inf")
        """The loop's time of the last sign of life from the API server; a healthy silent watch has one a minute."""
        self.problem: ClusterError | None = None
        """Why there is no watch at the moment."""
        self._api, self._trim, self._on_event, self._on_synced = api, trim, on_event, on_synced
        self._settings = api.connection.settings
        self._version = ""
        """resourceVersion to resume from; empty: start over."""
        self._paged = False
        """The API server has no WatchList (422): lists come in pages."""

    async def run(self) -> None:
        """Follow the kind until cancelled; every failure is retried."""
        pause, clock = self._settings.backoff_initial_seconds, asyncio.get_running_loop().time
        while True:
            began = clock()
            try:
                await self._follow()
                self.problem = None
            except ClusterError as error:
                self._judge(error)
            if clock() - began >= self._settings.backoff_limit_seconds:  # it was healthy; nothing to calm down
                pause = self._settings.backoff_initial_seconds
                if self.problem is None:
                    continue
            after = self.problem.retry_after if self.problem and self.problem.retry_after else 0.0
            await asyncio.sleep(max(after, pause * random.uniform(1, 2)))  # noqa: S311 - jitter, not a secret
            pause = min(pause * 2, self._settings.backoff_limit_seconds)

    def _judge(self, error: ClusterError) -> None:
        """Draw the consequences of a failure; one log line per failed attempt, none for what is everyday."""
        if error.status == 410:  # our version is older than the API server's window: start over, the store stays meanwhile
            self._version, self.problem = "", None
        elif error.status == 422 and not self._version and not self._paged:
            self._paged, self.problem = True, None
        else:
            self.problem = error
            _LOG.warning("watch interrupted", kind=str(self.kind), status=error.status, error=str(error))

    async def _follow(self) -> None:
        if not self._version and self._paged:
            await self._list()
        mapping = await self._api.mapper.find(self.kind)
        fresh: dict[Name, Object] | None = None if self._version else {}
        query = [("watch", "true"), ("allowWatchBookmarks", "true")]
        query.append(("timeoutSeconds", str(round(random.uniform(*self._settings.watch_seconds)))))  # noqa: S311 - as above
        if fresh is None:
            query.append(("resourceVersion", self._version))
        else:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        call = Call("GET", mapping.path(self.namespace), tuple(query))
        async with aclosing(self._api.connection.lines(call, key=str(self.kind))) as lines:
            async for line in lines:
                if line:
                    fresh = self._take(decode(line), fresh)
                self.last_contact, self.problem = monotonic(), None

    def _take(self, event: Any, fresh: dict[Name, Object] | None) -> dict[Name, Object] | None:
        """Take in one event. While the initial set is collected in ``fresh`` the store stays as it was."""
        match event:
            case {"type": "ERROR", "object": dict(status)}:
                raise status_error(status, "watch", str(self.kind))
            case {"type": "BOOKMARK", "object": {"metadata": dict(meta)}}:
                if fresh is not None and (meta.get("annotations") or {}).get(_INITIAL_END) == "true":
                    self._replace(fresh)
                    fresh = None
            case {"type": "ADDED" | "MODIFIED" | "DELETED" as change, "object": {"metadata": dict(meta)} as obj}:
                name = (meta.get("namespace", ""), meta["name"])
                if fresh is None:
                    self._put(name, None if change == "DELETED" else self._trim(obj))
                elif change == "DELETED":
                    fresh.pop(name, None)
                else:
                    fresh[name] = self._trimmed(name, obj)
            case _:
                raise ClusterError("the watch sent what is no event", verb="watch", key=str(self.kind), reason="BadEvent")
        if fresh is None:
            self._version = str(meta["resourceVersion"])
        return fresh

    async def _list(self) -> None:
        fresh: dict[Name, Object] = {}
        version = ""
        async for page in self._api.pages(self.kind, namespace=self.namespace):
            version = str(metadata_of(page)["resourceVersion"])
            for obj in page["items"]:
                name = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
                fresh[name] = self._trimmed(name, obj)
        self._replace(fresh)
        self._version, self.last_contact = version, monotonic()

    def _trimmed(self, name: Name, obj: Object) -> Object:
        """Return what is kept of an object: the same as before if it did not change, or a second list would take memory twice."""
        held = self.store.get(name)
        return held if held is not None and _is_same(held, obj) else self._trim(obj)

    def _replace(self, fresh: dict[Name, Object]) -> None:
        """Make the store equal to ``fresh`` in one go; what is no longer there is told as deleted."""
        for name in self.store.keys() - fresh.keys():
            self._put(name, None)
        for name, obj in fresh.items():
            old = self.store.get(name)
            if old is None or not _is_same(old, obj):
                self._put(name, obj)
        self.synced.set()
        self._on_synced()

    def _put(self, name: Name, new: Object | None) -> None:
        old = self.store.pop(name, None) if new is None else self.store.get(name)
        if new is not None:
            self.store[name] = new
        if old is not None or new is not None:
            self._on_event(name, old, new)


def _is_same(one: Object, other: Object) -> bool:
    """Tell whether two objects of one name are the same write of the same object."""
    a, b = metadata_of(one), metadata_of(other)
    return a.get("resourceVersion") == b.get("resourceVersion") and a.get("uid") == b.get("uid")
