"""What the steps of a restart look at and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from webhook.groups import condition, has_ended, is_job, is_quorum_ours, is_true, node_of, quorum_on_job, still_to_run
from webhook.model.actions import Delete, Evict, Resume, SetQuorum, Suspend, Write
from webhook.model.disruption import Intent, Loss, Step
from webhook.model.objects import Object, ObjectKey, metadata_of, uid_of
from webhook.preemption.deadnodes import death_of
from webhook.preemption.facts import GroupFacts
from webhook.preemption.losses import loss_of_gone
from webhook.preemption.moments import created, moment
from webhook.preemption.quorum import quorum_place, quorum_to_set
from webhook.preemption.telling import About

_SHOWN = 3


def about(facts: GroupFacts) -> About:
    """Return the objects on which a restart is told."""
    return About(owner=facts.owner or {}, pod_group=facts.pod_group, members=facts.members)


def unfinished(facts: GroupFacts) -> tuple[Object, ...]:
    """Return the members that have not ended: as long as there is one, new members and old ones make up a quorum together."""
    return tuple(pod for pod in facts.members if not has_ended(pod))


def old_members(facts: GroupFacts, began: datetime) -> tuple[Object, ...]:
    """Return the members from before a restart by eviction that were not asked to go yet."""
    return tuple(pod for pod in unfinished(facts) if created(pod) <= began and not metadata_of(pod).get("deletionTimestamp"))


def since_restart(facts: GroupFacts) -> GroupFacts:
    """Return the facts without the intent, and where its new members are starting, without those that were taken down for them.

    Else the end of the old ones would be taken for the loss of new ones, and the restart would begin again and again.
    """
    intent = facts.intent
    bare = replace(facts, intent=None)
    if intent is not None and intent.step is Step.HOLDING:
        return replace(bare, losses=(*facts.losses, *_as_recorded(facts, intent)))
    if intent is None or intent.step is not Step.FORMING:
        return bare
    old = {metadata_of(pod).get("uid") for pod in facts.members if _is_taken_down(pod, intent)}
    return replace(
        bare,
        members=tuple(pod for pod in facts.members if metadata_of(pod).get("uid") not in old),
        losses=tuple(loss for loss in facts.losses if loss.since > intent.step_since and not _was_taken_down(loss, intent)),
    )


def _as_recorded(facts: GroupFacts, intent: Intent) -> Iterator[Loss]:
    """Yield how the member was lost for which a restart is held: the next leader saw nothing of it.

    What is left of a pod that was deleted says no more when that was asked for: it looks like one that failed by itself.
    """
    known = {loss.uid for loss in facts.losses}
    for pod in facts.members:
        if (
            metadata_of(pod).get("name") == intent.victim
            and uid_of(pod) not in known
            and (loss := loss_of_gone(pod, intent.began))
        ):
            yield replace(loss, cause=intent.cause, since=intent.began)


def _was_taken_down(loss: Loss, intent: Intent) -> bool:
    """Tell whether an old member was lost: its object goes when the Job controller lets it, which may be long after its end."""
    if loss.created is None:
        return False
    return loss.created < intent.step_since if intent.suspended_by_us else loss.created <= intent.began


def _is_taken_down(pod: Object, intent: Intent) -> bool:
    if (pod.get("status") or {}).get("phase") == "Succeeded":
        return False
    return has_ended(pod) and created(pod) <= intent.step_since if intent.suspended_by_us else created(pod) <= intent.began


def is_suspension_seen(facts: GroupFacts) -> bool:
    """Tell whether the Job controller has seen the suspension: resumed earlier, it may never notice (experiments 3.5)."""
    owner = facts.owner or {}
    return not is_job(owner) or is_true(owner, "Suspended")


def suspended_for(facts: GroupFacts, seconds: float) -> float | None:
    """Return how long until the workload has been suspended for so many seconds; None where it does not say since when."""
    found = condition(facts.owner or {}, "Suspended") or {}
    since = moment(found.get("lastTransitionTime")) if found.get("status") == "True" else None
    return None if since is None else max(seconds - (facts.now - since).total_seconds(), 0.0)


def repair(facts: GroupFacts) -> tuple[SetQuorum, ...]:
    """Return the write that keeps a quorum from being out of reach, of groups whose quorum stands on their Job.

    Of all others the upkeep lowers it, by the same rule.
    """
    return tuple(one for one in mend_quorum(facts) if one.key.kind == "Job")


def suspend(facts: GroupFacts, intent: Intent) -> Suspend:
    """Return the write that takes all members down."""
    key, uid = _owner(facts)
    return Suspend(key=key, uid=uid, path=facts.spec.suspend_path, reason=_reason(intent))


def resume(facts: GroupFacts, reason: str) -> Resume:
    """Return the write that lets members start again."""
    key, uid = _owner(facts)
    return Resume(key=key, uid=uid, path=facts.spec.suspend_path, reason=reason)


def mend_quorum(facts: GroupFacts) -> tuple[SetQuorum, ...]:
    """Return the write that brings the quorum to what is still to be done; nothing where it is."""
    wanted = quorum_to_set(facts)
    if wanted is None:
        return ()
    (key, uid), owner, is_more = quorum_place(facts), facts.owner or {}, wanted > (facts.quorum or 0)
    if key.kind == "Job" and is_more and not (is_quorum_ours(owner) and still_to_run(owner)):
        return ()  # the Job controller raises it by itself, unless its owner said a number; one that ends needs none
    if key.kind == "Job" and wanted == quorum_on_job(owner):
        return ()  # said already; the Job controller has yet to bring it to the PodGroup
    only = "" if is_more else "Only "
    return (SetQuorum(key=key, uid=uid, min_count=wanted, reason=f"{only}{wanted} members are still to run together."),)


def evictions(facts: GroupFacts, intent: Intent) -> tuple[Write, ...]:
    """Return evictions of all old members, and deletions of those that nobody can end any more."""
    evict = (Evict(key=ObjectKey.of(pod), uid=uid_of(pod), reason=_reason(intent)) for pod in old_members(facts, intent.began))
    return (*evict, *forced_deletions(facts))


def deletions(facts: GroupFacts, intent: Intent) -> tuple[Write, ...]:
    """Return deletions of the old members that evictions could not take, so that no part of the group is left."""
    reason = f"The others of its group have been evicted, and half a group does no work (restart {intent.id})."
    return tuple(Delete(key=ObjectKey.of(pod), uid=uid_of(pod), reason=reason) for pod in old_members(facts, intent.began))


def forced_deletions(facts: GroupFacts) -> tuple[Write, ...]:
    """Return deletions without grace of members that were deleted on nodes which nobody will ever hear of again."""
    return tuple(
        Delete(key=ObjectKey.of(pod), uid=uid_of(pod), reason=f"{dead.message}, so nobody will confirm its end.", force=True)
        for pod in unfinished(facts)
        if metadata_of(pod).get("deletionTimestamp") and (dead := death_of(node_of(pod), facts)) is not None and dead.is_gone
    )


def names_of(pods: Iterable[Object]) -> str:
    """Name pods, the first few with their nodes."""
    names = [f"{metadata_of(pod).get('name')} on node {node_of(pod)}" for pod in pods]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _reason(intent: Intent) -> str:
    return f"Its group lost {intent.victim or 'a member'} and is restarted as a whole (restart {intent.id})."


def _owner(facts: GroupFacts) -> tuple[ObjectKey, str]:
    owner = facts.owner or {}
    return ObjectKey.of(owner), uid_of(owner)
