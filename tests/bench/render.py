"""A report as text for the terminal, as Markdown for readers and as JSON for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from datetime import datetime

from tests.bench.figures import Comparison, Fact, Report, Section, median, p90

HOW_TO_READ = """\
Every ratio is ours over the anchor's, of medians; both sides took turns in the same run, so a busy moment hits both.
Below 1 we are cheaper, above 1 dearer. Absolute figures depend on the machine and its load and may be compared only
within this page. p90: nine of ten runs were at most that. CPU figures are CPU time, not time on the clock. Nothing on
this page is asserted by a test; `make bench` writes it anew, and `bench.json` holds every single value."""


def shown(value: float) -> str:
    """Return a figure with three significant digits and no exponent."""
    if value == 0 or value == float("inf"):
        return f"{value:g}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.6f}"


def to_json(report: Report) -> str:
    """Return everything, single values included."""
    document = dataclasses.asdict(report) | {"at": report.at.isoformat(timespec="seconds")}
    for section, found in zip(document["sections"], report.sections, strict=True):
        for entry, comparison in zip(section["comparisons"], found.comparisons, strict=True):
            entry["ratio"] = round(comparison.ratio, 4)
    return json.dumps(_rounded(document), indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Report:
    """Read what ``to_json`` wrote."""
    document = json.loads(text)
    sections = []
    for section in document.pop("sections"):
        comparisons = [{key: value for key, value in each.items() if key != "ratio"} for each in section.pop("comparisons")]
        facts = section.pop("facts")
        sections.append(
            Section(
                **section,
                comparisons=tuple(
                    Comparison(**{**each, "ours": tuple(each["ours"]), "anchor": tuple(each["anchor"])}) for each in comparisons
                ),
                facts=tuple(Fact(**{**each, "values": tuple(each["values"])}) for each in facts),
            )
        )
    return Report(**document | {"at": datetime.fromisoformat(document["at"])}, sections=tuple(sections))


def merged(report: Report, newer: Report) -> Report:
    """Return a report in which the sections of a newer one stand in the place of theirs, each with its own date."""
    said = f"{newer.at:%Y-%m-%d %H:%M} UTC, load {newer.load:.1f} before the run"
    fresh = {section.title: dataclasses.replace(section, apart=said) for section in newer.sections}
    kept = [fresh.pop(section.title, section) for section in report.sections]
    return dataclasses.replace(report, sections=(*kept, *fresh.values()))


def to_markdown(report: Report) -> str:
    """Return the page for ``docs/results``."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    head = (
        "# Bench",
        "",
        f"{report.at:%Y-%m-%d %H:%M} UTC, {report.cores} cores, load {report.load:.1f} before the run, "
        f"{report.seconds / 60:.1f} minutes.",
        f"{versions}.",
        "",
        HOW_TO_READ,
    )
    return "\n".join([*head, *(line for section in report.sections for line in _markdown(section))]) + "\n"


def to_text(section: Section) -> str:
    """Return one measurement for the terminal."""
    lines = [section.title]
    if section.skipped:
        return f"{section.title}\n  skipped: {section.skipped}"
    lines += [f"  {line}" for line in _aligned(_comparison_rows(section))]
    lines += [f"  {fact.what}: {_spread(fact)}" for fact in section.facts]
    return "\n".join(lines)


def _markdown(section: Section) -> Iterable[str]:
    yield from ("", f"## {section.title}", "", section.method)
    if section.apart:
        yield from ("", f"Measured on its own: {section.apart}.")
    if section.skipped:
        yield from ("", f"Skipped: {section.skipped}.")
    if section.comparisons:
        head, *rows = _comparison_rows(section)
        yield from ("", _row(head), _row(["---"] + ["---:"] * (len(head) - 1)), *(_row(row) for row in rows))
    if section.facts:
        yield ""
        yield from (f"- {fact.what}: {_spread(fact)}" for fact in section.facts)


def _comparison_rows(section: Section) -> list[list[str]]:
    if not section.comparisons:
        return []
    head = ["", "unit", section.ours, "p90", section.anchor, "p90", "ratio"]
    return [head, *(_cells(each) for each in section.comparisons)]


def _cells(found: Comparison) -> list[str]:
    sides = (shown(figure(side)) for side in (found.ours, found.anchor) for figure in (median, p90))
    return [found.what, found.unit, *sides, f"**{shown(found.ratio)}**"]


def _spread(fact: Fact) -> str:
    if len(fact.values) == 1:
        return f"{shown(fact.values[0])} {fact.unit}"
    return f"{shown(median(fact.values))} {fact.unit} (p90 {shown(p90(fact.values))})"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _aligned(rows: list[list[str]]) -> list[str]:
    rows = [[cell.strip("*") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _rounded(value: object) -> object:
    """Return the value with four significant digits in every float: the rest is noise, and noise makes large diffs."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
