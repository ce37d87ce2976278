"""``gangwarden lint``: everything that is refused at load, and advice about what is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click

from webhook.admission.advice import (
    ADVICE,
    REFUSED,
    Cost,
    Matter,
    advise,
    cost_advice,
    expression_warnings,
    ignored_rules,
    subjects_of,
)
from webhook.cli.costs import cost_json, measure
from webhook.cli.options import FILE_OR_FOLDER, output_option
from webhook.errors import PolicyError
from webhook.model.diagnostics import Diagnostic, Level
from webhook.policies.exceptions import exception_warnings
from webhook.policies.files import Sources, read_sources
from webhook.policies.kinds import Contents
from webhook.policies.load import Examined, examine_sources
from webhook.reports import diagnostic_suites, github_annotations, junit_xml, sarif_json, terminal
from webhook.reports.advice import diagnostics_json, print_costs, print_diagnostic_counts, print_diagnostics
from webhook.settings import ReloadSettings

_EXPIRY = "exception-expiry"
_NOTHING = "no-policy"


@click.command("lint")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FILE_OR_FOLDER)
@output_option
@click.option("--costs", is_flag=True, help="Also print what each expression costs, in the API server's units.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="From which level on to exit with 1; a policy that does not load always exits with 3.",
)
def lint_command(paths: tuple[str, ...], output: str, fail_on: str, *, costs: bool) -> None:
    """Look at policies (files and folders): what does not load, with every mistake at its place, and advice on what does."""
    linted = lint(paths)
    _print(linted, output, costs=costs)
    levels = {found.level for found in linted.diagnostics}
    if Level.ERROR in levels:
        sys.exit(PolicyError.exit_code)
    sys.exit(1 if fail_on == "warning" and Level.WARNING in levels else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What was found in some files."""

    sources: Sources
    examined: Examined
    diagnostics: tuple[Diagnostic, ...]
    costs: tuple[Cost, ...]


def lint(paths: Sequence[str], *, now: datetime | None = None) -> Linted:
    """Look at the policies below files and folders."""
    sources = read_sources(paths, limit_bytes=ReloadSettings().file_limit_bytes)
    moment = now or datetime.now(UTC)
    examined = examine_sources(sources, now=moment)
    contents = examined.contents
    matter = Matter(
        policies=examined.policies,
        bindings=tuple(contents.bindings),
        exceptions=tuple(contents.exceptions),
        names=_names(contents),
    )
    ledger, broken = measure(paths, examined.policies)
    found = [
        *_nothing(paths, examined),
        *map(_refusal, {str(error): error for error in (*examined.errors, *broken)}.values()),
        *_expiries(examined, moment),
        *advise(matter),
        *cost_advice(ledger),
    ]
    order = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2}
    ordered = sorted(found, key=lambda one: (one.file, one.line, one.column, order[one.level]))
    return Linted(sources=sources, examined=examined, diagnostics=tuple(ordered), costs=ledger.costs())


def _nothing(paths: Sequence[str], examined: Examined) -> Iterator[Diagnostic]:
    """Complain when there was nothing to look at: a wrong path would be praised for ever."""
    contents = examined.contents
    policies = contents.validating or contents.mutating or contents.workload
    if not (policies or contents.bindings or contents.exceptions or examined.errors):
        message = f"no policy, binding or exception is in {', '.join(paths)}, so nothing was looked at: is this the right path?"
        yield Diagnostic(level=ADVICE[_NOTHING].level, rule=_NOTHING, message=message, file=paths[0])


def _names(contents: Contents) -> dict[str, frozenset[str]]:
    """Return the names of all policies by kind, whether they load or not."""
    return {
        "ValidatingAdmissionPolicy": frozenset(policy.head.name for policy in contents.validating),
        "MutatingAdmissionPolicy": frozenset(policy.head.name for policy in contents.mutating),
        "WorkloadPolicy": frozenset(policy.head.name for policy in contents.workload),
    }


def _refusal(error: PolicyError) -> Diagnostic:
    message = f"{error.field}: {error.args[0]}" if error.field else str(error.args[0])
    return Diagnostic(level=Level.ERROR, rule=REFUSED, message=message, file=error.path, line=error.line, column=error.column)


def _expiries(examined: Examined, now: datetime) -> Iterator[Diagnostic]:
    for exception in examined.contents.exceptions:
        if _EXPIRY in ignored_rules(exception.annotations):
            continue
        origin = exception.origin
        for text in exception_warnings([exception], now):
            message = text.removeprefix(f"{origin.path}:{origin.line}: PolicyException '{exception.name}' ")
            yield Diagnostic(
                level=ADVICE[_EXPIRY].level,
                rule=_EXPIRY,
                message=message,
                file=origin.path,
                line=origin.line,
                subject=f"PolicyException {exception.name}",
            )


def _print(linted: Linted, output: str, *, costs: bool) -> None:
    found = linted.diagnostics
    match output:
        case "json":
            click.echo(diagnostics_json(found, costs=map(cost_json, linted.costs), typeChecking=_type_checking(linted)))
        case "junit":
            click.echo(junit_xml(diagnostic_suites(found, [file.path for file in linted.sources.files])))
        case "sarif":
            click.echo(sarif_json(found, {name: advice.sentence for name, advice in ADVICE.items()}))
        case "github":
            if annotations := github_annotations(found):
                click.echo(annotations)
        case _:
            lines = {file.path: file.content.decode(errors="replace").split("\n") for file in linted.sources.files}
            print_diagnostics(terminal(), found, lines)
            if costs:
                print_costs(terminal(), [cost_json(cost) for cost in linted.costs])
            print_diagnostic_counts(terminal(), found, len(linted.sources.files))


def _type_checking(linted: Linted) -> list[dict[str, Any]]:
    """Return what the API server's controller would write into the status of each ValidatingAdmissionPolicy."""
    return [
        {"policy": subject.head.name, "fieldRef": one.field, "warning": one.warning}
        for subject in subjects_of(linted.examined.policies)
        if subject.policy is not None
        for one in expression_warnings(subject)
    ]
