"""Whether an answer is the one that a test case expects, and if not, in which way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.model.cases import Difference, Expectation
from webhook.model.objects import Object
from webhook.model.results import Result
from webhook.model.verdicts import Admitted, Answer, Finding, Patched, Trail, Verdict

_STRENGTH = (Verdict.DENY, Verdict.ERROR, Verdict.WARN, Verdict.AUDIT, Verdict.SKIP, Verdict.ALLOW)

_SHOWN = ("verdict", "policy", "binding", "rule", "field", "message")
_TOLD = ("verdict", "rule", "message")
"""What is shown of a finding also where the expectation does not speak of it: why it came."""


def differences(expect: Expectation, answer: Answer, created: Sequence[Object]) -> tuple[Difference, ...]:
    """Return what is not as expected; ``created`` are the objects that would be created."""
    return (
        *_finding_differences(expect, answer.trail.findings),
        *_patch_differences(expect, answer),
        *_group_differences(expect, created),
    )


def result_differences(expect: Expectation, results: Sequence[Result]) -> tuple[Difference, ...]:
    """Return what is not as expected of a check; the object is that of the last policy which changed it."""
    trail = Trail(findings=tuple(result.finding for result in results))
    changed = next((result for result in reversed(results) if result.patched is not None), None)
    if changed is None:
        return differences(expect, Admitted(trail=trail), ())
    patched = Patched(object=changed.patched or {}, patch=changed.patch or (), trail=trail)
    return differences(expect, patched, changed.creates or ())


def strongest(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict that counts among findings; no finding at all means that no policy matched."""
    return min((finding.verdict for finding in findings), key=_STRENGTH.index, default=Verdict.SKIP)


def _finding_differences(expect: Expectation, findings: Sequence[Finding]) -> Iterator[Difference]:
    named = [finding for finding in findings if _is_named(finding, expect)]
    verdict = strongest(named)
    who = _who(expect)
    if not named and expect.verdict is not Verdict.SKIP:
        others = "; ".join(_shown(finding) for finding in findings) or "no policy matched"
        sentence = f"expected {expect.verdict}{who}, but nothing was found{who}: {others}"
        nearest = [finding for finding in findings if finding.verdict is strongest(findings)]
        yield _finding_difference(expect, nearest, (sentence,))
        return
    same = [finding for finding in named if finding.verdict is verdict]
    if verdict is not expect.verdict:
        shown = "; ".join(map(_shown, same))
        sentence = f"expected {expect.verdict}{who}, got {verdict}" + (f": {shown}" if shown else "")
        yield _finding_difference(expect, same, (sentence,))
    elif unsaid := tuple(_unsaid(expect, same)):
        yield _finding_difference(expect, same, unsaid)


def _unsaid(expect: Expectation, findings: Sequence[Finding]) -> Iterator[str]:
    for key in ("message", "field"):
        wanted = getattr(expect, key)
        if wanted and not any(_says(finding, key, wanted) for finding in findings):
            said = " and ".join(repr(getattr(finding, key)) for finding in findings)
            yield f"expected {key} {wanted!r}, got {said or 'none'}"


def _finding_difference(expect: Expectation, findings: Sequence[Finding], sentences: tuple[str, ...]) -> Difference:
    """Show the first of some findings beside what was expected of one; nothing found is ``skip``, as everywhere."""
    finding = findings[0] if findings else Finding(policy="", verdict=Verdict.SKIP)
    expected = {key: str(getattr(expect, key)) for key in _SHOWN if getattr(expect, key)}
    actual = {key: str(getattr(finding, key)) for key in _SHOWN if getattr(finding, key) and (key in expected or key in _TOLD)}
    return Difference(what="finding", expected=expected, actual=actual, sentences=sentences)


def _patch_differences(expect: Expectation, answer: Answer) -> Iterator[Difference]:
    wanted = expect.patched
    if wanted is None:
        return
    if not isinstance(answer, Patched):
        said = "expected a patched object, but nothing was changed"
        yield Difference(what="patched", expected=wanted, actual=None, sentences=(said,))
    elif missing := tuple(f"patched{path}" for path in _missing(wanted, answer.object)):
        yield Difference(what="patched", expected=wanted, actual=_part(wanted, answer.object), sentences=missing)


def _group_differences(expect: Expectation, created: Sequence[Object]) -> Iterator[Difference]:
    if expect.groups is None:
        return
    if not expect.groups and created:
        kinds = [str(obj.get("kind")) for obj in created]
        said = f"expected no group objects, got {', '.join(kinds)}"
        yield Difference(what="groups", expected=[], actual=kinds, sentences=(said,))
    for index, wanted in enumerate(expect.groups):
        what = f"groups[{index}]"
        candidates = [obj for obj in created if obj.get("kind") == wanted.get("kind", obj.get("kind"))]
        tries = [(obj, tuple(_missing(wanted, obj))) for obj in candidates]
        if not tries:
            said = f"{what}: no {wanted.get('kind', 'object')} would be created"
            yield Difference(what=what, expected=wanted, actual=None, sentences=(said,))
        elif all(missing for _, missing in tries):
            nearest, missing = min(tries, key=lambda one: len(one[1]))
            sentences = tuple(f"{what}{path}" for path in missing)
            yield Difference(what=what, expected=wanted, actual=_part(wanted, nearest), sentences=sentences)


def _part(wanted: Any, actual: Any) -> Any:
    """Return that part of ``actual`` of which ``wanted`` speaks."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return {key: _part(value, actual[key]) for key, value in wanted.items() if key in actual}
    if isinstance(wanted, list) and isinstance(actual, list) and len(wanted) == len(actual):
        return [_part(value, other) for value, other in zip(wanted, actual, strict=True)]
    return actual


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
