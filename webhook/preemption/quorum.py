"""The quorum that a group is to have now, and where it is written."""

from __future__ import annotations

from webhook.groups import is_job, repaired_quorum
from webhook.model.objects import ObjectKey, controller_of, metadata_of
from webhook.preemption.facts import GroupFacts


def quorum_to_set(facts: GroupFacts) -> int | None:
    """Return the minCount that the group should have and has not; None where it is right, or no gang.

    It follows the Job's status only. On the Managed route upkeep keeps it by the same rule (``groups.plan_group``); before a
    resume it must be there first.
    """
    if facts.asked is None or facts.quorum is None or facts.owner is None or not is_job(facts.owner):
        return None
    wanted = repaired_quorum(facts.asked, facts.owner)
    return None if wanted == facts.quorum else wanted


def quorum_place(facts: GroupFacts) -> tuple[ObjectKey, str]:
    """Return key and UID of the object whose quorum counts: the Job itself where its controller made the PodGroup.

    The Job controller writes a PodGroup of its own back at its next sync (job_scheduling_manager.go).
    """
    above = controller_of(facts.pod_group)
    is_native = above is not None and facts.owner is not None and is_job(facts.owner) and above.get("uid") == facts.owner_uid
    obj = facts.owner if is_native and facts.owner is not None else facts.pod_group
    return ObjectKey.of(obj), str(metadata_of(obj).get("uid"))
