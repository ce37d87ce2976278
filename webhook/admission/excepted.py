"""What is told of exceptions that were used: a warning to whoever asked, an annotation in the audit log.

Written where all answers pass, so that no kind of policy can let something pass unsaid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from webhook.model.verdicts import Answer, ExceptionUse, Finding, Verdict

EXCEPTIONS_KEY = "policy-exceptions"
"""Audit annotation: a JSON list with an entry for each rule that was not applied."""
_LIMIT = 50
"""As many entries as the API server lists of failures (rules.judge)."""


def tell_exceptions(answer: Answer) -> Answer:
    """Return the answer with what its findings say of exceptions."""
    if answer.trail.is_plain:
        return answer
    used = [(finding, finding.exception) for finding in answer.trail.findings if finding.exception]
    if not used:
        return answer
    audit = json.dumps([_entry(finding, use) for finding, use in used[:_LIMIT]], ensure_ascii=False, separators=(",", ":"))
    trail = replace(
        answer.trail,
        warnings=(*answer.trail.warnings, *_warnings(used)),
        audit_annotations={**answer.trail.audit_annotations, EXCEPTIONS_KEY: audit},
    )
    return replace(answer, trail=trail)


def _warnings(used: Iterable[tuple[Finding, ExceptionUse]]) -> tuple[str, ...]:
    """Return warnings, the point first; a rule that would only have gone to the audit log stays there."""
    told = (f"{finding.policy} ({finding.rule}): {finding.message}" for finding, use in used if use.instead != Verdict.AUDIT)
    return tuple(dict.fromkeys(told))


def _entry(finding: Finding, use: ExceptionUse) -> dict[str, str]:
    return {
        "exception": use.name,
        "policy": finding.policy,
        "binding": finding.binding,
        "rule": finding.rule,
        "instead": use.instead,
        "owner": use.owner,
        "reason": use.reason,
        "expires": use.expires,
    }
