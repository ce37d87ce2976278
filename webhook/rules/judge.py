"""All validating policies on one request: failurePolicy, actions, texts and audit annotations.

Follows apiserver pkg/admission/plugin/policy/validating/dispatcher.go, texts included. Where the API server stays
silent (a rule that broke under failurePolicy Ignore) we add a finding, so that nothing is admitted unsaid.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from webhook.model.policies import Action, Binding, FailurePolicy
from webhook.model.verdicts import Admitted, Denied, Finding, Trail, Verdict
from webhook.rules.compile import CompiledPolicy
from webhook.rules.decide import Annotation, Decision, Outcome, annotate, broken, decide
from webhook.rules.exceptions import excepted, rule_on
from webhook.rules.glance import Bound, Panels, allowed, panel_of
from webhook.rules.invocations import Invocation, Misconfigured, conditions_hold, invocations
from webhook.rules.problems import RuleProblem
from webhook.rules.run import Run
from webhook.rules.world import Situation

FAILURES_KEY = "validation.policy.admission.k8s.io/validation_failure"
"""Audit annotation that lists what failed under action Audit."""
_FAILURES_LIMIT = 50
"""The API server lists no more than that in one annotation (maxValidationFailures)."""
_ANNOTATION_LIMIT = 10 * 1024
"""Longest value of an audit annotation (maxAuditAnnotationValueLength)."""
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
_STRENGTH = (Action.DENY, Action.WARN, Action.AUDIT)
_VERDICTS = {Action.DENY: Verdict.DENY, Action.WARN: Verdict.WARN, Action.AUDIT: Verdict.AUDIT}


@dataclass(slots=True)
class _Record:
    """What has been said so far; the first denial is the one that is told."""

    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    annotations: dict[str, list[str]] = field(default_factory=dict)
    denial: Finding | None = None

    def deny(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.denial = self.denial or finding

    def trail(self) -> Trail:
        audit = {key: ", ".join(values) for key, values in self.annotations.items()}
        if self.failures:
            audit[FAILURES_KEY] = _go_json(self.failures[:_FAILURES_LIMIT])
        return Trail(findings=tuple(self.findings), warnings=tuple(self.warnings), audit_annotations=audit)


def judge(policies: Sequence[Bound], situation: Situation, panels: Panels | None = None) -> Admitted | Denied:
    """Evaluate every policy under each of its bindings; no policy is left out because an earlier one denied.

    ``panels`` keeps what is settled about these very policies, for the next requests; it begins empty. Where all policies
    plainly allow, the answer is the same object for all of those.
    """
    panel = panel_of(policies, situation, {} if panels is None else panels)
    left = panel.left(situation)
    if panel.answer is not None and not left:
        return panel.answer
    record = _Record()
    for place, (policy, bindings) in enumerate(policies):
        said = panel.said[place]
        if said is not None and place not in left:
            record.findings += said
            continue
        for step in invocations(policy.head.source, bindings, situation):
            match step:
                case Misconfigured():
                    _record_misconfigured(policy, step, record)
                case Invocation():
                    _record_invocation(policy, step, situation, record)
                case _:
                    assert_never(step)
    if record.denial is None:
        return Admitted(trail=record.trail())
    denial = record.denial
    return Denied(message=denial_text(denial), reason=denial.reason, code=denial.code, trail=record.trail())


def denial_text(finding: Finding, *, kind: str = "ValidatingAdmissionPolicy") -> str:
    """Return the sentence with which the API server denies."""
    binding = f" with binding '{finding.binding}'" if finding.binding else ""
    return f"{kind} '{finding.policy}'{binding} denied request: {finding.message}"


def warning_text(finding: Finding, *, kind: str = "ValidatingAdmissionPolicy") -> str:
    """Return the sentence with which the API server warns."""
    return f"Validation failed for {kind} '{finding.policy}' with binding '{finding.binding}': {finding.message}"


def _record_misconfigured(policy: CompiledPolicy, step: Misconfigured, record: _Record) -> None:
    """Deny whatever the binding's actions are: the API server does not ask them here."""
    head = policy.head.source
    ignored = head.failure_policy is FailurePolicy.IGNORE
    finding = Finding(
        policy=head.name,
        binding=step.binding.name if step.binding else "",
        verdict=Verdict.ERROR if ignored else Verdict.DENY,
        message=step.message,
    )
    record.findings.append(finding) if ignored else record.deny(finding)


def _record_invocation(policy: CompiledPolicy, step: Invocation, situation: Situation, record: _Record) -> None:
    before = len(record.findings)
    decisions, annotations = _evaluate(policy, step, situation)
    for decision in decisions:
        _record_decision(policy, step.binding, decision, situation=situation, record=record)
    for annotation in annotations:
        _record_annotation(policy, step.binding, annotation, record)
    if decisions and len(record.findings) == before:
        record.findings += allowed(policy.head.source.name, step.binding.name)


def _evaluate(
    policy: CompiledPolicy, step: Invocation, situation: Situation
) -> tuple[tuple[Decision, ...], tuple[Annotation, ...]]:
    """Return what the policy says; no decision at all where a match condition is false."""
    try:
        if not conditions_hold(policy.head, situation, step.params):
            return (), ()
        run = Run(policy.head, situation, step.params)
        decisions = decide(policy, run) or (Decision(outcome=Outcome.PASSED),)
        return decisions, () if any(not d.rule and d.message for d in decisions) else annotate(policy, run)
    except RuleProblem as problem:
        return (broken(problem),), ()


def _record_decision(
    policy: CompiledPolicy, binding: Binding, decision: Decision, *, situation: Situation, record: _Record
) -> None:
    match decision.outcome:
        case Outcome.PASSED:
            return
        case Outcome.FAILED:
            _record_failure(policy, binding, decision, situation=situation, record=record)
            return
        case Outcome.UNDECIDED if situation.skip_undecided:
            finding = _finding(policy, binding, decision, Verdict.SKIP)
            record.findings.append(finding)
            record.warnings.append(f"Policy '{finding.policy}' with binding '{finding.binding}' was skipped: {decision.message}")
            return
        case Outcome.BROKEN | Outcome.UNDECIDED:
            if policy.head.source.failure_policy is FailurePolicy.IGNORE:
                record.findings.append(_finding(policy, binding, decision, Verdict.ERROR))
                return
        case _:
            assert_never(decision.outcome)
    _act(policy, binding, decision, record)


def _record_failure(
    policy: CompiledPolicy, binding: Binding, decision: Decision, *, situation: Situation, record: _Record
) -> None:
    """Let an exception of this rule have its say. Errors never come here: what broke has found nothing to except."""
    ruling = rule_on(policy.exceptions, decision.rule, situation)
    if ruling.exception is None:
        _act(policy, binding, replace(decision, message=ruling.noted(decision.message)), record)
        return
    verdict = _verdict(binding)
    record.findings.append(excepted(_finding(policy, binding, decision, verdict), ruling.exception, instead=verdict))


def _act(policy: CompiledPolicy, binding: Binding, decision: Decision, record: _Record) -> None:
    """Do what the binding says of a failure; the finding carries the strongest of its actions."""
    finding = _finding(policy, binding, decision, _verdict(binding))
    record.deny(finding) if finding.verdict is Verdict.DENY else record.findings.append(finding)
    if Action.WARN in binding.actions:
        record.warnings.append(warning_text(finding))
    if Action.AUDIT in binding.actions:
        record.failures.append(
            {
                "message": decision.message,
                "policy": finding.policy,
                "binding": binding.name,
                "expressionIndex": decision.index,
                "validationActions": [action.value for action in binding.actions],
            }
        )


def _verdict(binding: Binding) -> Verdict:
    return _VERDICTS[next((action for action in _STRENGTH if action in binding.actions), Action.AUDIT)]


def _record_annotation(policy: CompiledPolicy, binding: Binding, annotation: Annotation, record: _Record) -> None:
    """Publish a value, or deny because it broke: whatever the binding's actions are, as in the API server."""
    name = policy.head.source.name
    if annotation.error:
        ignored = policy.head.source.failure_policy is FailurePolicy.IGNORE and not annotation.is_wrong_type
        finding = Finding(
            policy=name,
            binding=binding.name,
            rule=annotation.rule,
            verdict=Verdict.ERROR if ignored else Verdict.DENY,
            message=annotation.error,
        )
        record.findings.append(finding) if ignored else record.deny(finding)
    elif annotation.value:
        value = annotation.value.encode()[:_ANNOTATION_LIMIT].decode(errors="ignore")
        values = record.annotations.setdefault(f"{name}/{annotation.key}", [])
        if value not in values:
            values.append(value)


def _finding(policy: CompiledPolicy, binding: Binding, decision: Decision, verdict: Verdict) -> Finding:
    return Finding(
        policy=policy.head.source.name,
        binding=binding.name,
        rule=decision.rule,
        verdict=verdict,
        message=decision.message,
        field=decision.field,
        reason=decision.reason,
        code=_CODES.get(decision.reason, 422),
    )


def _go_json(value: Any) -> str:
    """Encode as Go's encoding/json does, which escapes what could be mistaken for HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
