"""What is said to people, line by line, before it is known whether they read it on a terminal or through a pipe.

Into a pipe nothing of rich is needed, and it is a good part of what a short command spends; so rich is imported for terminals.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import IO, TypeAlias

from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.results import Result, summary
from webhook.model.verdicts import Verdict
from webhook.reports.concealing import concealed

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
_COMMAND = re.compile(r"^([^\S\n]*)(::|##)", re.MULTILINE)
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
    for source, found in groupby(concealed(results), key=lambda result: result.source):
        yield from _lines(source, list(found))


def note_lines(notes: Iterable[str]) -> Iterator[Line]:
    """Yield what should be known beside the results, one line each: ``warning: …`` or ``note: …``."""
    for note in notes:
        word, _, rest = note.partition(":")
        yield (f"{printable(word)}:", "yellow"), (printable(rest), "")


def _lines(source: str, results: Sequence[Result]) -> Iterator[Line]:
    yield (printable_lines(printable(title(results[0].object))), "bold"), ("  ", ""), (printable(source), "dim")
    for result in results:
        finding = result.finding
        where = " ".join(part for part in (finding.policy, finding.rule and f"({finding.rule})") if part)
        said = printable_lines(finding.message)
        first, *others = [text for text in (printable(where), said) if text] or [""]
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
    """Return text as a part of one line, without what would act on a terminal or cannot be encoded.

    Names and messages come from strangers: one with a line break in it must not become two lines, of which the second lies.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """Return text that may have several lines, none of which a CI system takes for a command to itself.

    Such commands are ``::error::…`` and ``##[…]``, and the runners of GitHub and Azure read them after blanks, too.
    """
    if text.isprintable():  # then it is one line
        return _COMMAND.sub(r"\1\\\2", text)
    return _COMMAND.sub(r"\1\\\2", "\n".join(map(printable, text.split("\n"))))


def _shown(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()
