"""The state of a group, with what shows it and what leads out of it: a table of questions, the first that says yes answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from webhook.model.disruption import GroupState, Health, Loss, LossCause, Step
from webhook.model.objects import metadata_of
from webhook.preemption.endings import endings
from webhook.preemption.facts import GroupFacts
from webhook.preemption.foreign import Means, hand_on, is_held_down
from webhook.preemption.rollcall import RollCall, call_roll
from webhook.preemption.stuck import deadlock_of, out_of_reach_seconds, waiting_for
from webhook.preemption.telling import loss_sentence, moment_text

SHORT_SECONDS = 30.0
"""How long a started group may be short of a member that nobody saw go. A Job makes the next pod within a second and a shared
claim settles within two (experiments 7.2); the Job controller's shortest back-off is 10 s."""
UNEXPLAINED_SECONDS = 2.0
"""How long a deletion that nobody explained is left alone. A Job that fails or shrinks deletes pods in the same way, and first
does so before it says why (job_controller.go, syncJob). Times of deletion are whole seconds, so up to one is over at once."""


def judge_health(facts: GroupFacts) -> Health:
    """Judge one group. With an intent it is restarting or held, whatever its members do; judge it without to see them."""
    roll = call_roll(facts)
    found = next(health for judge in _JUDGES if (health := judge(facts, roll)) is not None)
    times = (found.look_again_seconds, roll.unsure_seconds, out_of_reach_seconds(facts, roll) or None)
    return replace(
        found,
        bound=roll.bound,
        wanted=roll.wanted,
        working=len(roll.working),
        is_short=roll.is_short and found.state is not GroupState.FINISHING and facts.intent is None,
        look_again_seconds=min((one for one in times if one is not None), default=None),
    )


def _finishing(facts: GroupFacts, roll: RollCall) -> Health | None:
    because = next(endings(facts, roll), "")
    return Health(state=GroupState.FINISHING, because=because, way_out="It ends by itself.") if because else None


def _unowned(facts: GroupFacts, _: RollCall) -> Health | None:
    if facts.owner_reference is None:
        return Health(
            state=GroupState.HELD,
            because=f"PodGroup {facts.name} names no workload that it was made for, so no pod is proved to be its member.",
            way_out="Give the PodGroup an ownerReference to the workload that makes its pods.",
        )
    if facts.owner is None:
        return Health(
            state=GroupState.HELD,
            because=f"{facts.owner_named} is of a kind that is not watched, so nothing is known of it.",
            way_out="Load a policy for its kind, and let Gangwarden list such objects.",
        )
    return None


def _intended(facts: GroupFacts, _: RollCall) -> Health | None:
    intent = facts.intent
    if intent is None:
        return None
    note = f": {intent.note.rstrip('. ')}" if intent.note else ""
    is_held = intent.step is Step.HOLDING
    return Health(
        state=GroupState.HELD if is_held else GroupState.RESTARTING,
        because=f"Restart {intent.id} of the group is at step {intent.step} since {moment_text(intent.step_since)}{note}.",
        way_out="It goes on when what is named here allows it." if is_held else "The controller goes on with the next step.",
        since=intent.step_since if is_held else intent.began,
    )


def _basic(facts: GroupFacts, _: RollCall) -> Health | None:
    if facts.quorum is not None:
        return None
    return Health(state=GroupState.WHOLE, because=f"Group {facts.name} is no gang: its pods run one by one.")


def _suspended(facts: GroupFacts, roll: RollCall) -> Health | None:
    if is_held_down(facts):
        hand = hand_on(facts)
        who = f" ({hand.because})" if hand.because else ""
        because = f"{facts.owner_named} is suspended, and not by a restart of ours{who}."
    elif not roll.wanted:
        because = f"{facts.owner_named} is to run no pods for now."
    else:
        return None
    return Health(state=GroupState.FORMING, because=because, way_out="Whoever stopped it starts it again.")


def _due(facts: GroupFacts, roll: RollCall) -> Health | None:
    """Find a loss for which the policy asks for a restart at once, or for which the time it gave has passed."""
    due = [loss for loss in roll.losses if (after := _due_after(loss, facts)) is not None and after <= 0]
    if not due or not roll.is_broken:
        return None
    because = f"{loss_sentence(due[0])}; {_counted(roll)}."
    hand = hand_on(facts)
    if hand.means is Means.NOTHING:
        return Health(
            state=GroupState.HELD,
            because=f"{because} Its group is not restarted by us: {hand.because}.",
            way_out="Whoever runs it restarts it.",
            since=due[0].since,
            losses=roll.losses,
        )
    return Health(
        state=GroupState.LOST_A_MEMBER,
        because=because,
        way_out="The controller restarts the group as a whole.",
        since=due[0].since,
        losses=(*due, *(loss for loss in roll.losses if loss not in due)),
        is_restart_due=True,
    )


def _stuck(facts: GroupFacts, roll: RollCall) -> Health | None:
    found = deadlock_of(facts, roll)
    if found is None:
        return None
    since = roll.losses[0].since if roll.losses else facts.short_since
    return Health(state=GroupState.STUCK, because=found.because, way_out=found.way_out, since=since, losses=roll.losses)


def _forming(facts: GroupFacts, roll: RollCall) -> Health | None:
    if roll.bound:
        return None
    cause = waiting_for(facts, roll)
    wait = f"No member of the group holds a node; {len(roll.waiting)} of {roll.wanted} pods wait"
    because = f"{(cause.message if cause else wait).rstrip('. ')}."
    return Health(
        state=GroupState.FORMING,
        because=f"{because} {loss_sentence(roll.losses[0])}." if roll.losses else because,
        way_out="The scheduler starts its members together, or none.",
        losses=roll.losses,
    )


def _lost(facts: GroupFacts, roll: RollCall) -> Health | None:
    """Find a loss for which the policy asks for nothing, or not yet."""
    if not roll.is_short or not roll.losses:
        return None
    waits = [after for loss in roll.losses if (after := _due_after(loss, facts)) is not None and roll.is_broken]
    first = roll.losses[0]
    return Health(
        state=GroupState.LOST_A_MEMBER,
        because=f"{loss_sentence(first)}; {_counted(roll)}.",
        way_out=_left_to(first, roll, min(waits, default=None)),
        since=first.since,
        losses=roll.losses,
        look_again_seconds=min(waits, default=None),
    )


def _left_to(first: Loss, roll: RollCall, wait_seconds: float | None) -> str:
    if not roll.is_broken:
        return "No other member is there that would have to go with it; the workload makes a new one."
    if wait_seconds is not None:
        return f"The group is restarted if no replacement runs within {wait_seconds:.0f} s."
    if first.cause.is_disruption:
        return "The policy says onDisruption: Ignore; the group is whole again when a replacement runs."
    return "The policy says onMemberFailure: Ignore; the workload replaces the member, or fails by its own limits."


def _short(facts: GroupFacts, roll: RollCall) -> Health | None:
    """Find members missing that nobody saw go: on their way for a while, then lost."""
    if not roll.is_short:
        return None
    since = facts.short_since or facts.now
    left = SHORT_SECONDS - (facts.now - since).total_seconds()
    if left <= 0:
        seen = replace(roll, losses=(_unseen(facts, roll),))
        return _due(facts, seen) or _lost(facts, seen)
    return Health(
        state=GroupState.FORMING,
        because=f"{_counted(roll)}, and none is known to be lost: the others are on their way.",
        way_out="They start, or count as lost after a while.",
        since=since,
        look_again_seconds=left,
    )


def _unseen(facts: GroupFacts, roll: RollCall) -> Loss:
    since = facts.short_since or facts.now
    if not roll.waiting:
        return Loss(pod=facts.name, uid="", cause=LossCause.UNSEEN, since=since, message="no pod was made in its place")
    meta = metadata_of(roll.waiting[0])
    message = "it has waited for a node since, while others of its group run"
    return Loss(pod=str(meta.get("name")), uid=str(meta.get("uid")), cause=LossCause.UNSEEN, since=since, message=message)


def _whole(_: GroupFacts, roll: RollCall) -> Health:
    spare = f" It lost {len(roll.losses)}, and its quorum of {roll.needed} still runs." if roll.losses else ""
    return Health(state=GroupState.WHOLE, because=f"{_counted(roll)}.{spare}")


_JUDGES: tuple[Callable[[GroupFacts, RollCall], Health | None], ...] = (
    _finishing, _unowned, _intended, _basic, _suspended, _due, _stuck, _forming, _lost, _short, _whole,
)  # fmt: skip


def _due_after(loss: Loss, facts: GroupFacts) -> float | None:
    """Return in how many seconds the policy asks for a restart because of a loss; None: never."""
    spec = facts.spec
    if not loss.cause.is_disruption:
        return 0.0 if spec.on_member_failure == "Restart" else None
    if spec.on_disruption == "Ignore":
        return None
    given = spec.replacement_grace_seconds if spec.on_disruption == "IfNotReplaced" else 0.0
    given = max(given, UNEXPLAINED_SECONDS if loss.cause is LossCause.DELETED else 0.0)
    return (loss.since + timedelta(seconds=given) - facts.now).total_seconds() if given else 0.0


def _counted(roll: RollCall) -> str:
    done = f", {len(roll.succeeded)} have succeeded" if roll.succeeded else ""
    return f"{len(roll.working)} of {roll.wanted} members work{done}"
