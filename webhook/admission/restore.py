"""What an update must not take away: the stamp on templates that may change, and the record of it.

A manifest that is applied again, or replaced, knows nothing of either. Without them the next pods would run beside their group.
A schedulingGroup that somebody writes on purpose stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.admission.bound import BoundWorkload
from webhook.admission.diff import diff
from webhook.groups import GroupProblem, is_job, place_recorded, recorded_policy, restore_stamp
from webhook.model.groups import GroupPlan, Route
from webhook.model.objects import metadata_of
from webhook.model.verdicts import Admitted, Answer, Finding, Patched, Trail, Verdict
from webhook.rules import Situation


def restore(policies: Iterable[BoundWorkload], situation: Situation) -> tuple[Answer, GroupPlan | None]:
    """Answer an UPDATE of a workload that was attached before; a Job's template cannot change, so Jobs are left alone.

    The plan says who decided; there is nothing to be created.
    """
    new, old = situation.request.object, situation.request.old_object
    if new is None or old is None or is_job(old) or metadata_of(new).get("deletionTimestamp"):
        return Admitted(), None
    name, binding = recorded_policy(old)
    found = next((one for one in policies if one.policy.name == name and one.bindings), None)
    if found is None:
        return Admitted(), None
    chosen = next((one for one in found.bindings if one.name == binding), found.bindings[0])
    try:
        places = place_recorded(found.policy, chosen, situation, old)
    except GroupProblem as problem:
        message = f"its templates keep no group that they lost, for where it belongs cannot be told: {problem}"
        finding = Finding(policy=name, binding=chosen.name, rule=problem.rule, verdict=Verdict.WARN, message=message)
        warning = f"WorkloadPolicy '{name}' with binding '{chosen.name}': {message}"
        return Admitted(trail=Trail(findings=(finding,), warnings=(warning,))), None
    restored = restore_stamp(new, old, places)
    patch = diff(new, restored)
    if not patch:
        return Admitted(), None
    finding = Finding(policy=name, binding=chosen.name, verdict=Verdict.ALLOW, message="its templates stay in their group")
    plan = GroupPlan(policy=name, binding=chosen.name, route=Route.MANAGED)
    return Patched(object=restored, patch=patch, trail=Trail(findings=(finding,))), plan
