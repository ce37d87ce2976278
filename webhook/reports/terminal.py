"""Text for people. Colour only on a terminal; ``NO_COLOR`` is honoured (rich does both)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import yaml
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from webhook.errors import GangwardenError
from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.results import Result, summary
from webhook.model.verdicts import Verdict

Line: TypeAlias = tuple[tuple[str, str], ...]
"""Parts of a line, each with its style."""
_COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.DENY: "bold red",
    Verdict.WARN: "yellow",
    Verdict.AUDIT: "cyan",
    Verdict.ERROR: "bold magenta",
    Verdict.SKIP: "dim",
}


def terminal(*, stderr: bool = False) -> Console:
    """Return a console that never wraps and takes text as it is: output is grepped and piped as often as it is read."""
    return Console(stderr=stderr, soft_wrap=True, highlight=False, emoji=False)


def print_results(console: Console, results: Sequence[Result]) -> None:
    """Print one line per finding, grouped by manifest, and a closing count."""
    _print_manifests(console, results)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary(results).items() if count)
    console.print(f"\n{counts or 'nothing to check'}")


def print_review(console: Console, results: Sequence[Result]) -> None:
    """Print the findings of one manifest together with the patch and the objects that would be created."""
    _print_manifests(console, results)
    for result in results:
        for operation in result.patch or ():
            value = f" {json.dumps(operation['value'], ensure_ascii=False)}" if "value" in operation else ""
            console.print(f"    [blue]patch[/blue]  {operation['op']} {plain(operation['path'])}{plain(value)}")
        for created in result.creates or ():
            console.print(f"    [blue]creates[/blue] {plain(title(created))}")
            console.print(plain(indented(yaml.safe_dump(created.get("spec", {}), sort_keys=False), 12)))


def print_overview(console: Console, reviews: Sequence[Sequence[Result]]) -> None:
    """Print a table of manifests: what was said, which group each gets, and which policy had something to say.

    Columns are as wide as they must be: a verdict that is cut off at the edge of a log is none.
    """
    heading = ("Manifest", "Verdict", "Group", "Said by")
    rows = [_overview_row(results) for results in reviews]
    widths = [max(cell_len(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    console.print()
    console.print(_line(heading, widths, ("bold",) * len(heading)))
    for row, results in zip(rows, reviews, strict=True):
        console.print(_line(row, widths, ("", _COLOURS[results[0].finding.verdict], "", "")))


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print what should be known beside the results, one line each: ``warning: …`` or ``note: …``."""
    for note in notes:
        word, _, rest = note.partition(":")
        console.print(f"[yellow]{plain(word)}:[/yellow]{plain(rest)}")


def print_error(console: Console, error: GangwardenError) -> None:
    """Print what is wrong and what to do next."""
    console.print(f"[bold red]error:[/bold red] {plain(str(error))}")
    advice = error.advice()
    if advice:
        console.print(plain(advice))


def _print_manifests(console: Console, results: Sequence[Result]) -> None:
    lines = (line for source, found in groupby(results, key=lambda result: result.source) for line in _lines(source, list(found)))
    if console.color_system is None:  # into a pipe or a log: what rich would do for thousands of lines is seconds for nothing
        console.file.writelines("".join(text for text, _ in line) + "\n" for line in lines)
        return
    for line in lines:
        console.print(Text.assemble(*line))


def _lines(source: str, results: Sequence[Result]) -> Iterator[Line]:
    yield (_printable(title(results[0].object)), "bold"), ("  ", ""), (_printable(source), "dim")
    for result in results:
        finding = result.finding
        where = " ".join(part for part in (finding.policy, finding.rule and f"({finding.rule})") if part)
        first, *others = [_printable(text) for text in (where, finding.message) if text] or [""]
        verdict = finding.verdict.value
        gap = " " * (7 - len(verdict)) if first.strip() else ""
        yield ("  ", ""), (verdict, _COLOURS[finding.verdict]), (gap + first.rstrip(), "")
        for text in others:
            yield ((indented(text, 9), ""),)


def _overview_row(results: Sequence[Result]) -> tuple[str, ...]:
    first = results[0]
    gangs = [_gang(created) for created in first.creates or () if created["kind"] == "PodGroup"]
    said_by = dict.fromkeys(result.finding.policy or result.finding.message for result in results if result.finding.message)
    cells = (title(first.object), first.finding.verdict.value, ", ".join(gangs), ", ".join(said_by))
    return tuple(map(_printable, cells))


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> Text:
    line = Text()
    for cell, width, style in zip(cells, widths, styles, strict=True):
        line.append(cell, style).append(" " * (width - cell_len(cell) + 2))
    line.rstrip()
    return line


def _gang(pod_group: Object) -> str:
    gang = pod_group["spec"]["schedulingPolicy"].get("gang")
    return f"{gang['minCount']} at once" if gang else "basic"


def title(obj: Object) -> str:
    """Return kind, namespace and name of an object, as a line about it begins."""
    meta = metadata_of(obj)
    name = meta.get("name") or f"{meta.get('generateName', '')}*"
    return f"{Kind.of(obj).kind} {meta['namespace']}/{name}" if meta.get("namespace") else f"{Kind.of(obj).kind} {name}"


def indented(text: str, width: int) -> str:
    """Return text with every line moved to the right."""
    return "\n".join(" " * width + line for line in text.rstrip().splitlines())


def plain(text: str) -> str:
    """Return text that rich takes for nothing but text."""
    return escape(_printable(text))


def _printable(text: str) -> str:
    """Return text without what would act on a terminal or cannot be encoded: names and messages come from strangers."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text)
