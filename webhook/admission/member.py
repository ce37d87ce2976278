"""What a new pod gets where its group cannot stand in a template: the name of the group, by the workload that it belongs to.

An operator makes pods within a moment of the workload, perhaps before it was seen here. Such a pod is refused, to be made
again, as controllers do: one that slipped in without its group could never join it.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.admission.bound import BoundWorkload
from webhook.admission.diff import diff
from webhook.groups import GroupFailure, find_member
from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.policies import Action
from webhook.model.requests import Operation
from webhook.model.snapshot import Snapshot
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched, Trail, Verdict
from webhook.rules import Run, Situation


def stamp_member(policies: Iterable[BoundWorkload], situation: Situation, snapshot: Snapshot) -> Answer:
    """Answer the creation of a pod."""
    pod = situation.request.object
    if pod is None or situation.request.operation is not Operation.CREATE:
        return Admitted()
    spec = pod.get("spec")
    if not isinstance(spec, dict) or spec.get("schedulingGroup"):  # what is no spec is for validation to refuse
        return Admitted()
    placed = {**pod, "metadata": {**metadata_of(pod), "namespace": situation.request.namespace}}
    unfollowed: list[Answer] = []
    for bound in policies:
        if not bound.policy.pods or not any(Action.DENY in binding.actions for binding in bound.bindings):
            continue
        answer = _answer(bound, situation, placed, snapshot)
        if not isinstance(answer, Admitted):
            return answer
        unfollowed += [answer] if answer.trail.findings else []
    return unfollowed[0] if unfollowed else Admitted()


def _answer(bound: BoundWorkload, situation: Situation, pod: Object, snapshot: Snapshot) -> Answer:
    name = bound.policy.name
    try:
        member = find_member(bound.policy, Run(bound.policy.head, situation, None), pod, snapshot)
    except GroupFailure as failure:
        return _denied(name, str(failure), rule=failure.rule)
    if member is not None and member.pod_group:
        return _stamped(name, situation.request.object or {}, member.pod_group)
    if member is None or member.unknown is None:
        return Admitted()
    return _unknown(name, member.unknown, snapshot)


def _stamped(policy: str, pod: Object, group: str) -> Answer:
    changed = {**pod, "spec": {**pod["spec"], "schedulingGroup": {"podGroupName": group}}}
    finding = Finding(policy=policy, verdict=Verdict.ALLOW, message=f"a member of PodGroup {group}")
    return Patched(object=changed, patch=diff(pod, changed), trail=Trail(findings=(finding,)))


def _unknown(policy: str, reference: Object, snapshot: Snapshot) -> Answer:
    kind = Kind.parse(str(reference.get("apiVersion") or ""), str(reference.get("kind") or ""))
    who = f"{kind.kind} {reference.get('name')}"
    if snapshot.knows(kind.group, kind.kind):
        return _denied(policy, f"its owner {who} has not been seen here yet; create the pod again", rule="")
    message = f"not grouped: its owner {who} is of a kind that is not followed; name it in members.through"
    finding = Finding(policy=policy, verdict=Verdict.WARN, message=message)
    return Admitted(trail=Trail(findings=(finding,), warnings=(f"WorkloadPolicy '{policy}': {message}",)))


def _denied(policy: str, message: str, *, rule: str) -> Denied:
    reason, code = "ServiceUnavailable", 503
    finding = Finding(policy=policy, rule=rule, verdict=Verdict.DENY, message=message, reason=reason, code=code)
    said = f"WorkloadPolicy '{policy}' denied request: {message}"
    return Denied(message=said, reason=reason, code=code, trail=Trail(findings=(finding,)))
