"""What a mutating review answers: which WorkloadPolicy speaks about the object, and the object with its group's stamp.

Creates nothing: a mutating review has no UID (and no name under generateName), can be repeated, and may still be
rejected. The controller creates the group objects once it has seen the workload stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from webhook.admission.diff import diff
from webhook.groups import (
    CompiledWorkload,
    GroupFailure,
    GroupProblem,
    check_capabilities,
    foreign_system,
    group_name,
    is_record_of_another,
    reason_to_leave_alone,
    recorded_names,
    resolve_groups,
    stamp,
)
from webhook.model.groups import SCHEDULING_GROUP, Capabilities, GroupPlan, Route
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.policies import Action, Binding, FailurePolicy
from webhook.model.requests import Operation
from webhook.model.snapshot import Snapshot
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched, Trail, Verdict
from webhook.rules import Misconfigured, RuleProblem, Run, Situation, conditions_hold, invocations

NO_GROUP_OBJECTS = (
    "the API server serves no scheduling.k8s.io/v1beta1 PodGroups, so its pods start one by one: turn on feature gate "
    "GenericWorkload and --runtime-config=scheduling.k8s.io/v1beta1=true in kube-apiserver, and the gate in the scheduler "
    "and the controller manager"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWorkload:
    """A WorkloadPolicy with the bindings that make it act."""

    policy: CompiledWorkload
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What attachment knows of the cluster."""

    snapshot: Snapshot
    capabilities: Capabilities
    token: Callable[[], str]
    """Returns a fresh part of a name, ten lower-case hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A policy that speaks about the object, under one binding with one param."""

    policy: CompiledWorkload
    binding: Binding
    params: Object | None

    def __str__(self) -> str:
        return f"WorkloadPolicy '{self.policy.name}' with binding '{self.binding.name}'"

    @property
    def acts(self) -> bool:
        return Action.DENY in self.binding.actions

    def finding(self, verdict: Verdict, message: str = "", *, rule: str = "", field: str = "") -> Finding:
        return Finding(
            policy=self.policy.name, binding=self.binding.name, rule=rule, verdict=verdict, message=message, field=field
        )


def attach(
    policies: Iterable[BoundWorkload], situation: Situation, surroundings: Surroundings
) -> tuple[Answer, GroupPlan | None]:
    """Answer a mutating review; the plan says which objects the controller will create."""
    if situation.request.operation is not Operation.CREATE or situation.request.sub_resource:
        return Admitted(), None  # a Job's template is immutable, so there is nothing to be done later
    claims, findings = _claims(policies, situation)
    broken = next((finding for finding in findings if finding.verdict is Verdict.DENY), None)
    if broken is not None:
        return _denied(broken, findings), None
    watching = [claim for claim in claims if not claim.acts]
    findings += [_rehearse(claim, situation, surroundings) for claim in watching]
    acting = [claim for claim in claims if claim.acts]
    if not acting:
        return Admitted(trail=_trail(findings)), None
    highest = max(claim.policy.source.precedence for claim in acting)
    best = [claim for claim in acting if claim.policy.source.precedence == highest]
    if len(best) > 1:
        message = f"{best[0]} and {best[1]} both speak about this object at precedence {highest}; give one a higher precedence"
        return _denied(best[0].finding(Verdict.DENY, message, rule="precedence"), findings), None
    return _decide(best[0], situation, surroundings, findings)


def _claims(policies: Iterable[BoundWorkload], situation: Situation) -> tuple[list[_Claim], list[Finding]]:
    claims: list[_Claim] = []
    findings: list[Finding] = []
    for bound in policies:
        head = bound.policy.source.head
        for step in invocations(head, bound.bindings, situation):
            if isinstance(step, Misconfigured):
                findings.append(_failure(bound.policy, step.binding, step.message))
                continue
            try:
                if conditions_hold(bound.policy.conditions, situation, step.params):
                    claims.append(_Claim(policy=bound.policy, binding=step.binding, params=step.params))
            except RuleProblem as problem:
                findings.append(_failure(bound.policy, step.binding, str(problem)))
    return claims, findings


def _decide(
    claim: _Claim, situation: Situation, surroundings: Surroundings, findings: list[Finding]
) -> tuple[Answer, GroupPlan | None]:
    try:
        outcome = _plan(claim, situation, surroundings)
    except GroupFailure as failure:
        finding = _failure(claim.policy, claim.binding, str(failure), rule=failure.rule)
        if finding.verdict is Verdict.DENY:
            return _denied(finding, findings), None
        return Admitted(trail=_trail([*findings, finding])), None
    except GroupProblem as problem:
        return _denied(claim.finding(Verdict.DENY, str(problem), rule=problem.rule, field=problem.field), findings), None
    if isinstance(outcome, Finding):
        return Admitted(trail=_trail([*findings, outcome])), None
    before = situation.request.object or {}
    after = stamp(before, outcome)
    trail = _trail([*findings, claim.finding(Verdict.ALLOW, _told(outcome))])
    return Patched(object=after, patch=diff(before, after), trail=trail), outcome


def _plan(claim: _Claim, situation: Situation, surroundings: Surroundings) -> GroupPlan | Finding:
    """Return the groups of the object, or the finding that says why it gets none."""
    workload = situation.request.object or {}
    specs = claim.policy.source.pod_groups
    paths = tuple(spec.members.path for spec in specs)
    if not _is_copied(workload, surroundings.snapshot):
        reason = reason_to_leave_alone(workload, paths)
        if reason:
            return claim.finding(Verdict.ALLOW, f"left as it is: {reason}")
    system = foreign_system(workload, paths)
    if system:
        return claim.finding(
            Verdict.WARN, f"not grouped: the object carries marks of {system}, and two schedulers must not share it"
        )
    if not surroundings.capabilities.group_objects:
        return claim.finding(Verdict.WARN, f"not grouped: {NO_GROUP_OBJECTS}")
    names = {spec.name: group_name(workload, spec.name, surroundings.token(), alone=len(specs) == 1) for spec in specs}
    groups = resolve_groups(claim.policy, Run(claim.policy.head, situation, claim.params), names)
    check_capabilities(groups, surroundings.capabilities)
    return GroupPlan(policy=claim.policy.name, binding=claim.binding.name, route=Route.MANAGED, groups=groups)


def _is_copied(workload: Object, snapshot: Snapshot) -> bool:
    """Tell whether the object brings our record of another one, as ``kubectl get -o yaml`` put under a new name does.

    The record says for which name it was made; and where the name is the same, a group that exists already belongs to
    an earlier object. In a second call for the same request (reinvocation) neither can be.
    """
    if is_record_of_another(workload):
        return True
    namespace = str(metadata_of(workload).get("namespace", ""))
    found = (snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, name)) for name in recorded_names(workload).values())
    return any(group is not None and metadata_of(group).get("ownerReferences") for group in found)


def _rehearse(claim: _Claim, situation: Situation, surroundings: Surroundings) -> Finding:
    """Say what a binding that only warns or audits would do."""
    verdict = Verdict.WARN if Action.WARN in claim.binding.actions else Verdict.AUDIT
    try:
        outcome = _plan(claim, situation, replace(surroundings, token=lambda: "0" * 10))
    except GroupProblem as problem:
        return claim.finding(verdict, f"would be refused: {problem}", rule=problem.rule, field=problem.field)
    if isinstance(outcome, Finding):
        return replace(outcome, verdict=verdict)
    return claim.finding(verdict, f"would be grouped: {_told(outcome)}")


def _told(plan: GroupPlan) -> str:
    return "; ".join(
        f"{group.count} pods in one PodGroup" + (f", {group.min_count} at once or none" if group.min_count else "")
        for group in plan.groups
    )


def _failure(policy: CompiledWorkload, binding: Binding | None, message: str, *, rule: str = "") -> Finding:
    fails = policy.source.head.failure_policy is FailurePolicy.FAIL
    return Finding(
        policy=policy.name,
        binding=binding.name if binding else "",
        rule=rule,
        verdict=Verdict.DENY if fails else Verdict.ERROR,
        message=message,
        reason="Forbidden" if fails else "Invalid",
        code=403 if fails else 422,
    )


def _denied(finding: Finding, findings: Sequence[Finding]) -> Denied:
    who = f"WorkloadPolicy '{finding.policy}'" + (f" with binding '{finding.binding}'" if finding.binding else "")
    everything = findings if finding in findings else [*findings, finding]
    return Denied(
        message=f"{who} denied request: {finding.message}",
        reason=finding.reason,
        code=finding.code,
        trail=_trail(everything),
    )


def _trail(findings: Sequence[Finding]) -> Trail:
    return Trail(
        findings=tuple(findings),
        warnings=tuple(_warnings(findings)),
        audit_annotations={
            f"workload-policy.{finding.policy}": finding.message for finding in findings if finding.verdict is Verdict.AUDIT
        },
    )


def _warnings(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        if finding.verdict is Verdict.WARN:
            yield f"WorkloadPolicy '{finding.policy}' with binding '{finding.binding}': {finding.message}"
        elif finding.verdict is Verdict.ERROR:
            yield f"WorkloadPolicy '{finding.policy}' could not be evaluated, so the object was not grouped: {finding.message}"
