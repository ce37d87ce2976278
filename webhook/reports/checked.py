"""Results of ``check`` in the formats of CI systems."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import groupby

from webhook.errors import InputError
from webhook.model.diagnostics import Diagnostic, Level
from webhook.model.results import Result
from webhook.model.verdicts import Verdict
from webhook.reports.concealing import concealed
from webhook.reports.junit import JUnitCase, JUnitSuite
from webhook.reports.lines import title

FindPlace = Callable[[str, str], tuple[str, int, int]]
"""Returns file, line and column of a field of the object from a source."""
_LEVELS = {
    Verdict.DENY: Level.ERROR,
    Verdict.ERROR: Level.ERROR,  # never a silent allow, and it fails the command
    Verdict.WARN: Level.WARNING,
    Verdict.AUDIT: Level.NOTE,
}


def result_diagnostics(results: Iterable[Result], find_place: FindPlace) -> Iterator[Diagnostic]:
    """Yield what policies had to say against manifests, each at the field that it is about; what is excepted as a note."""
    for result in concealed(results):
        finding = result.finding
        level = Level.NOTE if finding.exception else _LEVELS.get(finding.verdict)
        if level is not None:
            file, line, column = find_place(result.source, finding.field)
            yield Diagnostic(
                level=level,
                rule=_rule(result),
                message=finding.message,
                file=file,
                line=line,
                column=column,
                subject=title(result.object),
            )


def input_diagnostics(errors: Iterable[InputError]) -> tuple[Diagnostic, ...]:
    """Return what is wrong with inputs that could not be judged."""
    return tuple(
        Diagnostic(level=Level.ERROR, rule="broken-input", message=str(error.args[0]), file=_file(error.source), line=error.line)
        for error in errors
    )


def _file(source: str) -> str:
    """Return the file of ``file#document``; a file's own name may have a # in it as well."""
    file, mark, document = source.rpartition("#")
    return file if mark and document[:1].isdigit() else source


def result_suites(results: Iterable[Result], find_place: FindPlace, failing: Container[Verdict]) -> Iterator[JUnitSuite]:
    """Yield a suite per manifest with a case per finding; a rule that could not be evaluated fails whatever ``failing`` says.

    A rule that an exception keeps from being applied is skipped.
    """
    for source, found in groupby(concealed(results), key=lambda result: result.source):
        group = tuple(found)
        cases = tuple(_case(result, find_place, failing) for result in group)
        yield JUnitSuite(name=f"{title(group[0].object)} {source}", cases=cases)


def _case(result: Result, find_place: FindPlace, failing: Container[Verdict]) -> JUnitCase:
    finding = result.finding
    failed = finding.verdict in failing or finding.verdict is Verdict.ERROR
    file, line, _ = find_place(result.source, finding.field) if failed else ("", 0, 0)
    return JUnitCase(
        name=_rule(result) or finding.message,
        file=file,
        line=line,
        failure=f"{finding.verdict}: {finding.message}" if failed else "",
        skipped=finding.message if finding.verdict is Verdict.SKIP or finding.exception else "",
    )


def _rule(result: Result) -> str:
    return "/".join(part for part in (result.finding.policy, result.finding.rule) if part)
