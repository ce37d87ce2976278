"""The restart of a group, one step at a time: what is to be done now, by the step that its intent has reached.

Suspend the workload, wait until no member is left, set the quorum to what is still to be done, resume: the only way found in
which the new members start together or not at all (experiments 3.4). Each step may be done again, so the next leader goes on
where the last one ended. Whoever else changes the workload meanwhile has the last word: the restart ends, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from webhook.model.actions import Tell, Write
from webhook.model.disruption import GroupState, Health, Intent, Loss, LossCause, Past, RestartOutcome, Step
from webhook.model.objects import Object
from webhook.preemption.budgets import BudgetsHold, judge_budgets
from webhook.preemption.facts import GroupFacts
from webhook.preemption.foreign import Means, hand_on, is_held_down
from webhook.preemption.intent import forget_past, is_marked_disrupted, write_disrupted, write_intent, write_past
from webhook.preemption.limits import Begun, Obstacle, Rates, attempt_after, find_limit
from webhook.preemption.steps import (
    about,
    deletions,
    evictions,
    forced_deletions,
    is_suspension_seen,
    mend_quorum,
    names_of,
    old_members,
    resume,
    suspend,
    suspended_for,
    unfinished,
)
from webhook.preemption.telling import tell_begun, tell_ended, tell_held

SEEN_SECONDS = 3.0
"""How long what we wrote may take to come back by the watch, before its absence is somebody else's hand."""
LONG_SUSPENDED_SECONDS = 30.0
"""A suspension without an intent that is younger may be one of which the intent is still on its way to us."""
PRUNED_SECONDS = 15.0
"""A field that is still not there after this long is one that the kind does not have."""
_POLL_SECONDS = 5.0
_WAY_OUT = (
    "If a node is off, delete the Node or give it the taint node.kubernetes.io/out-of-service, and its pods are deleted by force."
)
_BLOCKED_SECONDS = 60.0
"""How long evictions are tried again once some of a group have gone, before the rest are deleted: half a group helps nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one step of a restart is decided by."""

    facts: GroupFacts
    health: Health
    """Judged without the intent."""
    past: Past | None
    begun: Begun
    rates: Rates
    fresh_id: str
    """For a restart that begins now."""
    await_seconds: float
    """After this long a wait is told."""
    is_shared: bool = False
    """The workload has other groups as well, which a suspension would take down."""
    preemptor: str = ""
    is_probed: bool = False
    """The API server was asked already whether a suspension of this version of the workload is ours."""
    is_inherited: bool = False
    """Another leader began it, and may have died before it could tell so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is to be done now, and what holds once it is done."""

    writes: tuple[Write, ...] = ()
    tells: tuple[Tell, ...] = ()
    intent: Intent | None = None
    past: Past | None = None
    """How the last restart ended; as before where none ended now."""
    ended: tuple[LossCause, RestartOutcome] | None = None
    began: bool = False
    """Members are taken down from now on."""
    again_seconds: float | None = None


def plan_restart(seen: Seen) -> Turn:
    """Return the next step for a group."""
    intent = seen.facts.intent
    if intent is None:
        return _begin(seen, seen.past) if seen.health.is_restart_due else _rest(seen)
    if seen.health.state is GroupState.FINISHING:
        return _end(seen, intent, RestartOutcome.FINISHED, seen.health.because)
    hand = hand_on(seen.facts)
    if hand.means is Means.NOTHING or (hand.means is Means.EVICT and intent.step in _BY_SUSPENSION):
        return _end(seen, intent, RestartOutcome.ABANDONED, hand.because)
    turn = _STEPS[intent.step](seen, intent)
    if not seen.is_inherited or intent.step not in _UNTOLD:
        return turn
    known = replace(seen.health, losses=tuple(loss for loss in seen.health.losses if _is_before(loss, intent)))
    return replace(turn, tells=(*tell_begun(about(seen.facts), intent, known, preemptor=seen.preemptor), *turn.tells))


def _is_before(loss: Loss, intent: Intent) -> bool:
    """Tell whether a member was lost before the restart began: whoever went since may have been taken down by it."""
    return loss.pod == intent.victim or loss.since < intent.began


def plan_abandon(seen: Seen, because: str) -> Turn:
    """Return the end of a restart of which the API server said that somebody else holds the field."""
    intent = seen.facts.intent
    return Turn(past=seen.past) if intent is None else _end(seen, intent, RestartOutcome.ABANDONED, because)


def _rest(seen: Seen) -> Turn:
    """Leave a group that needs nothing; a suspension of ours that nobody remembers is ended.

    So it is when somebody deleted the PodGroup, and our condition with it, in the middle of a restart.
    """
    facts = seen.facts
    writes: list[Write] = []
    if is_marked_disrupted(facts.pod_group):
        writes.append(write_disrupted(facts.pod_group, None, "", facts.now))
    is_down = seen.health.state is GroupState.FORMING and is_held_down(facts)
    again = None
    if is_down and not seen.is_probed and hand_on(facts).means is Means.SUSPEND:
        again = suspended_for(facts, LONG_SUSPENDED_SECONDS)
    if again == 0:
        writes.append(resume(facts, "A restart of ours was interrupted, and nobody else holds the suspension."))
    return Turn(writes=tuple(writes), past=seen.past, again_seconds=again or None)


def _begin(seen: Seen, past: Past | None) -> Turn:
    facts, loss = seen.facts, seen.health.losses[0] if seen.health.losses else None
    intent = Intent(
        id=seen.fresh_id,
        step=Step.HOLDING,
        owner_uid=facts.owner_uid,
        cause=loss.cause if loss else LossCause.UNSEEN,
        victim=loss.pod if loss else "",
        began=facts.now.replace(microsecond=0),
        step_since=facts.now.replace(microsecond=0),
        attempt=attempt_after(past, seen.rates, facts.now),
        total=past.intent.total + 1 if past else 1,
    )
    obstacle = _find_obstacle(seen, intent, past)
    return _go(seen, intent, past) if obstacle is None else _wait_for(seen, intent, obstacle, past)


def _hold(seen: Seen, intent: Intent) -> Turn:
    if not seen.health.is_restart_due:
        return _undo(seen, intent)
    obstacle = _find_obstacle(seen, intent, seen.past)
    if obstacle is None or _is_overdue(seen, intent, obstacle):
        return _go(seen, intent, seen.past)
    return _wait_for(seen, intent, obstacle, seen.past)


def _find_obstacle(seen: Seen, intent: Intent, past: Past | None) -> Obstacle | None:
    facts = seen.facts
    limit = find_limit(intent, facts.spec, past, seen.begun, seen.rates, facts.now)
    if limit is not None:
        return limit
    answer = judge_budgets(unfinished(facts), facts.budgets, facts.spec)
    if not isinstance(answer, BudgetsHold):
        return None
    return Obstacle(because=answer.because, way_out=answer.way_out, is_budget=True)


def _is_overdue(seen: Seen, intent: Intent, obstacle: Obstacle) -> bool:
    spec = seen.facts.spec
    waited = seen.facts.now - intent.began >= timedelta(seconds=spec.budget_timeout_seconds)
    return obstacle.is_budget and waited and spec.on_budget_timeout == "Restart"


def _wait_for(seen: Seen, intent: Intent, obstacle: Obstacle, past: Past | None) -> Turn:
    facts = seen.facts
    again = min(obstacle.seconds or _POLL_SECONDS, max(facts.spec.budget_timeout_seconds, 1.0))
    note = f"{obstacle.because.rstrip('. ')}. {obstacle.way_out}".strip()
    if facts.intent is not None and facts.intent.note == note:
        return Turn(intent=intent, past=past, again_seconds=again)
    held = replace(intent, step=Step.HOLDING, note=note)
    health = replace(seen.health, state=GroupState.HELD, because=obstacle.because, way_out=obstacle.way_out)
    return Turn(
        writes=(*_mark(seen, held), write_intent(facts.pod_group, held)),
        tells=tell_held(about(facts), health, held),
        intent=held,
        past=past,
        again_seconds=again,
    )


def _undo(seen: Seen, intent: Intent) -> Turn:
    """Let go of a restart that has taken nobody down: the group came to be whole by itself, or is left by its policy now."""
    facts, past = seen.facts, seen.past
    if past is None and intent.total > 1:  # another leader knew it
        before = replace(intent, attempt=max(intent.attempt - 1, 1), total=intent.total - 1, note="")
        past = Past(intent=before, outcome=RestartOutcome.WHOLE, ended=intent.began)
    writes = (write_past(facts.pod_group, past) if past else forget_past(facts.pod_group), *_unmark(facts))
    return Turn(writes=writes, past=past)


def _go(seen: Seen, intent: Intent, past: Past | None) -> Turn:
    facts = seen.facts
    by_eviction = seen.is_shared or hand_on(facts).means is Means.EVICT
    started = _at(seen, intent, Step.EVICTING if by_eviction else Step.SUSPENDING)
    if by_eviction:
        started = replace(started, began=started.step_since)  # whoever was created until now goes
    first = evictions(facts, started) if by_eviction else (suspend(facts, started),)
    return Turn(
        writes=(*_mark(seen, started), write_intent(facts.pod_group, started), *first),
        tells=tell_begun(about(facts), started, seen.health, preemptor=seen.preemptor),
        intent=started,
        past=past,
        began=True,
        again_seconds=1.0,
    )


def _suspending(seen: Seen, intent: Intent) -> Turn:
    facts = seen.facts
    if is_held_down(facts):
        return _awaiting(seen, replace(_at(seen, intent, Step.AWAITING), suspended_by_us=True))
    if intent.suspended_by_us:
        return _end(seen, intent, RestartOutcome.ABANDONED, _set_back(facts))
    if seen.is_inherited:  # its leader may have died before it wrote the suspension, and a Lease alone takes PRUNED_SECONDS
        intent = _at(seen, intent, Step.SUSPENDING)
    elif _passed(seen, intent) > PRUNED_SECONDS:
        evicting = _at(seen, intent, Step.EVICTING, note=f"{facts.spec.suspend_path} has no effect on this kind")
        writes = (write_intent(facts.pod_group, evicting), *evictions(facts, evicting))
        return Turn(writes=writes, intent=evicting, past=seen.past, again_seconds=1.0)
    return Turn(writes=(suspend(facts, intent),), intent=intent, past=seen.past, again_seconds=1.0)


def _awaiting(seen: Seen, intent: Intent) -> Turn:
    facts = seen.facts
    if not is_held_down(facts):
        if _passed(seen, intent) <= SEEN_SECONDS:
            return Turn(intent=intent, past=seen.past, again_seconds=1.0)
        return _end(seen, intent, RestartOutcome.ABANDONED, _set_back(facts))
    left = unfinished(facts)
    if not left and is_suspension_seen(facts):
        return _resuming(seen, intent)
    is_late = _passed(seen, intent) > seen.await_seconds
    noted = replace(intent, note=_lateness(left) if is_late else "")
    forced = forced_deletions(facts)
    news = noted != facts.intent
    return Turn(
        writes=((write_intent(facts.pod_group, noted),) if news else ()) + forced,
        tells=_tell_late(seen, noted, left) if news and is_late else (),
        intent=noted,
        past=seen.past,
        again_seconds=_POLL_SECONDS,
    )


def _set_back(facts: GroupFacts) -> str:
    return f"{facts.spec.suspend_path} was set back before all members had ended"


def _resuming(seen: Seen, intent: Intent) -> Turn:
    facts = seen.facts
    resuming, forming = _at(seen, intent, Step.RESUMING), _at(seen, intent, Step.FORMING)
    if intent.step is Step.RESUMING and not is_held_down(facts):
        writes: tuple[Write, ...] = ()
    else:
        back = resume(facts, f"All members have ended, so restart {intent.id} lets them start together.")
        writes = (write_intent(facts.pod_group, resuming), *mend_quorum(facts), back)
    return Turn(
        writes=(*writes, write_intent(facts.pod_group, forming), *_unmark(facts)),
        intent=forming,
        past=seen.past,
        again_seconds=SEEN_SECONDS + 1,
    )


def _evicting(seen: Seen, intent: Intent) -> Turn:
    facts = seen.facts
    if seen.is_inherited:  # while nobody led nothing was tried
        intent = _at(seen, intent, Step.EVICTING, note=intent.note)
    if old_members(facts, intent.began):
        blocked = _passed(seen, intent) > _BLOCKED_SECONDS
        writes = deletions(facts, intent) if blocked else evictions(facts, intent)
        return Turn(writes=writes, intent=intent, past=seen.past, again_seconds=2.0)
    forming = _at(seen, intent, Step.FORMING)
    return Turn(
        writes=(*forced_deletions(facts), write_intent(facts.pod_group, forming), *_unmark(facts)), intent=forming, past=seen.past
    )


def _forming(seen: Seen, intent: Intent) -> Turn:
    facts = seen.facts
    if is_held_down(facts):
        if _passed(seen, intent) <= SEEN_SECONDS:
            return Turn(intent=intent, past=seen.past, again_seconds=1.0)
        return _end(seen, intent, RestartOutcome.ABANDONED, "somebody suspended it before it was whole again")
    if seen.health.state is GroupState.WHOLE:
        return _end(seen, intent, RestartOutcome.WHOLE, "")
    if seen.health.is_restart_due:
        failed = Past(intent=intent, outcome=RestartOutcome.FAILED, ended=facts.now.replace(microsecond=0))
        return replace(_begin(seen, failed), ended=(intent.cause, RestartOutcome.FAILED))
    return Turn(intent=intent, past=seen.past, writes=forced_deletions(facts))


def _end(seen: Seen, intent: Intent, outcome: RestartOutcome, note: str) -> Turn:
    facts = seen.facts
    past = Past(intent=replace(intent, note=note), outcome=outcome, ended=facts.now.replace(microsecond=0))
    if intent.step is Step.HOLDING and seen.health.state is not GroupState.FINISHING:
        return _undo(seen, intent)
    return Turn(
        writes=(write_past(facts.pod_group, past), *_unmark(facts)),
        tells=tell_ended(about(facts), intent, outcome, now=facts.now, note=note, pods=False),
        past=past,
        ended=(intent.cause, outcome),
    )


def _at(seen: Seen, intent: Intent, step: Step, *, note: str = "") -> Intent:
    return replace(intent, step=step, step_since=seen.facts.now.replace(microsecond=0), note=note)


def _passed(seen: Seen, intent: Intent) -> float:
    return (seen.facts.now - intent.step_since).total_seconds()


def _mark(seen: Seen, intent: Intent) -> tuple[Write, ...]:
    facts = seen.facts
    if is_marked_disrupted(facts.pod_group):
        return ()
    return (write_disrupted(facts.pod_group, intent.cause, seen.health.because, facts.now),)


def _unmark(facts: GroupFacts) -> tuple[Write, ...]:
    return (write_disrupted(facts.pod_group, None, "", facts.now),)


def _tell_late(seen: Seen, intent: Intent, left: Sequence[Object]) -> tuple[Tell, ...]:
    health = replace(seen.health, state=GroupState.HELD, losses=(), because=intent.note, way_out=_WAY_OUT if left else "")
    return tell_held(about(seen.facts), health, intent)


def _lateness(left: Sequence[Object]) -> str:
    if not left:
        return "The Job controller has not said yet that the Job is suspended."
    return f"Its other members have ended, but {len(left)} have not: {names_of(left)}. The group starts again when they have."


_UNTOLD = (Step.SUSPENDING, Step.EVICTING, Step.AWAITING)
_BY_SUSPENSION = (Step.SUSPENDING, Step.AWAITING, Step.RESUMING)
_STEPS: dict[Step, Callable[[Seen, Intent], Turn]] = {
    Step.HOLDING: _hold,
    Step.SUSPENDING: _suspending,
    Step.EVICTING: _evicting,
    Step.AWAITING: _awaiting,
    Step.RESUMING: _resuming,
    Step.FORMING: _forming,
}
