"""What a mutating review answers: which WorkloadPolicy speaks about the object, and the object with its group's stamp.

Creates nothing: a mutating review has no UID (and no name under generateName), can be repeated, and may still be
rejected. The controller creates the group objects once it has seen the workload stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from webhook.admission.bound import BoundWorkload
from webhook.admission.diff import diff
from webhook.admission.member import stamp_member
from webhook.admission.restore import restore
from webhook.groups import (
    IGNORED_GROUPS,
    NO_GROUP_OBJECTS,
    CompiledWorkload,
    GroupFailure,
    GroupProblem,
    check_capabilities,
    check_composites,
    check_native,
    choose_route,
    foreign_system,
    group_name,
    has_native_scheduling,
    hasten,
    is_cron_jobs,
    is_hastened,
    is_job,
    is_record_of_another,
    missing_groups,
    name_for_pods,
    obstacle_to_haste,
    read_path,
    reason_to_leave_alone,
    recorded_names,
    resolve_groups,
    resolve_tree,
    schedule,
    stamp,
)
from webhook.model.exceptions import WHOLE_WORKLOAD
from webhook.model.groups import GANG_LABEL, Capabilities, GroupPlan, Route
from webhook.model.objects import Kind, Object, controller_of, labels_of
from webhook.model.policies import Action, Binding, FailurePolicy
from webhook.model.requests import Operation
from webhook.model.snapshot import Snapshot
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched, Trail, Verdict
from webhook.rules import (
    Misconfigured,
    RuleProblem,
    Run,
    Situation,
    conditions_hold,
    excepted,
    invocations,
    rule_on,
)

_POD = Kind("", "v1", "Pod")


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
        return _acts(self.binding)

    def finding(self, verdict: Verdict, message: str = "", *, rule: str = "", field: str = "") -> Finding:
        return Finding(
            policy=self.policy.name, binding=self.binding.name, rule=rule, verdict=verdict, message=message, field=field
        )


@dataclass(slots=True)
class _Record:
    """What has been said so far, and which bindings want it in the audit log."""

    findings: list[Finding] = field(default_factory=list)
    audited: set[tuple[str, str]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    """Warnings beside the findings: why exceptions do not apply, what the policy asks for and cannot be had."""

    def trail(self) -> Trail:
        notes: dict[str, list[str]] = {}
        for one in self.findings:
            if one.message and (one.policy, one.binding) in self.audited:
                notes.setdefault(f"workload-policy.{one.policy}", []).append(f"{one.binding}: {one.message}")
        return Trail(
            findings=tuple(self.findings),
            warnings=(*filter(None, map(_warning, self.findings)), *self.notes),
            audit_annotations={key: "; ".join(dict.fromkeys(said)) for key, said in notes.items()},
        )

    def denied(self, finding: Finding) -> Denied:
        if finding not in self.findings:
            self.findings.append(finding)
        who = f"WorkloadPolicy '{finding.policy}'" + (f" with binding '{finding.binding}'" if finding.binding else "")
        message = f"{who} denied request: {finding.message}"
        return Denied(message=message, reason=finding.reason, code=finding.code, trail=self.trail())

    def admitted(self, finding: Finding | None = None) -> Admitted:
        self.findings += [finding] if finding else []
        return Admitted(trail=self.trail())


def attach(
    policies: Iterable[BoundWorkload], situation: Situation, surroundings: Surroundings
) -> tuple[Answer, GroupPlan | None]:
    """Answer a mutating review; the plan says which objects the controller will create."""
    if situation.request.sub_resource or situation.request.operation not in (Operation.CREATE, Operation.UPDATE):
        return Admitted(), None
    if situation.request.kind == _POD:
        return stamp_member(policies, situation, surroundings.snapshot), None
    if situation.request.operation is Operation.UPDATE:
        return restore(policies, situation)
    record = _Record()
    claims = _claims(policies, situation, record)
    broken = next((finding for finding in record.findings if finding.verdict is Verdict.DENY), None)
    if broken is not None:
        return record.denied(broken), None
    record.findings += [_rehearse(claim, situation, surroundings) for claim in claims if not claim.acts]
    acting = [claim for claim in claims if claim.acts]
    if not acting:
        return record.admitted(), None
    highest = max(claim.policy.source.precedence for claim in acting)
    best = [claim for claim in acting if claim.policy.source.precedence == highest]
    if len(best) > 1:
        return record.denied(best[0].finding(Verdict.DENY, _rivalry(best[0], best[1]), rule="precedence")), None
    return _decide(best[0], situation, surroundings, record)


def _claims(policies: Iterable[BoundWorkload], situation: Situation, record: _Record) -> list[_Claim]:
    claims: list[_Claim] = []
    for bound in policies:
        record.audited |= {(bound.policy.name, one.name) for one in bound.bindings if Action.AUDIT in one.actions}
        for step in invocations(bound.policy.source.head, bound.bindings, situation):
            if isinstance(step, Misconfigured):  # whatever the binding's actions are, as with native policies
                record.findings.append(_failure(bound.policy, step.binding, step.message))
                continue
            claim = _Claim(policy=bound.policy, binding=step.binding, params=step.params)
            try:
                held = conditions_hold(bound.policy.conditions, situation, step.params)
            except RuleProblem as problem:
                record.findings.append(_unmet(claim, str(problem), situation, undecided=problem.undecided))
                continue
            if held and not _is_excepted(claim, situation, record):
                claims.append(claim)
    return claims


def _is_excepted(claim: _Claim, situation: Situation, record: _Record) -> bool:
    """Tell whether a policy leaves the object alone because of an exception; another policy may then group it."""
    ruling = rule_on(claim.policy.exceptions, WHOLE_WORKLOAD, situation)
    record.notes += [f"{claim}: {note}" for note in ruling.notes]
    if ruling.exception is None:
        return False
    finding = claim.finding(Verdict.ALLOW, "no group of this policy", rule=WHOLE_WORKLOAD)
    record.findings.append(excepted(finding, ruling.exception, instead="group"))
    return True


def _decide(claim: _Claim, situation: Situation, surroundings: Surroundings, record: _Record) -> tuple[Answer, GroupPlan | None]:
    try:
        outcome = _plan(claim, situation, surroundings)
    except GroupFailure as failure:
        finding = _unmet(claim, str(failure), situation, rule=failure.rule, undecided=failure.undecided)
        return (record.denied(finding) if finding.verdict is Verdict.DENY else record.admitted(finding)), None
    except GroupProblem as problem:
        return record.denied(claim.finding(Verdict.DENY, str(problem), rule=problem.rule, field=problem.field)), None
    if isinstance(outcome, Finding):
        return record.admitted(outcome), None
    before = situation.request.object or {}
    after = schedule(before, outcome) if outcome.route is Route.NATIVE else stamp(before, outcome)
    if claim.policy.source.disruption.fast_restart and not is_hastened(before):
        obstacle = obstacle_to_haste(before)
        after = after if obstacle else hasten(after)
        record.notes += [f"{claim}: no fastRestart, for {obstacle}"] if obstacle else []
    if surroundings.capabilities.scheduler_groups is False:  # grouped all the same: the gate may come before its pods do
        record.notes.append(f"{claim}: {IGNORED_GROUPS}")
    record.findings.append(claim.finding(Verdict.ALLOW, _told(outcome)))
    return Patched(object=after, patch=diff(before, after), trail=record.trail()), outcome


def _plan(claim: _Claim, situation: Situation, surroundings: Surroundings) -> GroupPlan | Finding:
    """Return the groups of the object, or the finding that says why it gets none."""
    workload = situation.request.object or {}
    specs = claim.policy.source.pod_groups
    paths = tuple(path for spec in specs for path in spec.members.paths)
    aside = _reason_aside(claim, workload, paths, surroundings)
    if aside is not None:
        return aside
    route = choose_route(claim.policy.source, workload, surroundings.capabilities)

    def name(slot: str) -> str:
        if claim.policy.pods:
            return name_for_pods(workload, slot)  # known once it is stored; this is for checks and for looking at
        return group_name(workload, slot, surroundings.token(), alone=len(specs) == 1 and slot == specs[0].name)

    run = Run(claim.policy.head, situation, claim.params)
    groups = resolve_groups(claim.policy, run, name)
    if not groups:
        raise GroupProblem("none of its pod templates belongs to a group of the policy", rule="podGroups")
    groups, composites = resolve_tree(claim.policy, run, groups)
    check_capabilities(groups, surroundings.capabilities)
    check_composites(composites, surroundings.capabilities)
    if route is Route.NATIVE:
        check_native(workload, groups)
    return GroupPlan(policy=claim.policy.name, binding=claim.binding.name, route=route, groups=groups, composites=composites)


def _reason_aside(claim: _Claim, workload: Object, paths: tuple[str, ...], surroundings: Surroundings) -> Finding | None:
    """Return why the object gets no group of ours; a warning wherever its pods would start one by one for it."""
    stale = frozenset(recorded_names(workload).values()) if _is_copied(workload, surroundings.snapshot) else frozenset()
    reason = reason_to_leave_alone(workload, paths, stale=stale)
    if not reason and has_native_scheduling(workload):
        lost = _why_lost(workload, surroundings.capabilities) if is_job(workload) else ""
        if lost:
            return claim.finding(
                Verdict.WARN, f"not grouped: it has spec.scheduling already, {lost}; leave it out, to be grouped"
            )
        reason = "it has spec.scheduling already"
    if reason and not surroundings.capabilities.group_objects and _names_group(workload, paths):
        return claim.finding(
            Verdict.WARN, f"not grouped: its pod template names a schedulingGroup, which is dropped, because {NO_GROUP_OBJECTS}"
        )
    if not reason and _has_opted_out(claim, workload):
        reason = f"its label {GANG_LABEL} says false"
    if reason:
        return claim.finding(Verdict.ALLOW, f"left as it is: {reason}")
    system = foreign_system(workload, paths)
    if system:
        message = f"not grouped: the object carries marks of {system}, and two schedulers must not share it"
        return claim.finding(Verdict.WARN, message)
    if not surroundings.capabilities.group_objects:
        return claim.finding(Verdict.WARN, f"not grouped: {NO_GROUP_OBJECTS}")
    return None


def _why_lost(workload: Object, capabilities: Capabilities) -> str:
    """Return what becomes of a user's own ``spec.scheduling`` where nobody acts on it; empty where somebody does."""
    if is_cron_jobs(workload):
        return "which the Job controller does not read on Jobs of a CronJob"
    if not capabilities.native_jobs:
        return "which the API server drops, because feature gate WorkloadWithJob is off there"
    return ""


def _names_group(workload: Object, paths: tuple[str, ...]) -> bool:
    """Tell whether a user put the pods of a workload of his own into a group."""
    return controller_of(workload) is None and any(
        value is not None for path in paths for value in read_path(workload, f"{path}.spec.schedulingGroup")
    )


def _has_opted_out(claim: _Claim, workload: Object) -> bool:
    """Tell whether the user wants no group, and may say so. Raises GroupProblem where the policy does not allow it."""
    if labels_of(workload).get(GANG_LABEL) != "false":
        return False
    if GANG_LABEL in claim.policy.source.allowed_overrides:
        return True
    field = f"metadata.labels[{GANG_LABEL}]"
    problem = f"{field} is false, but the policy does not allow to opt out (spec.overrides.allow)"
    raise GroupProblem(problem, rule="overrides", field=field)


def _is_copied(workload: Object, snapshot: Snapshot) -> bool:
    """Tell whether the object brings our record of another one, as ``kubectl get -o yaml`` put under a new name does.

    The record says for which name it was made; and where the name is the same, a group that exists already is that of
    an earlier object. In a second call for the same request (reinvocation) neither can be.
    """
    names = recorded_names(workload).values()
    return is_record_of_another(workload) or len(missing_groups(workload, names, snapshot)) < len(names)


def _rehearse(claim: _Claim, situation: Situation, surroundings: Surroundings) -> Finding:
    """Say what a binding that only warns or audits would do."""
    verdict = _watching(claim.binding)
    try:
        outcome = _plan(claim, situation, replace(surroundings, token=lambda: "0" * 10))
    except GroupFailure as failure:
        return _unmet(claim, str(failure), situation, rule=failure.rule, undecided=failure.undecided)
    except GroupProblem as problem:
        return claim.finding(verdict, f"would be refused: {problem}", rule=problem.rule, field=problem.field)
    if isinstance(outcome, Finding):
        return outcome if outcome.verdict is Verdict.ALLOW else replace(outcome, verdict=verdict)
    return claim.finding(verdict, f"would be grouped: {_told(outcome)}")


def _told(plan: GroupPlan) -> str:
    maker = ", made by the Job controller" if plan.route is Route.NATIVE else ""
    told = [
        f"{group.count} pod{'s' * (group.count != 1)} in one PodGroup{maker}"
        + (f", {group.min_count} at once or none" if group.min_count else "")
        for group in plan.groups
    ]
    told += [
        f"{one.count} PodGroups in one CompositePodGroup"
        + (f", {one.min_group_count} at once or none" if one.min_group_count else "")
        for one in plan.composites
    ]
    return "; ".join(told)


def _rivalry(first: _Claim, second: _Claim) -> str:
    if first.binding.name == second.binding.name and first.policy.name == second.policy.name:
        return f"{first} has several params for this object, and only one can group it; narrow its paramRef"
    if first.policy.name == second.policy.name:
        return f"{first} and binding '{second.binding.name}' both speak about this object; narrow one of the bindings"
    precedence = first.policy.source.precedence
    return f"{first} and {second} both speak about this object at precedence {precedence}; give one a higher precedence"


def _acts(binding: Binding) -> bool:
    return Action.DENY in binding.actions


def _watching(binding: Binding) -> Verdict:
    return Verdict.WARN if Action.WARN in binding.actions else Verdict.AUDIT


def _unmet(claim: _Claim, message: str, situation: Situation, *, rule: str = "", undecided: bool) -> Finding:
    """Say that a policy could not be evaluated: a binding that only watches refuses nothing for it."""
    if undecided and situation.skip_undecided:
        return claim.finding(Verdict.SKIP, message, rule=rule)
    failed = _failure(claim.policy, claim.binding, message, rule=rule)
    if failed.verdict is Verdict.DENY and not claim.acts:
        return claim.finding(_watching(claim.binding), f"would be refused: {message}", rule=rule)
    return failed


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


def _warning(finding: Finding) -> str:
    match finding.verdict:
        case Verdict.WARN:
            return f"WorkloadPolicy '{finding.policy}' with binding '{finding.binding}': {finding.message}"
        case Verdict.ERROR:
            return f"WorkloadPolicy '{finding.policy}' could not be evaluated, so the object was not grouped: {finding.message}"
        case Verdict.SKIP:
            return f"WorkloadPolicy '{finding.policy}' with binding '{finding.binding}' was skipped: {finding.message}"
        case _:
            return ""
