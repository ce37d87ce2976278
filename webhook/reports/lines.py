"""What is said to people, line by line, before it is known whether they read it on a terminal or through a pipe.

Into a pipe nothing of rich is needed, and it is a good part of what a short command spends; so rich is imported for terminals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import IO, TypeAlias

from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.results import Result, summary
from webhook.model.verdicts import Verdict

Line: TypeAlias = tuple[tuple[str, str], ...]
"""Parts of a line, each with its style."""
COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.DENY: "bold red",
    Verdict.WARN: "yellow",
    Verdict.AUDIT: "cyan",
    Verdict.ERROR: "bold magenta",
    Verdict.SKIP: "dim",
}
_STYLED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which somebody may ask for a terminal's output where there is none; rich reads them."""


def show(lines: Iterable[Line], stream: IO[str]) -> None:
    """Write lines, with styles where the stream is a terminal."""
    if stream.isatty() or any(os.environ.get(name) for name in _STYLED):
        from webhook.reports.styled import print_lines, terminal_on  # noqa: PLC0415 - brings rich

        print_lines(terminal_on(stream), lines)
    else:
        write_plainly(lines, stream)


def write_plainly(lines: Iterable[Line], stream: IO[str]) -> None:
    """Write the text of lines and nothing else."""
    stream.writelines("".join(text for text, _ in line) + "\n" for line in lines)


def result_lines(results: Sequence[Result]) -> Iterator[Line]:
    """Yield one line per finding, grouped by manifest, and a closing count."""
    yield from manifest_lines(results)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary(results).items() if count)
    yield ()
    yield ((counts or "nothing to check", ""),)


def manifest_lines(results: Sequence[Result]) -> Iterator[Line]:
    """Yield the findings of each manifest under its name."""
    for source, found in groupby(results, key=lambda result: result.source):
        yield from _lines(source, list(found))


def note_lines(notes: Iterable[str]) -> Iterator[Line]:
    """Yield what should be known beside the results, one line each: ``warning: …`` or ``note: …``."""
    for note in notes:
        word, _, rest = note.partition(":")
        yield (f"{printable(word)}:", "yellow"), (printable(rest), "")


def _lines(source: str, results: Sequence[Result]) -> Iterator[Line]:
    yield (printable(title(results[0].object)), "bold"), ("  ", ""), (printable(source), "dim")
    for result in results:
        finding = result.finding
        where = " ".join(part for part in (finding.policy, finding.rule and f"({finding.rule})") if part)
        first, *others = [printable(text) for text in (where, finding.message) if text] or [""]
        verdict = finding.verdict.value
        gap = " " * (7 - len(verdict)) if first.strip() else ""
        yield ("  ", ""), (verdict, COLOURS[finding.verdict]), (gap + first.rstrip(), "")
        for text in others:
            yield ((indented(text, 9), ""),)


def title(obj: Object) -> str:
    """Return kind, namespace and name of an object, as a line about it begins."""
    meta = metadata_of(obj)
    name = meta.get("name") or f"{meta.get('generateName', '')}*"
    return f"{Kind.of(obj).kind} {meta['namespace']}/{name}" if meta.get("namespace") else f"{Kind.of(obj).kind} {name}"


def indented(text: str, width: int) -> str:
    """Return text with every line moved to the right."""
    return "\n".join(" " * width + line for line in text.rstrip().splitlines())


def printable(text: str) -> str:
    """Return text without what would act on a terminal or cannot be encoded: names and messages come from strangers."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text)
