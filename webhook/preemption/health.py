"""The state of a group, with what shows it and what leads out of it: a table of questions, the first that says yes answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from webhook.groups import is_draining_queue, is_finished, is_job, why_waiting
from webhook.model.disruption import GroupState, Health, Loss, LossCause, Step
from webhook.model.groups import PlannedGroup
from webhook.model.objects import Object, metadata_of
from webhook.preemption.deadnodes import death_of
from webhook.preemption.facts import GroupFacts
from webhook.preemption.foreign import Means, hand_on, is_held_down
from webhook.preemption.rollcall import RollCall, call_roll
from webhook.preemption.telling import loss_sentence, moment_text

SHORT_SECONDS = 30.0
"""How long a started group may be short of a member that nobody saw go. A Job makes the next pod within a second and a shared
claim settles within two (experiments 7.2); the Job controller's shortest back-off is 10 s."""
_NEVER_TOGETHER = ("SchedulerNameMismatch", "PriorityMismatch")
_ENDING = ("FailureTarget", "SuccessCriteriaMet")
"""Conditions by which the Job controller says that it takes the rest away (KEP-3329, KEP-3998)."""
_ALL_DONE = "It ends by itself."


def judge_health(facts: GroupFacts) -> Health:
    """Judge one group. With an intent it is restarting or held, whatever its members do; judge it without to see them."""
    roll = call_roll(facts)
    found = next(health for judge in _JUDGES if (health := judge(facts, roll)) is not None)
    times = [one for one in (found.look_again_seconds, roll.unsure_seconds) if one is not None]
    return replace(
        found,
        bound=roll.bound,
        wanted=roll.wanted,
        working=len(roll.working),
        is_short=_is_short(roll) and found.state not in (GroupState.FINISHING, GroupState.RESTARTING),
        look_again_seconds=min(times, default=None),
    )


def _finishing(facts: GroupFacts, roll: RollCall) -> Health | None:
    because = next(_endings(facts, roll), "")
    return Health(state=GroupState.FINISHING, because=because, way_out=_ALL_DONE) if because else None


def _endings(facts: GroupFacts, roll: RollCall) -> Iterator[str]:
    if metadata_of(facts.pod_group).get("deletionTimestamp"):
        yield f"PodGroup {facts.name} is being deleted."
    space = facts.namespace or {}
    if metadata_of(space).get("deletionTimestamp") or (space.get("status") or {}).get("phase") == "Terminating":
        yield f"Namespace {facts.namespace_name} is being deleted."
    owner = facts.owner
    if owner is None:
        if facts.is_owner_followed:
            yield f"{_named(facts)} is gone."
        return
    if metadata_of(owner).get("deletionTimestamp"):
        yield f"{_named(facts)} is being deleted."
    ending = next((one for one in _conditions(owner) if one.get("type") in _ENDING and one.get("status") == "True"), None)
    if is_finished(owner) or ending is not None:
        yield f"{_named(facts)} has ended, or is about to" + (f" ({ending.get('reason')})." if ending else ".")
    if is_draining_queue(owner):
        yield f"A member of the work queue {_named(facts)} has succeeded, so no other is replaced any more."
    if not roll.wanted and _is_to_run(facts):
        yield f"All members that {_named(facts)} has to run have ended."


def _is_to_run(facts: GroupFacts) -> bool:
    owner = facts.owner or {}
    if is_job(owner):
        return bool((owner.get("spec") or {}).get("parallelism", 1))
    return facts.planned is None or facts.planned.count > 0


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
            because=f"{_named(facts)} is of a kind that is not watched, so nothing is known of it.",
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
        because = f"{_named(facts)} is suspended, and not by a restart of ours."
    elif not roll.wanted:
        because = f"{_named(facts)} is to run no pods for now."
    else:
        return None
    return Health(state=GroupState.FORMING, because=because, way_out="Whoever stopped it starts it again.")


def _due(facts: GroupFacts, roll: RollCall) -> Health | None:
    """Find a loss for which the policy asks for a restart at once, or for which the time it gave has passed."""
    if not _is_broken(roll):
        return None
    due = [loss for loss in roll.losses if (after := _due_after(loss, facts)) is not None and after <= 0]
    if not due:
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
    for question in (_out_of_reach, _crashing, _undying, _mismatched):
        found = question(facts, roll)
        if found is not None:
            because, way_out = found
            since = roll.losses[0].since if roll.losses else None
            return Health(state=GroupState.STUCK, because=because, way_out=way_out, since=since, losses=roll.losses)
    return None


def _out_of_reach(facts: GroupFacts, roll: RollCall) -> tuple[str, str] | None:
    quorum = facts.quorum or 0
    if quorum <= roll.wanted or len(roll.working) >= roll.wanted:
        return None
    because = (
        f"PodGroup {facts.name} has minCount {quorum}, and {_named(facts)} will run no more than {roll.wanted} pods at a time "
        f"({len(roll.succeeded)} have succeeded), so whoever waits now waits for ever."
    )
    if is_job(facts.owner or {}):
        return because, f"The controller lowers minCount to {max(roll.needed, 1)} as soon as the Job's status says so."
    return because, f"Lower minCount to {roll.wanted}, or start {_named(facts)} again."


def _crashing(facts: GroupFacts, roll: RollCall) -> tuple[str, str] | None:
    for pod in roll.working:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            if ((container.get("state") or {}).get("waiting") or {}).get("reason") == "CrashLoopBackOff":
                because = (
                    f"Container {container.get('name')} of pod {metadata_of(pod).get('name')} ends again and again "
                    "(CrashLoopBackOff): its own program fails, nothing took it."
                )
                return because, f"Read the container's log; {_named(facts)} fails by its own limits if this goes on."
    return None


def _undying(facts: GroupFacts, roll: RollCall) -> tuple[str, str] | None:
    """Find a member that is to go from a dead node, where the policy leaves it at that."""
    for pod in roll.leaving:
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        dead = death_of(node, facts) if metadata_of(pod).get("deletionTimestamp") else None
        if dead is not None:
            because = f"Pod {metadata_of(pod).get('name')} was deleted, but {dead.message}, so nobody confirms that it ended."
            return because, f"Delete Node {node}, or give it the taint node.kubernetes.io/out-of-service if it is off."
    return None


def _mismatched(facts: GroupFacts, roll: RollCall) -> tuple[str, str] | None:
    cause = _waiting_for(facts, roll)
    if cause is None or cause[0] not in _NEVER_TOGETHER:
        return None
    return cause[1], "Delete the workload and create it again as said."


def _forming(facts: GroupFacts, roll: RollCall) -> Health | None:
    if roll.bound:
        return None
    cause = _waiting_for(facts, roll)
    lost = f" {loss_sentence(roll.losses[0])}." if roll.losses else ""
    because = cause[1] if cause else f"No member of the group holds a node; {len(roll.waiting)} of {roll.wanted} pods wait."
    return Health(
        state=GroupState.FORMING,
        because=because + lost,
        way_out="The scheduler starts its members together, or none.",
        losses=roll.losses,
    )


def _lost(facts: GroupFacts, roll: RollCall) -> Health | None:
    """Find a loss for which the policy asks for nothing, or not yet."""
    if not _is_broken(roll) or not roll.losses:
        return None
    waits = [after for loss in roll.losses if (after := _due_after(loss, facts)) is not None]
    first = roll.losses[0]
    if waits:
        way_out = f"The group is restarted if no replacement runs within {min(waits):.0f} s."
    elif first.cause.is_disruption:
        way_out = "The policy says onDisruption: Ignore; it is whole again when a replacement runs."
    else:
        way_out = "The policy says onMemberFailure: Ignore; the workload replaces the member, or fails by its own limits."
    return Health(
        state=GroupState.LOST_A_MEMBER,
        because=f"{loss_sentence(first)}; {_counted(roll)}.",
        way_out=way_out,
        since=first.since,
        losses=roll.losses,
        look_again_seconds=min(waits, default=None),
    )


def _short(facts: GroupFacts, roll: RollCall) -> Health | None:
    """Find members that nobody saw go: on their way for a while, then missing."""
    if not _is_broken(roll):
        return None
    since = facts.short_since or facts.now
    left = SHORT_SECONDS - (facts.now - since).total_seconds()
    if left <= 0:
        pod = metadata_of(roll.waiting[0]).get("name") if roll.waiting else ""
        message = f"pod {pod} has waited for a node since" if pod else "no pod was made in its place"
        unseen = Loss(pod=str(pod or facts.name), uid="", cause=LossCause.UNSEEN, since=since, message=message)
        return _lost_unseen(facts, roll, unseen)
    return Health(
        state=GroupState.FORMING,
        because=f"{_counted(roll)}, and none is known to be lost: the others are on their way.",
        way_out="They start, or count as lost after a while.",
        since=since,
        look_again_seconds=left,
    )


def _lost_unseen(facts: GroupFacts, roll: RollCall, unseen: Loss) -> Health | None:
    seen = replace(roll, losses=(unseen,))
    return _due(facts, seen) or _lost(facts, seen)


def _whole(_: GroupFacts, roll: RollCall) -> Health:
    spare = f" It lost {len(roll.losses)}, and its quorum of {roll.needed} still runs." if roll.losses else ""
    return Health(state=GroupState.WHOLE, because=f"{_counted(roll)}.{spare}")


_JUDGES: tuple[Callable[[GroupFacts, RollCall], Health | None], ...] = (
    _finishing, _unowned, _intended, _basic, _suspended, _due, _stuck, _forming, _lost, _short, _whole,
)  # fmt: skip


def _is_short(roll: RollCall) -> bool:
    return len(roll.working) < roll.needed and bool(roll.bound)


def _is_broken(roll: RollCall) -> bool:
    """Tell whether a group runs in part: fewer than its quorum work, and some are there that hold nodes.

    One whose last member was taken is not broken: there is nobody left whom to keep together with whom.
    """
    return _is_short(roll) and (bool(roll.working) or roll.needed > 1)


def _due_after(loss: Loss, facts: GroupFacts) -> float | None:
    """Return in how many seconds the policy asks for a restart because of a loss; None: never."""
    spec = facts.spec
    if not loss.cause.is_disruption:
        return 0.0 if spec.on_member_failure == "Restart" else None
    if spec.on_disruption == "Ignore":
        return None
    if spec.on_disruption == "Restart":
        return 0.0
    return (loss.since + timedelta(seconds=spec.replacement_grace_seconds) - facts.now).total_seconds()


def _waiting_for(facts: GroupFacts, roll: RollCall) -> tuple[str, str] | None:
    planned = facts.planned or PlannedGroup(template="", pod_group=facts.name, count=roll.wanted, min_count=facts.quorum)
    cause = why_waiting(planned, facts.pod_group, roll.unfinished)
    return None if cause is None else (cause.reason, cause.message)


def _counted(roll: RollCall) -> str:
    done = f", {len(roll.succeeded)} have succeeded" if roll.succeeded else ""
    return f"{len(roll.working)} of {roll.wanted} members work{done}"


def _named(facts: GroupFacts) -> str:
    reference = facts.owner_reference or {}
    return f"{reference.get('kind')} {reference.get('name')}"


def _conditions(obj: Object) -> list[Object]:
    return (obj.get("status") or {}).get("conditions") or []
