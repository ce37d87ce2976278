"""The mutating round: first the MutatingAdmissionPolicies, then the group that a WorkloadPolicy attaches.

The API server runs its own MutatingAdmissionPolicies before any webhook, and ours stand for them; attachment is a
webhook's work, so it sees what they made of the object (a label that makes a gang of a Job, for instance). Within one
round policies act in the order of their names. In a cluster there are two rounds, one for each failurePolicy, and the
API server calls that of Fail first (it calls webhooks in the order of their configuration): only there, policies of
failurePolicy Fail act before those of Ignore, whatever their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webhook.admission.attach import Surroundings, attach
from webhook.admission.bound import BoundWorkload
from webhook.admission.defaults import DefaultsFiller
from webhook.admission.diff import diff
from webhook.model.groups import GroupPlan
from webhook.model.objects import Object
from webhook.model.verdicts import Admitted, Answer, Denied, Patched, Trail
from webhook.rules import BoundMutating, Change, Complete, Situation, mutate


@dataclass(frozen=True, slots=True, kw_only=True)
class MutatingRound:
    """What a mutating round answers, and which policy had which part in it."""

    answer: Answer
    changes: tuple[Change, ...] = ()
    """By MutatingAdmissionPolicies, in order; each with the finding in the answer's trail that tells of it."""
    attached: Answer
    """What attachment alone says; its patch is upon what the policies made of the object."""
    plan: GroupPlan | None = None
    """Which group objects the controller will create."""


def run_mutating(
    mutating: Sequence[BoundMutating],
    workload: Iterable[BoundWorkload],
    situation: Situation,
    surroundings: Surroundings,
    *,
    complete: Complete | None = None,
) -> MutatingRound:
    """Let every policy have its say; a denial by the first kind leaves the second unasked.

    ``complete`` fills defaults between mutations; None: one that has not seen the object yet.
    """
    before = situation.request.object
    mutated = mutate(mutating, situation, complete=complete or DefaultsFiller())
    if mutated.denial is not None:
        denial = mutated.denial
        denied = Denied(message=mutated.message, reason=denial.reason, code=denial.code, trail=mutated.trail)
        return MutatingRound(answer=denied, attached=Admitted())
    if before is not None and mutated.object is not None and mutated.object is not before:
        situation = situation.of(mutated.object)
    attached, plan = attach(workload, situation, surroundings)
    answer = _joined(before, mutated.object, mutated.trail, attached)
    return MutatingRound(answer=answer, changes=mutated.changes, attached=attached, plan=plan)


def _joined(before: Object | None, after: Object | None, trail: Trail, attached: Answer) -> Answer:
    """Return one answer for both parts, with the smallest patch that leads from the object as it came to the last one."""
    whole = Trail(
        findings=trail.findings + attached.trail.findings,
        warnings=trail.warnings + attached.trail.warnings,
        audit_annotations=trail.audit_annotations | attached.trail.audit_annotations,
    )
    if isinstance(attached, Denied):
        return Denied(message=attached.message, reason=attached.reason, code=attached.code, trail=whole)
    if isinstance(attached, Patched):
        if after is before:  # the policies changed nothing, so its patch says it all
            return Patched(object=attached.object, patch=attached.patch, trail=whole) if attached.patch else Admitted(trail=whole)
        after = attached.object
    patch = diff(before, after) if before is not None and after is not None else ()
    return Patched(object=after or {}, patch=patch, trail=whole) if patch else Admitted(trail=whole)
