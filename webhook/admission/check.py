"""A manifest judged without an API server: the same rounds in the same order, and what would be created."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from webhook.admission.ask import as_stored
from webhook.admission.attach import Surroundings
from webhook.admission.defaults import apply_defaults
from webhook.admission.diff import diff
from webhook.admission.mutate import MutatingRound, run_mutating
from webhook.admission.policyset import PolicySet
from webhook.admission.templates import asking_policies, pod_requests
from webhook.groups import composite_object, pod_group_object, workload_object
from webhook.model.groups import GroupPlan, Route
from webhook.model.objects import Object
from webhook.model.requests import AdmissionRequest, Operation
from webhook.model.results import Result
from webhook.model.verdicts import Denied, Finding, Patched, Verdict
from webhook.rules import Complete, Situation, judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Judges manifests by one set of policies in one set of surroundings."""

    policies: PolicySet
    surroundings: Surroundings
    situation: Callable[[AdmissionRequest], Situation]
    """Puts a request into its world: namespaces, params, deadline."""
    brief: bool = False
    """Leave out of the results what is to be changed and created, for reports that do not show it."""
    _asking: PolicySet = field(init=False, repr=False, compare=False)
    """Those policies that want to see pods before they exist."""

    def __post_init__(self) -> None:
        """Find out once which policies are to be asked about templates."""
        object.__setattr__(self, "_asking", asking_policies(self.policies))

    def check(self, request: AdmissionRequest, *, source: str, complete: Complete | None = None) -> tuple[Result, ...]:
        """Return what each policy says of the object of a request; one ``skip`` where none matches.

        ``complete`` is what has filled the object's defaults, if something has: it knows again what it filled.
        """
        policies = self.policies.about(request)
        situation = self.situation(request)
        mutated = run_mutating(policies.mutating, policies.workload, situation, self.surroundings, complete=complete)
        answer = mutated.answer
        judged = request.with_object(answer.object) if isinstance(answer, Patched) else request
        findings = answer.trail.findings
        if not isinstance(answer, Denied):
            findings += judge(policies.validating, self.situation(judged), policies.panels).trail.findings
        if not findings:
            findings = (Finding(policy="", verdict=Verdict.SKIP, message="no policy matches"),)
        obj = request.object or request.old_object or {}
        if self.brief:
            results = tuple(Result(source=source, object=obj, finding=finding) for finding in findings)
        else:
            results = tuple(_result(finding, source, obj, mutated) for finding in findings)
        if isinstance(answer, Denied) or judged.object is None or judged.operation is Operation.DELETE:
            return results
        return (*results, *self._of_templates(judged.object, source, is_raw=complete is None))

    def _of_templates(self, workload: Object, source: str, *, is_raw: bool) -> Iterator[Result]:
        """Yield what policies that want to see pods before they exist say of this workload's."""
        policies = self._asking
        if not (policies.validating or policies.mutating):
            return
        checker = replace(self, policies=policies)
        for path, request in pod_requests(workload):
            asked = request if is_raw else request.with_object(apply_defaults(request.object or {}))
            for result in checker.check(asked, source=source):
                finding = result.finding
                if finding.policy:
                    place = f"{path}.{finding.field}" if finding.field else ""
                    yield replace(result, finding=replace(finding, field=place))


def created_objects(owner: Object, plan: GroupPlan) -> tuple[Object, ...]:
    """Return the Workload, CompositePodGroups and PodGroups that our controller will create for a stored workload.

    None before it has pods; none on the native route, where Kubernetes makes them under names of its own.
    """
    if plan.route is Route.NATIVE:
        return ()
    pod_groups = tuple(pod_group_object(owner, plan, group) for group in plan.groups if group.count)
    composites = tuple(composite_object(owner, plan, composite) for composite in plan.composites)
    return (workload_object(owner, plan), *composites, *pod_groups) if pod_groups else ()


def is_finding(result: Result, fail_on: Sequence[Verdict]) -> bool:
    """Tell whether a result makes a command exit with 1; a rule that could not be evaluated always does."""
    return result.finding.verdict in (*fail_on, Verdict.ERROR)


def _result(finding: Finding, source: str, obj: Object, mutated: MutatingRound) -> Result:
    """Put patch, object and created objects beside the finding of the policy that asked for them."""
    plan, attached = mutated.plan, mutated.attached
    change = next((change for change in mutated.changes if change.finding is finding), None)
    if change is not None and change.after != change.before:
        patch = diff(change.before, change.after)
        return Result(source=source, object=obj, finding=finding, patch=patch, patched=change.after)
    if plan is None or not isinstance(attached, Patched) or (finding.policy, finding.binding) != (plan.policy, plan.binding):
        return Result(source=source, object=obj, finding=finding)
    return Result(
        source=source,
        object=obj,
        finding=finding,
        patch=attached.patch,
        patched=attached.object,
        creates=created_objects(as_stored(attached.object), plan),
    )
