"""``gangwarden check``: manifests judged offline, through the engine that serves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from webhook.admission import (
    Asker,
    Checker,
    ParamIndex,
    PolicySet,
    apply_defaults,
    bind_unbound,
    in_namespace,
    is_finding,
    request_for,
    served_policies,
)
from webhook.cli.offline import Offline, load_offline
from webhook.errors import UsageError
from webhook.model.objects import Object
from webhook.model.requests import Operation, UserInfo
from webhook.model.results import Result
from webhook.model.verdicts import Verdict
from webhook.policies import Manifest, SourceFile, bundled_policies, load_manifests, load_policies, read_manifests
from webhook.reports import print_results, results_json, terminal

STANDARD_INPUT = "-"


@click.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("-p", "--policies", multiple=True, metavar="PATH", help="Policy files or folders; the shipped ones by default.")
@click.option("--snapshot", multiple=True, metavar="PATH", help="The cluster: v1 Lists and one Capabilities document.")
@click.option("--params", metavar="FILE", help="Further objects that policies use as params.")
@click.option("--namespace-object", metavar="FILE", help="The Namespace of the manifests.")
@click.option("--operation", type=click.Choice([o.value for o in Operation]), default="CREATE", show_default=True)
@click.option("--old", metavar="FILE", help="The object before an UPDATE.")
@click.option(
    "--unbound",
    type=click.Choice(["deny", "skip"]),
    default="deny",
    show_default=True,
    help="What a policy without a binding does; in the API server it does nothing.",
)
@click.option("--raw", is_flag=True, help="Do not apply the API's defaults first.")
@click.option("--user", default="", metavar="NAME", help="Who asks; an administrator by default.")
@click.option("--group", "groups", multiple=True, metavar="G", help="A group of who asks.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(["deny", "warn"]),
    default="deny",
    show_default=True,
    help="From which verdict on to exit with 1.",
)
def check_command(paths: tuple[str, ...], output: str, fail_on: str, **options: Any) -> None:
    """Judge manifests (files, folders or - for standard input) offline, with the verdicts of the API server."""
    policies, notes = _policies(options["policies"], options["unbound"], options["params"])
    results = _check(paths, policies, options)
    if output == "json":
        click.echo(results_json(results))
    else:
        print_results(terminal(), results)
    for note in notes:
        click.echo(note, err=True)
    failing = (Verdict.DENY,) if fail_on == "deny" else (Verdict.DENY, Verdict.WARN)
    sys.exit(1 if any(is_finding(result, failing) for result in results) else 0)


def _policies(paths: Sequence[str], unbound: str, params: str | None) -> tuple[PolicySet, tuple[str, ...]]:
    policies = served_policies(load_policies(paths or (bundled_policies(),)))
    if params:
        added = [manifest.object for manifest in load_manifests([params])]
        known = [obj for objects in policies.params.objects.values() for obj in objects]
        policies = replace(policies, params=ParamIndex.of([*known, *added]))
    notes = tuple(f"warning: {warning}" for warning in policies.warnings)
    if unbound == "deny":
        names = [p.head.source.name for p, bindings in policies.validating if not bindings]
        names += [bound.policy.name for bound in policies.workload if not bound.bindings]
        if names:
            notes += (f"note: without a binding, and taken as denying everywhere (--unbound=deny): {', '.join(names)}",)
        policies = bind_unbound(policies)
    return policies, notes


def _check(paths: Sequence[str], policies: PolicySet, options: dict[str, Any]) -> list[Result]:
    offline = load_offline(options["snapshot"], policies, namespace_object=options["namespace_object"])
    checker = Checker(policies=policies, surroundings=offline.surroundings, situation=offline.situation)
    asker = Asker(operation=Operation(options["operation"]))
    if options["user"] or options["groups"]:
        asker = replace(asker, user=UserInfo(username=options["user"], groups=tuple(options["groups"])))
    old = _old(options["old"], asker.operation)
    results: list[Result] = []
    for manifest in _manifests(paths):
        obj = _judged(manifest.object, offline, raw=options["raw"])
        before = None if old is None else _judged(old, offline, raw=options["raw"])
        results += checker.check(request_for(obj, asker, old=before), source=manifest.source)
    return results


def _manifests(paths: Sequence[str]) -> Iterator[Manifest]:
    for path in paths:
        if path == STANDARD_INPUT:
            yield from read_manifests(SourceFile("<stdin>", sys.stdin.buffer.read()))
        else:
            yield from load_manifests([path])


def _judged(obj: Object, offline: Offline, *, raw: bool) -> Object:
    placed = in_namespace(obj, offline.default_namespace)
    return placed if raw else apply_defaults(placed)


def _old(path: str | None, operation: Operation) -> Object | None:
    if path is None:
        if operation is Operation.UPDATE:
            raise UsageError("--operation UPDATE needs --old FILE, the object before the change")
        return None
    found = [manifest.object for manifest in load_manifests([Path(path)])]
    if len(found) != 1:
        raise UsageError(f"--old {path} must hold one object, it holds {len(found)}")
    return found[0]
