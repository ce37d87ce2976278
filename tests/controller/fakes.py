"""Whom a controller talks to: a feed that a test moves, and an actor that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tests.rules.building import FakeWorld
from webhook.admission import PolicySet
from webhook.controller import Controller, MemberIndex, Shortfall
from webhook.model.actions import Apply, Delete, PlannedAction, Tell
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot, snapshot_of
from webhook.settings import ControllerSettings

Listener = Callable[[ObjectKey, Object | None, Object | None], None]
QUICK = ControllerSettings(
    resync_seconds=3600, backoff_initial_seconds=0.01, backoff_limit_seconds=0.04, collect_seconds=0.01, silent_wait_seconds=5
)


@dataclass
class FakeFeed:
    """A snapshot that changes when a test says so; changes can be lost on their way to the listeners."""

    objects: dict[ObjectKey, Object] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)
    blind_to: str = ""
    """A kind that is not followed."""

    @property
    def current(self) -> Snapshot:
        found = snapshot_of(tuple(self.objects.values()))
        known = {("batch", "Job"): {}, ("", "Pod"): {}, ("scheduling.k8s.io", "PodGroup"): {}} | dict(found.buckets)
        return Snapshot({mark: spaces for mark, spaces in known.items() if mark[1] != self.blind_to})

    def listen(self, listener: Listener) -> None:
        self.listeners.append(listener)

    def put(self, *objects: Object, lost: bool = False) -> None:
        for obj in objects:
            key = ObjectKey.of(obj)
            old, self.objects[key] = self.objects.get(key), obj
            if not lost:
                self._tell(key, old, obj)

    def remove(self, obj: Object, *, lost: bool = False) -> None:
        key = ObjectKey.of(obj)
        old = self.objects.pop(key)
        if not lost:
            self._tell(key, old, None)

    def _tell(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        for listener in self.listeners:
            listener(key, old, new)


@dataclass
class FakeActor:
    """Remembers what was asked of it, and writes it into the feed at once if it has one."""

    feed: FakeFeed | None = None
    asked: list[PlannedAction] = field(default_factory=list)
    failures: list[Shortfall] = field(default_factory=list)
    """What the next calls with a write answer."""
    hung: asyncio.Event | None = None
    calls: int = 0
    happened: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def perform_all(self, actions: Sequence[PlannedAction]) -> Shortfall | None:
        self.calls += 1
        writes = [action for action in actions if not isinstance(action, Tell)]
        if writes and self.hung is not None:
            await self.hung.wait()
        async with self.happened:
            self.asked += actions
            self.happened.notify_all()
        if writes and self.failures:
            return self.failures.pop(0)
        for action in writes:
            self._write(action)
        return None

    def _write(self, action: PlannedAction) -> None:
        if self.feed is None:
            return
        if isinstance(action, Apply):
            self.feed.put(stored(action.object))
        elif isinstance(action, Delete):
            self.feed.remove(self.feed.objects[action.key])

    def applied(self, kind: str = "PodGroup") -> list[str]:
        return [
            f"{metadata_of(one.object)['name']}" for one in self.asked if isinstance(one, Apply) and one.object["kind"] == kind
        ]

    def told(self) -> list[str]:
        return [one.reason for one in self.asked if isinstance(one, Tell)]

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until a call has made something true; a test that waits for nothing fails by its own limit."""
        async with asyncio.timeout(60), self.happened:
            await self.happened.wait_for(done)


def stored(obj: Object) -> Object:
    return obj | {"metadata": {"uid": f"uid-{obj['kind']}", "creationTimestamp": "2026-01-01T00:00:00Z"} | obj["metadata"]}


@dataclass
class Holder:
    """A policy store."""

    current: PolicySet


class Running:
    """Loops that run while a test looks at them."""

    def loops(self) -> Coroutine[Any, Any, None]:
        """Return what runs."""
        raise AssertionError("whoever has loops says which")

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.loops())
        await self.settle()  # so that what a test puts from now on is seen as a change
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})
        assert self._task.cancelled()

    async def settle(self) -> None:
        """Let everything run that can run now."""
        for _ in range(50):
            await asyncio.sleep(0)


@dataclass
class Bench(Running):
    """A controller with fakes around it."""

    feed: FakeFeed
    actor: FakeActor
    policies: Holder
    controller: Controller
    gates: list[Capabilities]

    @classmethod
    def of(
        cls,
        *objects: Object,
        policies: PolicySet,
        closed: bool = False,
        owners: Collection[tuple[str, str]] = (),
        **settings: float,
    ) -> Bench:
        """``closed``: what is written comes back as a change at once, as on an idle cluster."""
        feed, gates, holder = FakeFeed(), [Capabilities(group_objects=True)], Holder(policies)
        actor = FakeActor(feed if closed else None)
        changed = replace(QUICK, **settings)
        index = MemberIndex(feed)
        made = Controller(
            feed, actor, holder, lambda: gates[-1], lambda _: FakeWorld(), changed, members=index, owners=lambda: owners
        )
        feed.put(*objects)
        return cls(feed, actor, holder, made, gates)

    def loops(self) -> Coroutine[Any, Any, None]:
        return self.controller.run()
