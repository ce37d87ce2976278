"""Text for people. Colour only on a terminal; ``NO_COLOR`` is honoured (rich does both)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from webhook.errors import GangwardenError
from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.results import Result, summary
from webhook.model.verdicts import Verdict

_COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.DENY: "bold red",
    Verdict.WARN: "yellow",
    Verdict.AUDIT: "cyan",
    Verdict.ERROR: "bold magenta",
    Verdict.SKIP: "dim",
}


def terminal(*, stderr: bool = False) -> Console:
    """Return a console that never wraps: output is grepped and piped as often as it is read."""
    return Console(stderr=stderr, soft_wrap=True, highlight=False)


def print_results(console: Console, results: Sequence[Result]) -> None:
    """Print one line per finding, grouped by manifest, and a closing count."""
    _print_findings(console, results)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary(results).items() if count)
    console.print(f"\n{counts or 'nothing to check'}")


def _print_findings(console: Console, results: Sequence[Result]) -> None:
    for source, found in groupby(results, key=lambda result: result.source):
        group = list(found)
        console.print(f"[bold]{escape(_title(group[0].object))}[/bold]  [dim]{escape(source)}[/dim]")
        for result in group:
            _print_finding(console, result)


def print_review(console: Console, results: Sequence[Result]) -> None:
    """Print the findings of one manifest together with the patch and the objects that would be created."""
    _print_findings(console, results)
    for result in results:
        for operation in result.patch or ():
            value = f" {json.dumps(operation['value'], ensure_ascii=False)}" if "value" in operation else ""
            console.print(f"    [blue]patch[/blue]  {operation['op']} {escape(operation['path'])}{escape(value)}")
        for created in result.creates or ():
            console.print(f"    [blue]creates[/blue] {escape(_title(created))}")
            console.print(escape(_indent(yaml.safe_dump(created.get("spec", {}), sort_keys=False), 12)))


def print_overview(console: Console, reviews: Sequence[Sequence[Result]]) -> None:
    """Print a table of manifests: what was said, which group each gets, and which policy had something to say."""
    table = Table(box=None, pad_edge=False)
    for heading in ("Manifest", "Verdict", "Group"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Said by", overflow="fold")
    for results in reviews:
        first = results[0]
        gangs = [_gang(created) for created in first.creates or () if created["kind"] == "PodGroup"]
        why = ", ".join(result.finding.policy or result.finding.message for result in results if result.finding.message)
        verdict, colour = first.finding.verdict, _COLOURS[first.finding.verdict]
        table.add_row(
            escape(_title(first.object)), f"[{colour}]{verdict.value}[/{colour}]", escape(", ".join(gangs)), escape(why)
        )
    console.print()
    console.print(table, soft_wrap=False)


def print_error(console: Console, error: GangwardenError) -> None:
    """Print what is wrong and what to do next."""
    console.print(f"[bold red]error:[/bold red] {escape(str(error))}")
    advice = error.advice()
    if advice:
        console.print(escape(advice))


def _print_finding(console: Console, result: Result) -> None:
    finding, colour = result.finding, _COLOURS[result.finding.verdict]
    where = " ".join(part for part in (finding.policy, finding.rule and f"({finding.rule})") if part)
    console.print(f"  [{colour}]{finding.verdict.value:<6}[/{colour}] {escape(where)}".rstrip())
    if finding.message:
        console.print(f"         {escape(finding.message)}")


def _gang(pod_group: Object) -> str:
    gang = pod_group["spec"]["schedulingPolicy"].get("gang")
    return f"{gang['minCount']} at once" if gang else "basic"


def _title(obj: Object) -> str:
    meta = metadata_of(obj)
    name = meta.get("name") or f"{meta.get('generateName', '')}*"
    return f"{Kind.of(obj).kind} {meta['namespace']}/{name}" if meta.get("namespace") else f"{Kind.of(obj).kind} {name}"


def _indent(text: str, width: int) -> str:
    return "\n".join(" " * width + line for line in text.rstrip().splitlines())
