"""All MutatingAdmissionPolicies on one request: which of them act, in which order, and the object that comes of it.

Follows apiserver pkg/admission/plugin/policy/mutating/dispatcher.go. Which policies, bindings and params apply is settled
once, by the object as it came; match conditions and mutations see what the earlier ones left. A mutation that fails under
failurePolicy Ignore is left out and the next one goes on; under Fail all the rest is still evaluated and the request denied.

Order: by name, policies as well as bindings. The API server promises none and takes them from a map (generic/policy_source.go,
calculatePolicyData), anew after each change; policies whose result depends on it are wrong there, and right here by luck.

Reinvocation: the API server calls its whole chain a second time when a policy or a webhook changed something, and then
repeats the policies of reinvocationPolicy IfNeeded. We do so within one call, which gives the object that the API
server's own policies would. What other webhooks change after us brings a second call (our webhooks are registered with
IfNeeded), and in that one we cannot tell ``Never`` from ``IfNeeded``: mutations must be idempotent, as Kubernetes asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from webhook.cel import EvaluationError
from webhook.cel.structs import TypedObject
from webhook.model.objects import Object, metadata_of
from webhook.model.policies import Binding, FailurePolicy, PatchType
from webhook.model.requests import Operation
from webhook.model.verdicts import Finding, Trail, Verdict
from webhook.rules.cluster import UNDECIDED
from webhook.rules.configure import configure
from webhook.rules.exceptions import excepted, rule_on
from webhook.rules.invocations import Invocation, conditions_hold, invocations
from webhook.rules.mutations import CompiledMutating, CompiledMutation
from webhook.rules.patch import MISSING, PatchOperation, apply_patch
from webhook.rules.problems import RuleProblem, Unstorable
from webhook.rules.run import Run
from webhook.rules.strict import check_patched
from webhook.rules.values import Natives, as_json, type_mismatches
from webhook.rules.world import Situation

BoundMutating = tuple[CompiledMutating, tuple[Binding, ...]]
Complete = Callable[[Object, Object], Object]
"""Fills what the API server's defaulting would fill after a mutation: gets the object before and after it."""
_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one policy under one binding with one param made of the object."""

    finding: Finding
    before: Object
    after: Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutated:
    """What came of all policies."""

    object: Object | None
    """The object at the end; None where the request has none. The changes are void if there is a denial."""
    changes: tuple[Change, ...] = ()
    trail: Trail = field(default_factory=Trail)
    denial: Finding | None = None
    message: str = ""
    """What the denial says to the caller, as the API server words it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    policy: CompiledMutating
    invocation: Invocation

    @property
    def key(self) -> _Key:
        meta = metadata_of(self.invocation.params or {})
        return self.policy.name, self.invocation.binding.name, str(meta.get("namespace", "")), str(meta.get("name", ""))


def keep(before: Object, after: Object) -> Object:  # noqa: ARG001 - fits Complete
    """Return the mutated object without defaults."""
    return after


def mutate(policies: Sequence[BoundMutating], situation: Situation, *, complete: Complete = keep) -> Mutated:
    """Apply every policy and each of its bindings, in the order in which they are given."""
    if situation.request.object is None or situation.request.operation is Operation.DELETE:
        return Mutated(object=situation.request.object)
    course = _Course(situation, complete)
    try:
        course.run(list(course.select(policies)))
        if course.dirty and course.reinvocable and course.denial is None:
            again = course.reinvocable
            course.run([step for step in course.select(policies, again=True) if step.key in again], again=True)
    except Unstorable as error:
        return course.refused(str(error))
    return course.result()


class _Course:
    """The object on its way through the policies, and what has been said of it."""

    def __init__(self, situation: Situation, complete: Complete) -> None:
        self._situation, self._complete = situation, complete
        self.object: Object = situation.request.object or {}
        self.changes: list[Change] = []
        self.findings: list[Finding] = []
        self.warnings: list[str] = []
        self.denial: Finding | None = None
        self.reinvocable: set[_Key] = set()
        self.dirty = False
        self._at = Finding(policy="", verdict=Verdict.DENY)

    def select(self, policies: Sequence[BoundMutating], *, again: bool = False) -> Iterator[_Step]:
        """Yield what matches the object as it is now; what matches but is not set up properly is said once."""
        for policy, bindings in policies:
            for step in invocations(policy.source.head, bindings, self._now()):
                if isinstance(step, Invocation):
                    yield _Step(policy=policy, invocation=step)
                elif not again:
                    self._fail(policy, step.binding, step.message, reason="Forbidden")

    def run(self, steps: Sequence[_Step], *, again: bool = False) -> None:
        """Take the object through the given steps."""
        for step in steps:
            policy, invocation = step.policy, step.invocation
            try:
                if not conditions_hold(policy.head, self._now(), invocation.params):
                    continue
            except RuleProblem as problem:
                self._fail(policy, invocation.binding, str(problem), undecided=problem.undecided)
                continue
            self._mutate(step, again=again)
            if policy.source.reinvoked:
                self.reinvocable.add(step.key)

    def _mutate(self, step: _Step, *, again: bool) -> None:
        before, failures = self.object, len(self.findings)
        policy, binding = step.policy, step.invocation.binding
        for index, mutation in enumerate(policy.mutations):
            rule = f"mutations[{index}]"
            self._at = Finding(policy=policy.name, binding=binding.name, rule=rule, verdict=Verdict.DENY)
            run = Run(policy.head, self._now(), step.invocation.params)
            try:
                after = _apply(mutation, run, self.object)
            except RuleProblem as problem:
                self._fail(policy, binding, str(problem), rule=rule, undecided=problem.undecided)
                continue
            self.dirty = True
            if after is not self.object and after != self.object and not self._is_excepted(step, rule):
                self.object = self._complete(self.object, after)
        changed = self.object != before
        if changed or (len(self.findings) == failures and not again):
            said = "" if changed else "nothing to change"
            finding = Finding(policy=policy.name, binding=binding.name, verdict=Verdict.ALLOW, message=said)
            self.findings.append(finding)
            self.changes.append(Change(finding=finding, before=before, after=self.object))

    def _is_excepted(self, step: _Step, rule: str) -> bool:
        """Tell whether a mutation that would change the object is left out; asked only then, so that each use is real."""
        ruling = rule_on(step.policy.exceptions, rule, self._now())
        self.warnings += [f"Policy '{step.policy.name}' ({rule}): {note}" for note in ruling.notes]
        if ruling.exception is None:
            return False
        finding = replace(self._at, verdict=Verdict.ALLOW)
        told = excepted(finding, ruling.exception, instead="patch")
        self.findings += [] if told in self.findings else [told]
        return True

    def _fail(
        self,
        policy: CompiledMutating,
        binding: Binding | None,
        message: str,
        *,
        rule: str = "",
        reason: str = "Invalid",
        undecided: bool = False,
    ) -> None:
        skipped = undecided and self._situation.skip_undecided
        ignored = policy.source.head.failure_policy is FailurePolicy.IGNORE
        verdict = Verdict.SKIP if skipped else Verdict.ERROR if ignored else Verdict.DENY
        name = binding.name if binding else ""
        finding = Finding(policy=policy.name, binding=name, rule=rule, verdict=verdict, message=message, reason=reason, code=403)
        self.findings.append(finding)
        if skipped:
            self.warnings.append(f"Policy '{policy.name}' with binding '{name}' was skipped: {message}")
        elif not ignored:
            self.denial = self.denial or finding

    def _now(self) -> Situation:
        if self._situation.request.object is not self.object:
            self._situation = self._situation.of(self.object)
        return self._situation

    def refused(self, message: str) -> Mutated:
        """Deny as the API server does where a patched object cannot be read back."""
        finding = replace(self._at, message=message, reason="InternalError", code=500)
        who = f"(policy '{finding.policy}' with binding '{finding.binding}', {finding.rule})"
        self.findings.append(finding)
        self.denial = finding
        return self.result(message=f"Internal error occurred: {message} {who}")

    def result(self, *, message: str = "") -> Mutated:
        """Return what came of it."""
        return Mutated(
            object=self.object,
            changes=tuple(self.changes),
            trail=Trail(findings=tuple(self.findings), warnings=tuple(self.warnings)),
            denial=self.denial,
            message=message or (mutation_denial_text(self.denial) if self.denial else ""),
        )


def mutation_denial_text(finding: Finding) -> str:
    """Return the sentence with which the API server denies for a MutatingAdmissionPolicy (generic/policy_dispatcher.go)."""
    if finding.binding:
        return f"policy '{finding.policy}' with binding '{finding.binding}' denied request: {finding.message}"
    return f'policy "{finding.policy}" denied request: {finding.message}'


def _apply(mutation: CompiledMutation, run: Run, obj: Object) -> Object:
    program = mutation.program
    try:
        value = run.evaluate(program)
    except EvaluationError as error:
        message = f"expression '{program.text}' resulted in error: {error}"
        raise RuleProblem(message, undecided=error.kind == UNDECIDED) from error
    natives = Natives(run.inputs())
    if mutation.source.patch_type is PatchType.APPLY_CONFIGURATION:
        return configure(obj, value, natives)
    patched = apply_patch(obj, [_operation(item, natives) for item in value])
    return obj if patched is obj else check_patched(obj, patched)


def _operation(item: TypedObject, natives: Natives) -> PatchOperation:
    given = item.fields
    value = given.get("value", MISSING)
    if isinstance(value, TypedObject):
        mismatches = list(type_mismatches(value, value.name))
        if mismatches:
            raise RuleProblem("type mismatch: " + "\n".join(mismatches))
    return PatchOperation(
        op=given.get("op", ""),
        path=given.get("path", ""),
        source=given.get("from", ""),
        value=value if value is MISSING else as_json(value, natives),
    )
