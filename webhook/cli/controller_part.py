"""The controller's half of a process: elected, fenced, acting."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Collection, Sequence

from prometheus_client import CollectorRegistry

from webhook.admission import SnapshotWorld
from webhook.cli.recording import GroupRecorder
from webhook.cli.witness import PreemptionWitness
from webhook.cluster import Api, Done, Elector, EventRecorder, Executor, Failed, Moot, Outcome, SnapshotFeed
from webhook.controller import Carried, Controller, Keeper, MemberIndex, Shortfall
from webhook.groups import read_path
from webhook.model.actions import Evict, PlannedAction, Resume, Suspend, Tell
from webhook.model.groups import Capabilities
from webhook.model.objects import version_of
from webhook.model.snapshot import Snapshot
from webhook.policies import PolicyStore
from webhook.rules import ClusterView
from webhook.settings import ControllerSettings, DisruptionSettings

_REFUSALS = (400, 403, 413, 422)
"""What the API server answers to an object that it will not have. Not 404, 409, 429 or 5xx: those pass."""

_DOUBTS = ("GroupFieldDropped", "GroupNotAttached", "NativeGroupMissing")
"""What is told where the cluster did otherwise than it was seen to do."""


class FencedActor:
    """Fits ``controller.Actor`` and ``controller.Hands``: an executor whose writes stop with leadership."""

    def __init__(self, executor: Executor, doubt: Callable[[], None] = lambda: None) -> None:
        """``doubt`` is called when something is told that a gate which is off brings about."""
        self._executor, self._doubt = executor, doubt

    async def perform_all(self, actions: Sequence[PlannedAction]) -> Shortfall | None:
        """Perform actions in order; an event that could not be told is no reason to plan again."""
        if any(isinstance(action, Tell) and action.reason in _DOUBTS for action in actions):
            self._doubt()
        return _shortfall(await self._executor.perform(actions))

    async def carry_out(self, actions: Sequence[PlannedAction]) -> Carried:
        """Perform actions in order, and say as well what somebody else has a hand on."""
        outcomes = await self._executor.perform(actions)
        foreign = next((outcome.because for outcome in outcomes if isinstance(outcome, Moot) and outcome.is_foreign), "")
        done = [one for one in outcomes if isinstance(one, Done)]
        return Carried(
            shortfall=_shortfall(outcomes), foreign=foreign, version=_version(done), is_suspended=any(map(_is_kept, done))
        )


def _version(outcomes: Sequence[Done]) -> int:
    """Return the version of the workload that was suspended or resumed; 0 where none was."""
    stored = [one.object for one in outcomes if isinstance(one.action, Suspend | Resume)]
    return max((version_of(obj) for obj in stored if obj), default=0)


def _is_kept(done: Done) -> bool:
    """Tell whether the API server holds the suspension that was written."""
    return isinstance(done.action, Suspend) and any(value is True for value in read_path(done.object or {}, done.action.path))


def _shortfall(outcomes: Sequence[Outcome]) -> Shortfall | None:
    for outcome in outcomes:
        if isinstance(outcome, Failed) and not isinstance(outcome.action, Tell | Evict):
            return Shortfall(because=str(outcome.error), is_refusal=outcome.error.status in _REFUSALS)
    return None


class ControllerPart:
    """Waits for the Lease, then keeps group objects, and running groups together."""

    def __init__(
        self,
        api: Api,
        feed: SnapshotFeed,
        store: PolicyStore,
        *,
        capabilities: Callable[[], Capabilities],
        settings: ControllerSettings,
        disruption: DisruptionSettings,
        owners: Callable[[], Collection[tuple[str, str]]],
        registry: CollectorRegistry,
        doubt: Callable[[], None],
        view: Callable[[Snapshot, str], ClusterView] = ClusterView,
    ) -> None:
        name = identity()
        self._elector = Elector(api, settings, identity=name)
        self._recorder = GroupRecorder(registry, leads=lambda: self._elector.leading)
        fenced = api.fenced(self._elector.fence)
        actor = FencedActor(Executor(fenced, EventRecorder(fenced, instance=name)), doubt)
        members = MemberIndex(feed)

        def world(snapshot: Snapshot) -> SnapshotWorld:
            return SnapshotWorld(snapshot=snapshot, files=store.current.params)

        self._controller = Controller(
            feed, actor, store, capabilities, world, settings, members=members, view=view, owners=owners
        )
        self._keeper = Keeper(
            feed,
            actor,
            store,
            world,
            disruption,
            settings,
            members=members,
            view=view,
            recorder=self._recorder,
            witness=PreemptionWitness(api),
        )

    async def run(self) -> None:
        """Lead whenever possible, until cancelled."""
        await self._elector.run(self._work)

    async def _work(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._controller.run())
                tasks.create_task(self._keeper.run())
        finally:
            self._recorder.stopped()


def identity() -> str:
    """Return a name that no other process has, also not an earlier one of the same pod."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
