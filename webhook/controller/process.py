"""The loops of the controller: what changed is looked at, planned for and acted on, by one worker a workload.

Everything is planned from the snapshot and the policy set of the moment, so a lost event, a restart or another leader
costs only time: the resync finds what is missing. Nothing is remembered but what was told, to tell it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import structlog

from webhook.admission import PolicySet
from webhook.controller.members import MemberIndex
from webhook.controller.queue import WorkQueue
from webhook.controller.told import Told
from webhook.controller.upkeep import Upkeep
from webhook.groups import (
    asks_for_gang,
    has_lost_scheduling,
    is_delegated,
    is_native,
    is_recorded_for_pods,
    owners_above,
    plan_orphans,
    plan_release,
    recorded_names,
)
from webhook.model.actions import Apply, Delete, PlannedAction, Recheck, Tell
from webhook.model.groups import SCHEDULING_GROUP, Capabilities
from webhook.model.objects import Kind, Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot
from webhook.rules import ClusterView, World
from webhook.settings import ControllerSettings

_LOG = structlog.get_logger(__name__)
WORKERS = 4
"""Workloads handled at the same time: each waits for the API server most of the time."""
CONTROLLER_KINDS = (
    Kind("batch", "v1", "Job"),
    Kind("", "v1", "Pod"),
    Kind("", "v1", "Namespace"),
    Kind("scheduling.k8s.io", "v1beta1", "Workload"),
    Kind("scheduling.k8s.io", "v1beta1", "PodGroup"),
)
"""What the loops follow, whatever the policies are; the kinds that those group come on top."""
JOBS = frozenset({("batch", "Job")})
"""Group and kind of the workloads that are always looked after."""


class Feed(Protocol):
    """The followed state of the cluster."""

    current: Snapshot

    def listen(self, listener: Callable[[ObjectKey, Object | None, Object | None], None]) -> None:
        """Call the listener with key, old and new object after every change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """Why not all actions were performed, so that all should be planned again."""

    because: str
    is_refusal: bool
    """The API server said no to what we asked for: the same question gets the same answer until somebody changes something."""


class Actor(Protocol):
    """Whoever performs actions."""

    async def perform_all(self, actions: Sequence[PlannedAction]) -> Shortfall | None:
        """Perform actions in order, up to the first write that fails; what was only to be told is no reason to fail."""


class Policies(Protocol):
    """The policy set in force."""

    current: PolicySet


class Controller:
    """Keeps group objects beside their workloads while it leads."""

    def __init__(  # noqa: PLR0917 - the parts of one process, joined once in cli
        self,
        feed: Feed,
        actor: Actor,
        policies: Policies,
        capabilities: Callable[[], Capabilities],
        world: Callable[[Snapshot], World],
        settings: ControllerSettings,
        *,
        members: MemberIndex,
        view: Callable[[Snapshot, str], ClusterView] = ClusterView,
        owners: Callable[[], Collection[tuple[str, str]]] = JOBS.copy,
    ) -> None:
        """``owners``: group and kind of the workloads that the policies group, as far as they are followed.

        ``members`` must hear of changes before this does.
        """
        self._owners = owners
        self._feed, self._actor, self._policies = feed, actor, policies
        self._capabilities, self._world, self._settings, self._view = capabilities, world, settings, view
        self._queue: WorkQueue[ObjectKey] | None = None
        self._members = members
        self._applied: dict[ObjectKey, Object] = {}
        """What was applied and has not come back as a change yet: the snapshot is behind, and writing it again is idle."""
        self._told = Told()
        feed.listen(self._on_change)

    async def run(self) -> None:
        """Work until cancelled; called anew for each time of leading."""
        self._queue = WorkQueue(
            backoff_initial_seconds=self._settings.backoff_initial_seconds,
            backoff_limit_seconds=self._settings.backoff_limit_seconds,
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._resync(self._queue))
                tasks.create_task(self._collect())
                for _ in range(WORKERS):
                    tasks.create_task(self._queue.serve(partial(self._reconcile, queue=self._queue), on_bug=_log_bug))
        finally:
            self._queue.close()
            self._queue = None

    def _on_change(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        """Queue the workload that a changed object belongs to; costs little while another replica leads."""
        self._applied.pop(key, None)
        if self._queue is None:
            return
        obj = new or old or {}
        if (key.group, key.kind) in self._places():
            if _is_attached(obj):
                self._queue_workload(self._queue, key, at_once=_is_edited(old, new))
        elif self._is_member_or_group(key, obj):
            for owner in owners_above(obj, self._feed.current):
                if (owner.group, owner.kind) in self._places():
                    self._queue_workload(self._queue, owner, at_once=False)

    def _places(self) -> frozenset[tuple[str, str]]:
        return JOBS.union(self._owners())

    def _queue_workload(self, queue: WorkQueue[ObjectKey], key: ObjectKey, *, at_once: bool) -> None:
        if at_once:
            queue.add(key)
        else:
            queue.add_after(key, self._settings.settle_seconds)

    @staticmethod
    def _is_member_or_group(key: ObjectKey, obj: Object) -> bool:
        return key.group == SCHEDULING_GROUP or bool((obj.get("spec") or {}).get("schedulingGroup"))

    async def _reconcile(self, key: ObjectKey, queue: WorkQueue[ObjectKey]) -> bool:
        snapshot = self._feed.current
        workload = snapshot.get(key)
        if workload is None:
            return True
        deadline = asyncio.get_running_loop().time() + 5.0
        upkeep = Upkeep(
            policies=self._policies.current,
            snapshot=snapshot,
            world=self._world(snapshot),
            capabilities=self._capabilities(),
            now=datetime.now(UTC),
            silent_wait_seconds=self._settings.silent_wait_seconds,
            native_seconds=self._settings.native_seconds,
            expired=lambda: asyncio.get_running_loop().time() > deadline,
            members=self._members.members,
            view=self._view,
        )
        actions = upkeep.plan(workload)
        for action in actions:
            if isinstance(action, Recheck):
                queue.add_after(key, action.after_seconds)
        # Events last, in a call of their own: a write that fails must not keep its reason from being read.
        writes = [action for action in actions if isinstance(action, Apply | Delete) and self._is_news(action)]
        shortfall = await self._actor.perform_all(writes) if writes else None
        if shortfall is None:
            self._applied |= {ObjectKey.of(action.object): action.object for action in writes if isinstance(action, Apply)}
        tells = [action for action in actions if isinstance(action, Tell)]
        if shortfall is not None and shortfall.is_refusal:
            tells = [*tells, _tell_refused(workload, shortfall)]
        await self._tell(tells)
        return shortfall is None

    def _is_news(self, action: Apply | Delete) -> bool:
        """Tell whether a write is to be performed: not what was just applied and has not come back yet."""
        return isinstance(action, Delete) or self._applied.get(ObjectKey.of(action.object)) != action.object

    async def _tell(self, tells: Sequence[Tell]) -> None:
        """Tell each sentence once, and again when it has grown old."""
        now = datetime.now(UTC)
        news = self._told.news(tells, now)
        if news and await self._actor.perform_all(news) is None:
            self._told.note(news, now)

    async def _resync(self, queue: WorkQueue[ObjectKey]) -> None:
        """Look at every workload now and then: a lost event costs minutes then, not for ever."""
        while True:
            snapshot = self._feed.current
            attached = [one for place in self._places() for one in snapshot.list(*place) if _is_attached(one)]
            self._applied.clear()  # whatever has not come back by now is worth another write
            for workload in attached:
                queue.add(ObjectKey.of(workload))
            await asyncio.sleep(self._settings.resync_seconds)

    async def _collect(self) -> None:
        """Delete group objects that lost their workload, and Jobs that keep a namespace from going because of us."""
        while True:
            await asyncio.sleep(self._settings.collect_seconds)
            snapshot = self._feed.current
            if not snapshot.knows("", "Pod"):
                continue  # without a look at the pods every group seems to be without
            try:
                orphans = plan_orphans(snapshot, now=datetime.now(UTC), grace_seconds=self._settings.orphan_grace_seconds)
                await self._actor.perform_all(orphans)
                await self._actor.perform_all(list(plan_release(snapshot)))
            except Exception:  # noqa: BLE001 - a bug on one object must not stop the upkeep of all others
                _LOG.exception("orphans not collected")


def _log_bug(key: ObjectKey) -> None:
    _LOG.exception("reconciliation failed", key=str(key))


def _is_attached(workload: Object) -> bool:
    """Tell whether a workload has a group by us, or wants one, or was promised one."""
    recorded = bool(recorded_names(workload)) or is_native(workload) or is_recorded_for_pods(workload)
    return recorded or has_lost_scheduling(workload) or is_delegated(workload) or asks_for_gang(workload)


def _tell_refused(workload: Object, shortfall: Shortfall) -> Tell:
    message = (
        f"The API server refused its group objects: {shortfall.because}. Its pods wait until that is mended; what stands in the "
        "way is often the priority class, a ResourceQuota or an admission policy."
    )
    return Tell(about=workload, reason="GroupRefused", message=message)


def _is_edited(old: Object | None, new: Object | None) -> bool:
    """Tell whether a workload is new or says something else than before; its status says what its pods do."""
    if old is None or new is None:
        return True
    return old.get("spec") != new.get("spec") or _words(old) != _words(new)


def _words(workload: Object) -> tuple[object, ...]:
    meta = metadata_of(workload)
    return meta.get("annotations"), meta.get("labels"), meta.get("deletionTimestamp")
