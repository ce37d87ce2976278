"""Outcomes of test cases: a line per file, the failed cases in full, and the rules that no case has exercised."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import yaml
from rich.console import Console

from webhook.model.cases import Coverage, Tried
from webhook.model.diagnostics import Diagnostic, Level
from webhook.reports.junit import JUnitCase, JUnitSuite
from webhook.reports.lines import indented
from webhook.reports.machine import API_VERSION, json_text
from webhook.reports.styled import plain, plain_lines

TRIAL_RULES = {
    "failed-case": "A test case is not answered as it expects.",
    "not-covered": "A rule of a policy does something that no test case brings about.",
}
_COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def print_trials(console: Console, trials: Sequence[Tried]) -> None:
    """Print a line per test and below it the failed cases, each with a diff of expected and actual."""
    for (path, test), found in groupby(trials, key=lambda tried: (tried.case.origin.path, tried.test)):
        group = list(found)
        failed = [tried for tried in group if tried.differences]
        counts = f"{len(group) - len(failed)} passed" + (f", {len(failed)} failed" if failed else "")
        word = "[bold red]FAIL[/bold red]" if failed else "[green]ok[/green]  "
        console.print(f"{word}  {plain(path)}  [dim]{plain(test)}[/dim]  {counts}")
        for tried in failed:
            _print_failure(console, tried)


def print_trial_counts(console: Console, trials: Sequence[Tried]) -> None:
    """Print the closing line."""
    failed = sum(bool(tried.differences) for tried in trials)
    files = len({tried.case.origin.path for tried in trials})
    console.print(f"\n{len(trials) - failed} passed, {failed} failed, in {files} {'file' if files == 1 else 'files'}")


def print_coverage(console: Console, coverage: Sequence[Coverage]) -> None:
    """Print a table of policies: how many of their rules are covered, and what no case has brought about."""
    covered = sum(not point.missing for point in coverage)
    console.print(f"\n[bold]Rule coverage[/bold]  {covered} of {len(coverage)}")
    for policy, found in groupby(sorted(coverage, key=lambda point: point.policy), key=lambda point: point.policy):
        points = list(found)
        full = sum(not point.missing for point in points)
        console.print(f"  [{'green' if full == len(points) else 'yellow'}]{full:>3} of {len(points):<3}[/] {plain(policy)}")
        for point in points:
            if point.missing:
                console.print(f"             {plain(_uncovered(point))}  [dim]{plain(_place(point))}[/dim]")


def trials_json(trials: Sequence[Tried], coverage: Sequence[Coverage]) -> str:
    """Return the document of ``test -o json``."""
    failed = sum(bool(tried.differences) for tried in trials)
    document = {
        "apiVersion": API_VERSION,
        "kind": "TestResult",
        "cases": [_case(tried) for tried in trials],
        "coverage": [
            {
                "policy": point.policy,
                "rule": point.rule,
                "file": point.origin.path,
                "line": point.origin.line,
                "missing": list(point.missing),
            }
            for point in coverage
        ],
        "summary": {
            "passed": len(trials) - failed,
            "failed": failed,
            "covered": sum(not point.missing for point in coverage),
            "rules": len(coverage),
        },
    }
    return json_text(document, indent=2)


def trial_suites(trials: Sequence[Tried], coverage: Sequence[Coverage]) -> Iterator[JUnitSuite]:
    """Yield a JUnit suite per test, and one of the rules that are to be covered."""
    for (_, test), found in groupby(trials, key=lambda tried: (tried.case.origin.path, tried.test)):
        cases = tuple(
            JUnitCase(
                name=tried.case.name,
                file=tried.case.origin.path,
                line=tried.case.origin.line,
                failure="\n".join((*tried.sentences, *_diff(tried))),
            )
            for tried in found
        )
        yield JUnitSuite(name=test, cases=cases)
    if coverage:
        points = tuple(
            JUnitCase(
                name=f"{point.policy} {point.rule}",
                file=point.origin.path,
                line=point.origin.line,
                failure=_uncovered(point) if point.missing else "",
            )
            for point in coverage
        )
        yield JUnitSuite(name="rule coverage", cases=points)


def trial_diagnostics(trials: Sequence[Tried], coverage: Sequence[Coverage]) -> Iterator[Diagnostic]:
    """Yield an error per failed case, and per rule that is to be covered and is not."""
    for tried in trials:
        if tried.differences:
            origin = tried.case.origin
            message = "; ".join(tried.sentences)
            yield _diagnostic("failed-case", message, origin.path, origin.line, tried.case.name)
    for point in coverage:
        if point.missing:
            message = f"{_uncovered(point)} by any test case of {point.policy}"
            yield _diagnostic("not-covered", message, point.origin.path, point.origin.line, point.policy)


def _diagnostic(rule: str, message: str, file: str, line: int, subject: str) -> Diagnostic:
    return Diagnostic(level=Level.ERROR, rule=rule, message=message, file=file, line=line, subject=subject)


def _case(tried: Tried) -> dict[str, Any]:
    return {
        "test": tried.test,
        "name": tried.case.name,
        "file": tried.case.origin.path,
        "line": tried.case.origin.line,
        "passed": not tried.differences,
        "differences": [
            {
                "what": difference.what,
                "expected": difference.expected,
                "actual": difference.actual,
                "message": "; ".join(difference.sentences),
            }
            for difference in tried.differences
        ],
        "results": [result.as_json() for result in tried.results],
    }


def _print_failure(console: Console, tried: Tried) -> None:
    origin = tried.case.origin
    console.print(f"      [bold]{plain(tried.case.name)}[/bold]  [dim]{plain(f'{origin.path}:{origin.line}')}[/dim]")
    for sentence in tried.sentences:
        console.print(plain_lines(indented(sentence, 8)))
    for line in _diff(tried):
        colour = _COLOURS.get(line[:1], "")
        text = plain_lines(indented(line, 10))
        console.print(f"[{colour}]{text}[/{colour}]" if colour else text)


def _diff(tried: Tried) -> Iterator[str]:
    """Yield a unified diff of what was expected and what came, as far as they are spoken of."""
    expected, actual = ([_yaml(one.what, getattr(one, side)) for one in tried.differences] for side in ("expected", "actual"))
    before, after = "".join(expected).splitlines(), "".join(actual).splitlines()
    yield from difflib.unified_diff(before, after, "expected", "actual", lineterm="", n=3)


def _yaml(what: str, value: Any) -> str:
    """Return a value below its name; the default aliases of YAML would hide what is compared."""
    plain_value = json.loads(json.dumps(value))
    shown = plain_value if what == "finding" else {what: plain_value}
    return yaml.safe_dump(shown, sort_keys=what != "finding", allow_unicode=True, width=10_000)


def _uncovered(point: Coverage) -> str:
    return f"{point.rule} never {' and never '.join(point.missing)}"


def _place(point: Coverage) -> str:
    return f"{point.origin.path}:{point.origin.line}"
