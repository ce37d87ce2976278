"""Text for people. Colour only on a terminal; ``NO_COLOR`` is honoured (rich does both)."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Sequence
from typing import IO

import yaml
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from webhook.errors import GangwardenError
from webhook.model.objects import Object
from webhook.model.results import Result
from webhook.reports.lines import (
    COLOURS,
    Line,
    indented,
    manifest_lines,
    note_lines,
    printable,
    printable_lines,
    result_lines,
    title,
    write_plainly,
)


class _Console(Console):
    """Leaves it to the command to say that its reader has left: rich ends the process with 1, which means findings."""

    def on_broken_pipe(self) -> None:
        """Fail as any other write does."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def terminal(*, stderr: bool = False) -> Console:
    """Return a console that never wraps and takes text as it is: output is grepped and piped as often as it is read."""
    return _Console(stderr=stderr, soft_wrap=True, highlight=False, emoji=False)


def terminal_on(stream: IO[str]) -> Console:
    """Return such a console for a stream."""
    return _Console(file=stream, soft_wrap=True, highlight=False, emoji=False)


def print_results(console: Console, results: Sequence[Result]) -> None:
    """Print one line per finding, grouped by manifest, and a closing count."""
    print_lines(console, result_lines(results))


def print_lines(console: Console, lines: Iterable[Line]) -> None:
    """Print lines with their styles, where the console has any."""
    if console.color_system is None:  # into a pipe or a log: what rich would do for thousands of lines is seconds for nothing
        write_plainly(lines, console.file)
        return
    for line in lines:
        console.print(Text.assemble(*line))


def print_review(console: Console, results: Sequence[Result]) -> None:
    """Print the findings of one manifest together with the patch and the objects that would be created."""
    print_lines(console, manifest_lines(results))
    for result in results:
        for operation in result.patch or ():
            value = f" {json.dumps(operation['value'], ensure_ascii=False)}" if "value" in operation else ""
            console.print(f"    [blue]patch[/blue]  {operation['op']} {plain(operation['path'])}{plain(value)}")
        for created in result.creates or ():
            console.print(f"    [blue]creates[/blue] {plain(title(created))}")
            console.print(plain_lines(indented(yaml.safe_dump(created.get("spec", {}), sort_keys=False), 12)))


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
        console.print(_line(row, widths, ("", COLOURS[results[0].finding.verdict], "", "")))


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print what should be known beside the results, one line each: ``warning: …`` or ``note: …``."""
    print_lines(console, note_lines(notes))


def print_error(console: Console, error: GangwardenError) -> None:
    """Print what is wrong and what to do next."""
    console.print(f"[bold red]error:[/bold red] {plain_lines(str(error))}")
    advice = error.advice()
    if advice:
        console.print(plain_lines(advice))


def _overview_row(results: Sequence[Result]) -> tuple[str, ...]:
    first = results[0]
    gangs = [_gang(created) for created in first.creates or () if created["kind"] == "PodGroup"]
    said_by = dict.fromkeys(result.finding.policy or result.finding.message for result in results if result.finding.message)
    cells = (title(first.object), first.finding.verdict.value, ", ".join(gangs), ", ".join(said_by))
    return tuple(printable_lines(printable(cell)) for cell in cells)


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> Text:
    line = Text()
    for cell, width, style in zip(cells, widths, styles, strict=True):
        line.append(cell, style).append(" " * (width - cell_len(cell) + 2))
    line.rstrip()
    return line


def _gang(pod_group: Object) -> str:
    gang = pod_group["spec"]["schedulingPolicy"].get("gang")
    return f"{gang['minCount']} at once" if gang else "basic"


def plain(text: str) -> str:
    """Return a part of one line that rich takes for nothing but text."""
    return escape(printable(text))


def plain_lines(text: str) -> str:
    """Return text of one or more lines that rich takes for nothing but text."""
    return escape(printable_lines(text))
