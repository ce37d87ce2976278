"""Keeps groups together once they run: a queue per PodGroup, fed by whatever may take a member or stand in a restart's way.

Everything is judged from the snapshot of the moment, so a lost event costs the time until the next resync. What is to be done,
and in which order, ``preemption`` says; here it is handed on, and what came of it is remembered.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import structlog

from webhook.controller.gathering import Gathering
from webhook.controller.members import MemberIndex
from webhook.controller.memory import Memory, Remembered
from webhook.controller.preemptors import AGAIN_SECONDS, Preemptors, Witness, nobody_saw
from webhook.controller.process import Feed, Policies, Shortfall
from webhook.controller.queue import WorkQueue
from webhook.controller.recorder import Recorder, Unrecorded
from webhook.controller.sightings import Sightings
from webhook.groups import has_ended
from webhook.model.actions import PlannedAction, Resume, Tell
from webhook.model.disruption import GroupState, Health, Step
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Kind, Object, ObjectKey, version_of
from webhook.model.snapshot import Snapshot
from webhook.preemption import (
    GroupFacts,
    Rates,
    Seen,
    Turn,
    about,
    judge_health,
    plan_abandon,
    plan_restart,
    preemptor_name,
    repair,
    since_restart,
    tell_held,
    tell_lost,
    tell_stuck,
    tell_taken,
)
from webhook.rules import ClusterView, World
from webhook.settings import ControllerSettings, DisruptionSettings

_LOG = structlog.get_logger(__name__)
KEEPER_KINDS = (Kind("", "v1", "Node"), Kind("policy", "v1", "PodDisruptionBudget"))
"""What it follows besides the kinds of the upkeep."""
_SOON_SECONDS, _BEHIND_SECONDS = 0.1, 0.5
_UTC_NOW = partial(datetime.now, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What became of some actions."""

    shortfall: Shortfall | None = None
    """Why not all were done."""
    foreign: str = ""
    """What somebody else has a hand on, so that it was left."""
    version: int = 0
    """resourceVersion of the workload after it was suspended or resumed; 0: it was not."""
    is_suspended: bool = False
    """It was suspended, and the API server kept that: a definition without the field prunes it."""


class Hands(Protocol):
    """Whoever carries out what a restart needs."""

    async def carry_out(self, actions: Sequence[PlannedAction]) -> Carried:
        """Perform actions in order, up to the first write that fails; an eviction that is refused for now stops nothing."""


class Keeper:
    """Looks after running groups while it leads."""

    def __init__(  # noqa: PLR0917 - the parts of one process, joined once in cli
        self,
        feed: Feed,
        hands: Hands,
        policies: Policies,
        world: Callable[[Snapshot], World],
        settings: DisruptionSettings,
        pauses: ControllerSettings,
        *,
        members: MemberIndex,
        view: Callable[[Snapshot, str], ClusterView] = ClusterView,
        recorder: Recorder | None = None,
        witness: Witness = nobody_saw,
        clock: Callable[[], datetime] = _UTC_NOW,
    ) -> None:
        """``members`` must hear of changes before this does; ``pauses`` are those after a failure."""
        self._feed, self._hands, self._settings, self._pauses = feed, hands, settings, pauses
        self._members, self._clock = members, clock
        self._recorder: Recorder = recorder or Unrecorded()
        self._preemptors = Preemptors(witness)
        self._memory = Memory()
        self._sightings = Sightings(members, waiting=self._under_way, clock=clock)
        self._gathering = Gathering(feed, policies, world, members, self._sightings, view=view)
        self._rates = Rates(
            per_namespace=settings.per_namespace,
            per_owner=settings.per_owner,
            window_seconds=settings.window_seconds,
            backoff_initial_seconds=settings.backoff_initial_seconds,
            backoff_limit_seconds=settings.backoff_limit_seconds,
            calm_seconds=settings.calm_seconds,
        )
        self._queue: WorkQueue[ObjectKey] | None = None
        feed.listen(self._on_change)

    async def run(self) -> None:
        """Work until cancelled; called anew for each time of leading."""
        self._memory = Memory()
        queue = self._queue = WorkQueue(
            backoff_initial_seconds=self._pauses.backoff_initial_seconds, backoff_limit_seconds=self._pauses.backoff_limit_seconds
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._resync(queue))
                for _ in range(self._settings.workers):
                    tasks.create_task(queue.serve(partial(self._look, queue=queue), on_bug=_log_bug))
        finally:
            queue.close()
            self._queue = None

    def _under_way(self, namespace: str) -> Collection[ObjectKey]:
        return self._memory.under_way(namespace)  # of this time of leading

    def _on_change(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        concern = self._sightings.take(key, old, new)
        if self._queue is None:
            return
        for group in concern.groups:
            if concern.at_once:
                self._queue.add(group)
            else:
                self._queue.add_after(group, self._settings.settle_seconds)

    async def _resync(self, queue: WorkQueue[ObjectKey]) -> None:
        """Look at every group now and then: a lost event costs a minute then, not for ever."""
        while True:
            for pod_group in self._feed.current.list(SCHEDULING_GROUP, "PodGroup"):
                queue.add(ObjectKey.of(pod_group))
            self._sightings.forget_nodes()
            await asyncio.sleep(self._settings.resync_seconds)

    async def _look(self, key: ObjectKey, queue: WorkQueue[ObjectKey]) -> bool:
        facts = self._gathering.facts(key, self._memory, self._clock())
        if facts is None:
            self._memory.forget(key)
            self._recorder.gone(key)
            return True
        known = self._memory.of(facts.pod_group)
        if facts.owner is not None and version_of(facts.owner) < known.version:
            queue.add_after(key, _BEHIND_SECONDS)
            return True
        members = judge_health(since_restart(facts))
        health = await self._preemptors.named(self._permitted(members), facts.namespace_name)
        known.short_since = (known.short_since or facts.now) if health.is_short else None
        self._sightings.keep(key, health.losses)
        group = judge_health(facts) if facts.intent is not None else members
        self._recorder.looked(key, group, [pod for pod in facts.members if not has_ended(pod)])
        seen = self._seen(facts, health, known)
        turn = plan_restart(seen)
        done = await self._carry_out(key, seen, turn, known)
        is_open = self._preemptors.is_open(health)
        soon = (turn.again_seconds, health.look_again_seconds, AGAIN_SECONDS if is_open else None)
        pauses = [pause for pause in soon if pause is not None]
        if pauses:
            queue.add_after(key, max(min(pauses), _SOON_SECONDS))
        return done

    def _permitted(self, health: Health) -> Health:
        """Without restarts a group is told of and counted, and what is under way is brought to its end."""
        if self._settings.restarts or not health.is_restart_due:
            return health
        return replace(health, is_restart_due=False, way_out="Nothing is done about it: the controller runs with --no-restarts.")

    def _seen(self, facts: GroupFacts, health: Health, known: Remembered) -> Seen:
        by = next((loss.by for loss in health.losses if loss.by), "")
        window = self._settings.window_seconds
        return Seen(
            facts=facts,
            health=health,
            past=known.past,
            is_probed=not self._settings.restarts or 0 < version_of(facts.owner or {}) == known.probed,
            is_inherited=known.is_inherited,
            begun=self._memory.begun(facts.namespace_name, facts.owner_uid, now=facts.now, window_seconds=window),
            rates=self._rates,
            fresh_id=secrets.token_hex(3),
            await_seconds=self._settings.await_seconds,
            is_shared=len(self._members.owned_by(facts.owner_uid)) > 1,
            preemptor=preemptor_name(by, self._feed.current, facts.namespace_name) if by else "",
        )

    async def _carry_out(self, key: ObjectKey, seen: Seen, turn: Turn, known: Remembered) -> bool:
        """Do what a turn says, and remember it only once all of it is done: until then the same is planned again."""
        facts = seen.facts
        is_idle = turn.intent is None and facts.intent is None
        writes = (*turn.writes, *(repair(facts) if is_idle and self._settings.restarts else ()))
        if turn.ended is not None:
            await self._tell(turn.tells)  # before it is written: a leader that dies in between leaves nobody who knows
        carried = await self._hands.carry_out(writes) if writes else Carried()
        if carried.foreign and turn.intent is not None:
            turn = plan_abandon(replace(seen, facts=replace(facts, intent=turn.intent)), carried.foreign)
            carried = await self._hands.carry_out(turn.writes)
        if carried.shortfall is not None:
            await self._tell(_refused(seen, carried.shortfall))
            return False
        known.version = max(known.version, carried.version)
        if carried.is_suspended and turn.intent is not None:
            turn = replace(turn, intent=replace(turn.intent, suspended_by_us=True))
        if is_idle and facts.owner is not None and any(isinstance(write, Resume) for write in writes):
            known.probed = version_of(facts.owner)
        if turn.began:
            self._memory.note_begun(facts.now, facts.namespace_name, facts.owner_uid)
        if turn.intent is not None and turn.intent.step is Step.FORMING and known.intent != turn.intent:
            self._sightings.keep(key, ())  # who went until now was taken down by us
            known.short_since = None
        if turn.ended is not None:
            self._recorder.restarted(*turn.ended)
        if turn.intent is not None or known.intent is not None:
            _log_step(key, known, turn)
        known.intent, known.past, known.is_inherited = turn.intent, turn.past, False
        is_settled = turn.intent is None and turn.ended is None and not self._preemptors.is_open(seen.health)
        await self._tell((*turn.tells, *(_state_told(seen) if is_settled else ())))
        return True

    async def _tell(self, tells: Sequence[Tell]) -> None:
        """Tell each sentence once, and again when it has grown old; what cannot be told hinders nothing."""
        now = self._clock()
        news = self._memory.told.news(tells, now)
        if news:
            await self._hands.carry_out(news)
            self._memory.told.note(news, now)


def _state_told(seen: Seen) -> tuple[Tell, ...]:
    """Return what is to be told of a group for which nothing is done."""
    said, health = about(seen.facts), seen.health
    match health.state:
        case GroupState.STUCK:
            return tell_stuck(said, health)
        case GroupState.LOST_A_MEMBER:
            return tell_lost(said, health)
        case GroupState.HELD if seen.facts.owner is not None:
            return tell_held(said, health)
        case GroupState.FORMING if health.losses and health.losses[0].cause.is_disruption:
            return tell_taken(said, health, preemptor=seen.preemptor)
        case _:
            return ()


def _refused(seen: Seen, shortfall: Shortfall) -> tuple[Tell, ...]:
    """Return what is told when the API server says no; when it was only away, nothing: it is tried again."""
    if not shortfall.is_refusal:
        return ()
    because = f"The API server refused what its restart needs: {shortfall.because.rstrip('. ')}."
    way_out = "Look at the controller's permissions and at admission policies; it is tried again."
    return tell_held(about(seen.facts), replace(seen.health, state=GroupState.HELD, because=because, way_out=way_out))


def _log_bug(key: ObjectKey) -> None:
    _LOG.exception("group not looked after", key=str(key))


def _log_step(key: ObjectKey, known: Remembered, turn: Turn) -> None:
    before, after = known.intent, turn.intent
    if after is not None and (before is None or (before.id, before.step) != (after.id, after.step)):
        _LOG.info(
            "restart", group=str(key), restart=after.id, step=after.step.value, cause=after.cause.value, member=after.victim
        )
    elif after is None and before is not None:
        _LOG.info("restart ended", group=str(key), restart=before.id, outcome=turn.ended[1].value if turn.ended else "not needed")
