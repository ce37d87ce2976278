"""Whether an answer is the one that a test case expects, and if not, in which way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.model.cases import Expectation
from webhook.model.objects import Object
from webhook.model.verdicts import Answer, Finding, Patched, Verdict

_STRENGTH = (Verdict.DENY, Verdict.ERROR, Verdict.WARN, Verdict.AUDIT, Verdict.SKIP, Verdict.ALLOW)


def differences(expect: Expectation, answer: Answer, created: Sequence[Object]) -> tuple[str, ...]:
    """Return what is not as expected, one sentence each; ``created`` are the objects that would be created."""
    return (
        *_finding_differences(expect, answer.trail.findings),
        *_patch_differences(expect, answer),
        *_group_differences(expect, created),
    )


def strongest(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict that counts among findings; no finding at all means that no policy matched."""
    return min((finding.verdict for finding in findings), key=_STRENGTH.index, default=Verdict.SKIP)


def _finding_differences(expect: Expectation, findings: Sequence[Finding]) -> Iterator[str]:
    named = [finding for finding in findings if _is_named(finding, expect)]
    verdict = strongest(named)
    who = _who(expect)
    if not named and expect.verdict is not Verdict.SKIP:
        others = "; ".join(_shown(finding) for finding in findings) or "no policy matched"
        yield f"expected {expect.verdict}{who}, but nothing was found{who}: {others}"
        return
    if verdict is not expect.verdict:
        shown = "; ".join(_shown(finding) for finding in named if finding.verdict is verdict)
        yield f"expected {expect.verdict}{who}, got {verdict}" + (f": {shown}" if shown else "")
        return
    same = [finding for finding in named if finding.verdict is verdict]
    for key in ("message", "field"):
        wanted = getattr(expect, key)
        if wanted and not any(_says(finding, key, wanted) for finding in same):
            yield f"expected {key} {wanted!r}, got " + (" and ".join(repr(getattr(f, key)) for f in same) or "none")


def _patch_differences(expect: Expectation, answer: Answer) -> Iterator[str]:
    if expect.patched is None:
        return
    if not isinstance(answer, Patched):
        yield "expected a patched object, but nothing was changed"
        return
    yield from (f"patched{path}" for path in _missing(expect.patched, answer.object))


def _group_differences(expect: Expectation, created: Sequence[Object]) -> Iterator[str]:
    if expect.groups is None:
        return
    if not expect.groups and created:
        yield "expected no group objects, got " + ", ".join(str(obj.get("kind")) for obj in created)
    for index, wanted in enumerate(expect.groups):
        tries = [tuple(_missing(wanted, obj)) for obj in created if obj.get("kind") == wanted.get("kind", obj.get("kind"))]
        if not tries:
            yield f"groups[{index}]: no {wanted.get('kind', 'object')} would be created"
        elif all(tries):
            yield from (f"groups[{index}]{path}" for path in min(tries, key=len))


def _missing(wanted: Any, actual: Any) -> Iterator[str]:
    """Yield where ``wanted`` is no part of ``actual``: mappings may hold more, lists and values must be equal."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for key, value in wanted.items():
            if key in actual:
                yield from (f".{key}{path}" for path in _missing(value, actual[key]))
            else:
                yield f".{key}: expected {value!r}, but it is not there"
    elif isinstance(wanted, list) and isinstance(actual, list) and len(wanted) == len(actual):
        for index, (value, other) in enumerate(zip(wanted, actual, strict=True)):
            yield from (f"[{index}]{path}" for path in _missing(value, other))
    elif wanted != actual or isinstance(wanted, bool) != isinstance(actual, bool):
        yield f": expected {wanted!r}, got {actual!r}"


def _is_named(finding: Finding, expect: Expectation) -> bool:
    return all(
        not wanted or wanted == actual
        for wanted, actual in (
            (expect.policy, finding.policy),
            (expect.binding, finding.binding),
            (expect.rule, finding.rule),
        )
    )


def _says(finding: Finding, key: str, wanted: str) -> bool:
    return wanted in finding.message if key == "message" else wanted == finding.field


def _who(expect: Expectation) -> str:
    names = [f"{key} '{name}'" for key in ("policy", "binding", "rule") if (name := getattr(expect, key))]
    return f" of {', '.join(names)}" if names else ""


def _shown(finding: Finding) -> str:
    where = "/".join(part for part in (finding.policy, finding.rule) if part)
    return f"{finding.verdict} by {where}" + (f" ({finding.message})" if finding.message else "")
