"""``gangwarden check``: manifests judged offline, through the engine that serves."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from webhook import reports
from webhook.admission import (
    Checker,
    CustomKinds,
    DefaultsFiller,
    ParamIndex,
    PolicySet,
    exceptions_of,
    has_regular_fields,
    in_namespace,
    is_finding,
    request_for,
    served_policies,
)
from webhook.cli.asking import asker_of, check_old, load_access, load_before
from webhook.cli.binding import bound_or_not, unbound_option
from webhook.cli.collecting import collect_seldom
from webhook.cli.inputs import read_all
from webhook.cli.offline import Offline, check_types, doubts_about, load_offline
from webhook.cli.options import FILE, FILE_OR_FOLDER, now_option, output_option, policy_option
from webhook.errors import InputError, InputSetError, PathError
from webhook.model.requests import Operation
from webhook.model.results import Result
from webhook.model.verdicts import Verdict
from webhook.policies import Manifest, Places, bundled_policies, load_manifests, load_policies
from webhook.reports import note_lines, result_lines, show


@click.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@policy_option
@click.option(
    "--snapshot", multiple=True, metavar="PATH", type=FILE_OR_FOLDER, help="The cluster: v1 Lists and one Capabilities document."
)
@click.option("--params", metavar="FILE", type=FILE, help="Further objects that policies use as params.")
@click.option("--namespace-object", metavar="FILE", type=FILE, help="The Namespace of the manifests.")
@click.option("--operation", type=click.Choice([o.value for o in Operation]), default="CREATE", show_default=True)
@click.option("--old", metavar="FILE", type=FILE, help="The object before an UPDATE; of several, those of the same name.")
@unbound_option
@click.option("--raw", is_flag=True, help="Do not apply the API's defaults first.")
@click.option("--user", default="", metavar="NAME", help="Who asks; an administrator by default.")
@click.option("--group", "groups", multiple=True, metavar="G", help="A group of who asks; may be repeated.")
@click.option("--authorizer", metavar="FILE", type=FILE, help="Who may do what, for policies that ask: rules in a YAML list.")
@now_option
@output_option
@click.option(
    "--fail-on",
    type=click.Choice(["deny", "warn"]),
    default="deny",
    show_default=True,
    help="From which verdict on to exit with 1; a rule that could not be evaluated always does, and what is warned of fields and "
    "kinds that the API server does not know counts as warn.",
)
def check_command(paths: tuple[str, ...], output: str, fail_on: str, **options: Any) -> None:
    """Judge manifests (files, folders or - for standard input) offline, with the verdicts of the API server."""
    collect_seldom()
    check_old(options["old"], Operation(options["operation"]))
    policies, notes = _policies(options["policies"], options["unbound"], options["params"], options["now"])
    with _broken_told(output):
        manifests = read_all(paths)
        odd = tuple(manifest for manifest in manifests if not has_regular_fields(manifest.object))
        check_types(odd)
    offline = load_offline(options["snapshot"], policies, namespace_object=options["namespace_object"], now=options["now"])
    if options["authorizer"]:
        offline = replace(offline, authorizer=load_access(options["authorizer"]))
    custom = offline.custom | CustomKinds.of((manifest.source, manifest.object) for manifest in manifests)
    results = _check(manifests, policies, options, offline=offline, custom=custom, brief=output != "json")
    failing = (Verdict.DENY,) if fail_on == "deny" else (Verdict.DENY, Verdict.WARN)
    _print(results, output, failing)
    if not results:
        notes += ("warning: nothing was checked: the lists that were given are empty",)
    doubts = tuple(f"warning: {one.source}: {doubt}" for one in odd for doubt in doubts_about(one.object, custom))
    show(note_lines([*notes, *doubts, *_skipped(results), *_unused(policies, results)]), sys.stderr)
    is_doubted = bool(doubts) and fail_on == "warn"
    sys.exit(1 if is_doubted or any(is_finding(result, failing) for result in results) else 0)


@contextmanager
def _broken_told(output: str) -> Iterator[None]:
    """Tell also in the form that was asked for of inputs that are broken: a CI system reads nothing else."""
    try:
        yield
    except InputError as error:
        _print_broken(error.errors if isinstance(error, InputSetError) else (error,), output)
        raise


def _print_broken(errors: Sequence[InputError], output: str) -> None:
    found = reports.input_diagnostics(errors)
    match output:
        case "json":
            click.echo(reports.results_json((), errors))
        case "junit":
            click.echo(reports.junit_xml(reports.diagnostic_suites(found, ())))
        case "sarif":
            click.echo(reports.sarif_json(found))
        case "github":
            click.echo(reports.github_annotations(found))
        case _:  # people read them on standard error
            pass


def _print(results: Sequence[Result], output: str, failing: Sequence[Verdict]) -> None:
    place_of = Places().find
    match output:
        case "json":
            click.echo(reports.results_json(results))
        case "junit":
            click.echo(reports.junit_xml(reports.result_suites(results, place_of, failing)))
        case "sarif":
            click.echo(reports.sarif_json(tuple(reports.result_diagnostics(results, place_of))))
        case "github":
            if annotations := reports.github_annotations(reports.result_diagnostics(results, place_of)):
                click.echo(annotations)
        case _:
            show(result_lines(results), sys.stdout)


def _policies(paths: Sequence[str], unbound: str, params: str | None, now: datetime | None) -> tuple[PolicySet, tuple[str, ...]]:
    loaded = load_policies(paths or (bundled_policies(),), now=now)
    if not (loaded.validating or loaded.mutating or loaded.workload):
        raise PathError("no policy is there, so nothing would be judged: look at the path (-p)", path=", ".join(paths))
    policies = served_policies(loaded)
    if params:
        added = [manifest.object for manifest in load_manifests([params])]
        known = [obj for objects in policies.params.objects.values() for obj in objects]
        policies = replace(policies, params=ParamIndex.of([*known, *added]))
    notes = tuple(f"warning: {warning}" for warning in policies.warnings)
    policies, told = bound_or_not(policies, unbound)
    return policies, notes + told


def _check(
    manifests: Iterable[Manifest],
    policies: PolicySet,
    options: dict[str, Any],
    *,
    offline: Offline,
    custom: CustomKinds,
    brief: bool,
) -> list[Result]:
    checker = Checker(policies=policies, surroundings=offline.surroundings, situation=offline.situation, brief=brief)
    asker = asker_of(Operation(options["operation"]), options["user"], options["groups"])
    before = load_before(options["old"], offline.default_namespace) if options["old"] else None
    results: list[Result] = []
    for manifest in manifests:
        obj = in_namespace(manifest.object, offline.default_namespace)
        old = None if before is None else before.of(obj)
        complete = None
        if not options["raw"]:
            complete = DefaultsFiller(custom)
            old, obj = old and complete.fill(old), complete.fill(obj)
        results += checker.check(request_for(obj, asker, old=old), source=manifest.source, complete=complete)
    return results


def _skipped(results: Sequence[Result]) -> Iterator[str]:
    """Say which rules were not judged."""
    skipped = dict.fromkeys(
        result.finding.policy for result in results if result.finding.verdict is Verdict.SKIP and result.finding.policy
    )
    if skipped:
        yield f"warning: not judged, because the snapshot does not tell enough (see --snapshot): {', '.join(skipped)}"


def _unused(policies: PolicySet, results: Iterable[Result]) -> Iterator[str]:
    """Say which exceptions nothing of what was checked has needed."""
    used = {result.finding.exception.name for result in results if result.finding.exception}
    unused = [exception.name for exception in exceptions_of(policies) if exception.name not in used]
    if unused:
        yield f"note: exceptions that nothing here needed: {', '.join(unused)}"
