"""Does what planners planned, in their order, and says what became of each action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import structlog

from webhook.cluster.api import Api
from webhook.cluster.conditions import write_condition
from webhook.cluster.events import EventRecorder
from webhook.cluster.suspension import NotNeeded, resume, suspend
from webhook.errors import ClusterError
from webhook.model.actions import (
    Apply,
    Delete,
    Evict,
    PlannedAction,
    Recheck,
    Resume,
    SetCondition,
    SetQuorum,
    Suspend,
    Tell,
)
from webhook.model.groups import FIELD_MANAGER, QUORUM_SET_ANNOTATION
from webhook.model.objects import Object, ObjectKey

_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """It was done; ``object`` is what the API server holds now (None: deleted, or nothing was to be written)."""

    action: PlannedAction
    object: Object | None = None


@dataclass(frozen=True, slots=True)
class Moot:
    """It is not needed any more, or no longer about the same object."""

    action: PlannedAction
    because: str
    is_foreign: bool = False
    """Somebody else has a hand on it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It was refused or the API server was away; what follows it was not tried. Plan again after a pause."""

    action: PlannedAction
    error: ClusterError


Outcome: TypeAlias = Done | Moot | Failed
_OnOne: TypeAlias = Delete | Suspend | Resume | SetQuorum | Evict | SetCondition


class Executor:
    """Performs planned actions through an Api; the Api's fence stops it when leadership is lost."""

    def __init__(self, api: Api, recorder: EventRecorder) -> None:
        self._api, self._recorder = api, recorder

    async def perform(self, actions: Sequence[PlannedAction]) -> tuple[Outcome, ...]:
        """Perform actions in order up to the first write that fails. A Recheck is the caller's; it is Done at once.

        An event that could not be recorded stops nothing: telling must not hinder doing. Nor does an eviction that a budget
        forbids for now: the others of its group are not to wait for it.
        """
        outcomes: list[Outcome] = []
        for action in actions:
            outcome = await self._perform_one(action)
            outcomes.append(outcome)
            if isinstance(outcome, Failed) and not isinstance(action, Tell | Evict):
                break
        return tuple(outcomes)

    async def _perform_one(self, action: PlannedAction) -> Outcome:
        try:
            match action:
                case Apply():
                    return await self._apply(action)
                case Tell():
                    return Done(action, await self._recorder.post(action))
                case Recheck():
                    return Done(action)
                case _:
                    return await self._perform_on_one(action)
        except ClusterError as error:
            _LOG.warning("action failed", action=type(action).__name__, reason=action.reason, error=str(error))
            return Failed(action, error)

    async def _apply(self, action: Apply) -> Outcome:
        key = ObjectKey.of(action.object)
        try:
            if action.is_new:
                stored = await self._api.create(action.object)
            else:
                stored = await self._api.server_side_apply(action.object, manager=FIELD_MANAGER)
        except ClusterError as error:
            if "being terminated" in str(error):  # 403, cause NamespaceTerminating: nothing can be created there any more
                return Moot(action, f"namespace {key.namespace} is being deleted")
            if error.status == 404 and f'namespaces "{key.namespace}"' in str(error):
                return Moot(action, f"namespace {key.namespace} is gone")
            raise
        _LOG.info("created" if action.is_new else "applied", key=str(key), reason=action.reason)
        return Done(action, stored)

    async def _perform_on_one(self, action: _OnOne) -> Outcome:
        """Perform what is about one object by its UID: moot when that object is gone, or another has its name."""
        try:
            found = await self._write(action)
        except ClusterError as error:
            if error.status == 404:
                return Moot(action, "it is gone already")
            if error.status == 409:
                return Moot(action, "another object has its name now")
            raise
        if isinstance(found, NotNeeded):
            _LOG.info("not needed", action=type(action).__name__, key=str(action.key), because=found.because)
            return Moot(action, *found)
        _LOG.info("done", action=type(action).__name__, key=str(action.key), reason=action.reason)
        return Done(action, found)

    async def _write(self, action: _OnOne) -> NotNeeded | Object | None:
        match action:
            case Delete():
                await self._api.delete(action.key, uid=action.uid, grace_seconds=0 if action.force else None)
            case Suspend():
                return await suspend(self._api, action)
            case Resume():
                return await resume(self._api, action)
            case SetQuorum():
                await self._api.merge_patch(action.key, _quorum(action), manager=FIELD_MANAGER)
            case Evict():
                await self._api.evict(action.key, uid=action.uid, dry_run=action.dry_run)
            case SetCondition():
                await write_condition(self._api, action)
            case _:
                assert_never(action)
        return None


def _quorum(action: SetQuorum) -> Object:
    policy: Object = {"schedulingPolicy": {"gang": {"minCount": action.min_count}}}
    if action.key.kind == "PodGroup":
        return {"metadata": {"uid": action.uid}, "spec": policy}
    ours = {QUORUM_SET_ANNOTATION: str(action.min_count)}
    return {"metadata": {"uid": action.uid, "annotations": ours}, "spec": {"scheduling": policy}}
