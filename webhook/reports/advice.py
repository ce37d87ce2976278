"""What lint found, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from webhook.model.diagnostics import Diagnostic, Level
from webhook.reports.machine import API_VERSION, json_text
from webhook.reports.styled import plain, plain_lines

_COLOURS = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
_WIDEST = 160
"""Longest line of a file that is shown under a finding; of longer ones a part."""


def print_diagnostics(console: Console, diagnostics: Sequence[Diagnostic], lines: Mapping[str, Sequence[str]]) -> None:
    """Print each finding with its place, and the line of the file with a caret; ``lines`` has the files."""
    for found in diagnostics:
        place = ":".join(str(part) for part in (found.file, found.line, found.column) if part)
        about = f"{found.subject}: " if found.subject and not found.column else ""
        console.print(
            f"[bold]{plain(place)}[/bold]: [{_COLOURS[found.level]}]{found.level}[/]: {plain_lines(about + found.message)} "
            f"[dim]{plain(f'[{found.rule}]')}[/dim]"
        )
        if found.column:
            _print_excerpt(console, found, lines.get(found.file, ()))


def print_diagnostic_counts(console: Console, diagnostics: Sequence[Diagnostic], files: int) -> None:
    """Print how much was found, in how many files."""
    counts = Counter(found.level for found in diagnostics)
    parts = [f"{counts[level]} {level}{'s' * (counts[level] != 1)}" for level in Level if counts[level]]
    console.print(f"{', '.join(parts) or 'nothing found'} in {files} file{'s' * (files != 1)}")


def print_costs(console: Console, costs: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each expression: its place, what it cost at most, and on what."""
    width = max((len(f"{cost['cost']:,}") for cost in costs), default=0)
    for cost in costs:
        place = f"{cost['file']}:{cost['line']}:{cost['column']}"
        what = f"{cost['policy']} {cost['field']}"
        example = " (on a made-up object)" if cost["madeUp"] else ""
        console.print(f"{cost['cost']:>{width},} units  {plain(place)}  {plain(what)}{example}")


def diagnostics_json(diagnostics: Sequence[Diagnostic], **more: Iterable[Mapping[str, Any]]) -> str:
    """Return the document of ``lint -o json``; ``more`` are further lists of it."""
    counts = Counter(found.level for found in diagnostics)
    document = {
        "apiVersion": API_VERSION,
        "kind": "LintResult",
        "diagnostics": [_as_json(found) for found in diagnostics],
        **{name: list(entries) for name, entries in more.items()},
        "summary": {level.value: counts[level] for level in Level},
    }
    return json_text(document, indent=2)


def _as_json(found: Diagnostic) -> dict[str, Any]:
    return {
        "level": found.level.value,
        "rule": found.rule,
        "message": found.message,
        "file": found.file,
        "line": found.line,
        "column": found.column,
        "subject": found.subject,
    }


def _print_excerpt(console: Console, found: Diagnostic, lines: Sequence[str]) -> None:
    if not 0 < found.line <= len(lines):
        return
    line, column = lines[found.line - 1].replace("\t", " "), found.column - 1
    start = max(column - _WIDEST // 2, 0) if len(line) > _WIDEST else 0
    console.print(f"  [dim]|[/dim] {plain(line[start : start + _WIDEST].rstrip())}")
    console.print(f"  [dim]|[/dim] {' ' * (column - start)}[{_COLOURS[found.level]}]^[/]")
