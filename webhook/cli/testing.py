"""``gangwarden test``: the cases beside the policies, through the engine that serves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from webhook.admission import Ledger, PolicySet
from webhook.cli.binding import bound_or_not, unbound_option
from webhook.cli.options import FILE_OR_FOLDER, output_option
from webhook.cli.trial import try_case
from webhook.errors import PolicyError, UsageError
from webhook.model.cases import Coverage, PolicyTest, Tried
from webhook.policies import find_tests, load_policies, policy_files
from webhook.reports import (
    TRIAL_RULES,
    github_annotations,
    junit_xml,
    print_coverage,
    print_notes,
    print_trial_counts,
    print_trials,
    sarif_json,
    terminal,
    trial_diagnostics,
    trial_suites,
    trials_json,
)


@click.command("test")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=FILE_OR_FOLDER)
@click.option(
    "-p",
    "--policies",
    multiple=True,
    metavar="PATH",
    type=FILE_OR_FOLDER,
    help="Policy files or folders for every test, beside those that it names itself.",
)
@click.option("-k", "keyword", default="", metavar="TEXT", help="Only the cases whose name, test or file contains this.")
@click.option("-x", "--fail-fast", is_flag=True, help="Stop at the first case that fails.")
@click.option("--coverage", is_flag=True, help="Print which rules no case has exercised.")
@click.option(
    "--require-coverage",
    type=click.FloatRange(0, 100),
    default=None,
    metavar="PERCENT",
    help="Exit with 1 where less than this share of the rules is fully exercised.",
)
@click.option("--require-full-coverage", is_flag=True, help="Exit with 1 where a rule is not fully exercised.")
@unbound_option
@click.option("--watch", is_flag=True, help="Run again whenever a policy or a case was saved; Ctrl-C ends.")
@output_option
def test_command(paths: tuple[str, ...], output: str, *, watch: bool, **options: Any) -> None:
    """Run the test cases (kind PolicyTest) in files and folders; by default those below the current folder.

    A file that holds no cases stands for the cases beside it that load it.
    """
    if options.pop("require_full_coverage"):
        options["require_coverage"] = 100.0
    if options["require_coverage"] is not None and (options["keyword"] or options["fail_fast"]):
        raise UsageError("--require-coverage and --require-full-coverage need every case: leave -k and --fail-fast out")
    if watch and output != "text":
        raise UsageError("--watch goes with text output only")
    session = Session(paths=paths or (".",), **options)
    if watch:
        from webhook.cli.watching import watch_session  # noqa: PLC0415 - one run needs no event loop

        sys.exit(watch_session(session))
    sys.exit(session.run(output))


@dataclass(frozen=True, kw_only=True)
class Session:
    """What one command line asks for; every run of it reads all files anew."""

    paths: Sequence[str]
    policies: Sequence[str]
    keyword: str
    fail_fast: bool
    coverage: bool
    require_coverage: float | None
    """Percent of the rules."""
    unbound: str

    def run(self, output: str = "text") -> int:
        """Run the cases, print what came of them, and return the exit code."""
        shelf = Shelf(extra=self.policies, unbound=self.unbound)
        trials = tuple(self._trials(shelf))
        coverage: tuple[Coverage, ...] = ()
        if self.coverage or self.require_coverage is not None:
            shelf.add_rest(self.paths)
            coverage = shelf.ledger.coverage()
        lacking = self._lacking(coverage)
        self._print(trials, coverage, output, required=coverage if lacking else ())
        notes = [*dict.fromkeys(shelf.notes), *lacking]
        if not trials:
            chosen = f" with {self.keyword!r} in its name" if self.keyword else ""
            notes.append(f"error: no test case{chosen} is below {', '.join(self.paths)}: nothing was tested")
        print_notes(terminal(stderr=True), notes)
        return int(not trials or bool(lacking) or any(tried.differences for tried in trials))

    def watched(self) -> tuple[str, ...]:
        """Return the files and folders whose edits call for another run."""
        named = (path for test in find_tests(self.paths) for path in test.policies)
        return tuple(dict.fromkeys(map(os.path.normpath, (*self.paths, *self.policies, *named))))

    def _lacking(self, coverage: Sequence[Coverage]) -> tuple[str, ...]:
        """Return a sentence where less is covered than is required."""
        covered, required = sum(not point.missing for point in coverage), self.require_coverage
        if required is None or covered * 100 >= required * len(coverage):
            return ()
        # Rounded down: 99.97 % of 100 is not "100 %, but 100 % is required".
        share = int(covered * 1_000 / len(coverage)) / 10
        return (
            f"error: {covered} of {len(coverage)} rules ({share:g} %) are covered, but {required:g} % is required (--coverage)",
        )

    def _trials(self, shelf: Shelf) -> Iterator[Tried]:
        for test in find_tests(self.paths):
            chosen = [case for case in test.cases if any(self.keyword in text for text in (case.name, test.name, test.path))]
            policies = shelf.policies_of(test)
            for case in chosen:
                tried = try_case(case, policies, test=test.name)
                yield tried
                if tried.differences and self.fail_fast:
                    return

    def _print(self, trials: Sequence[Tried], coverage: Sequence[Coverage], output: str, *, required: Sequence[Coverage]) -> None:
        match output:
            case "json":
                click.echo(trials_json(trials, coverage))
            case "junit":
                click.echo(junit_xml(trial_suites(trials, required)))
            case "sarif":
                click.echo(sarif_json(tuple(trial_diagnostics(trials, required)), TRIAL_RULES))
            case "github":
                if annotations := github_annotations(trial_diagnostics(trials, required)):
                    click.echo(annotations)
            case _:
                print_trials(terminal(), trials)
                if coverage:
                    print_coverage(terminal(), coverage)
                print_trial_counts(terminal(), trials)


@dataclass(kw_only=True)
class Shelf:
    """The policies that tests name: each combination is loaded once, and what its rules come to is noted."""

    extra: Sequence[str]
    unbound: str
    ledger: Ledger = field(default_factory=Ledger)
    notes: list[str] = field(default_factory=list)
    _sets: dict[tuple[str, ...], PolicySet] = field(default_factory=dict)

    def policies_of(self, test: PolicyTest) -> PolicySet:
        """Return the policies of a test; raises PolicySetError, or PolicyError where there is none at all."""
        policies = self._load(tuple(map(os.path.normpath, (*test.policies, *self.extra))))
        if not (policies.validating or policies.mutating or policies.workload):
            raise PolicyError("there is no policy in what this test names, so every case would pass", path=test.path)
        return policies

    def add_rest(self, paths: Sequence[str]) -> None:
        """Load the policies that no test names, so that they are seen not to be exercised."""
        loaded = {os.path.realpath(file) for named in self._sets for file in policy_files(named)}
        for file in policy_files(paths):
            if os.path.realpath(file) not in loaded:
                self._load((file,))

    def _load(self, paths: tuple[str, ...]) -> PolicySet:
        if paths not in self._sets:
            policies, notes = bound_or_not(load_policies(paths), self.unbound)
            self.notes += notes
            self._sets[paths] = self.ledger.observe(policies)
        return self._sets[paths]
