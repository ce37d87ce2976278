"""The controller's half of a process: elected, fenced, acting."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Collection, Sequence

from prometheus_client import CollectorRegistry

from webhook.admission import SnapshotWorld
from webhook.cli.recording import GroupRecorder
from webhook.cluster import Api, Elector, EventRecorder, Executor, Failed, SnapshotFeed
from webhook.controller import Controller, Shortfall
from webhook.model.actions import PlannedAction, Tell
from webhook.model.groups import Capabilities
from webhook.model.snapshot import Snapshot
from webhook.policies import PolicyStore
from webhook.rules import ClusterView
from webhook.settings import ControllerSettings

_REFUSALS = (400, 403, 413, 422)
"""What the API server answers to an object that it will not have. Not 404, 409, 429 or 5xx: those pass."""


class FencedActor:
    """Fits ``controller.Actor``: an executor whose writes stop with leadership."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def perform_all(self, actions: Sequence[PlannedAction]) -> Shortfall | None:
        """Perform actions in order; an event that could not be told is no reason to plan again."""
        for outcome in await self._executor.perform(actions):
            if isinstance(outcome, Failed) and not isinstance(outcome.action, Tell):
                return Shortfall(because=str(outcome.error), is_refusal=outcome.error.status in _REFUSALS)
        return None


class ControllerPart:
    """Waits for the Lease, then keeps group objects."""

    def __init__(
        self,
        api: Api,
        feed: SnapshotFeed,
        store: PolicyStore,
        *,
        capabilities: Callable[[], Capabilities],
        settings: ControllerSettings,
        owners: Callable[[], Collection[tuple[str, str]]],
        registry: CollectorRegistry,
        view: Callable[[Snapshot, str], ClusterView] = ClusterView,
    ) -> None:
        name = identity()
        self._elector = Elector(api, settings, identity=name)
        self._recorder = GroupRecorder(registry, leads=lambda: self._elector.leading)
        fenced = api.fenced(self._elector.fence)
        self._controller = Controller(
            feed,
            FencedActor(Executor(fenced, EventRecorder(fenced, instance=name))),
            store,
            capabilities,
            lambda snapshot: SnapshotWorld(snapshot=snapshot, files=store.current.params),
            settings,
            view=view,
            owners=owners,
        )

    async def run(self) -> None:
        """Lead whenever possible, until cancelled."""
        await self._elector.run(self._work)

    async def _work(self) -> None:
        try:
            await self._controller.run()
        finally:
            self._recorder.stopped()


def identity() -> str:
    """Return a name that no other process has, also not an earlier one of the same pod."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
