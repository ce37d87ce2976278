"""Statistics and pages of a report; the measurements themselves are never asserted."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime

import pytest

from tests.bench.figures import Comparison, Fact, Report, Section, p90, ratio
from tests.bench.render import from_json, merged, shown, to_json, to_markdown, to_text

FASTER = Comparison(what="reading", unit="us", ours=(1.0, 2.0, 9.0), anchor=(4.0, 4.0, 5.0))
MEASURED = Section(
    title="Reading",
    method="How it was done.",
    ours="ours",
    anchor="json",
    comparisons=(FASTER,),
    facts=(Fact(what="memory", unit="KiB", values=(848.0,)), Fact(what="load", unit="ms", values=(1.0, 3.0, 2.0))),
)
SKIPPED = Section(title="Writing", method="Not at all.", skipped="there is no pen")
REPORT = Report(
    at=datetime(2027, 3, 1, 12, 30, tzinfo=UTC),
    cores=2,
    load=0.25,
    seconds=90.0,
    versions={"Python": "3.11.7"},
    sections=(MEASURED, SKIPPED),
)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [((7.0,), 7.0), (tuple(range(1, 11)), 9), (tuple(range(1, 21)), 18), ((3.0, 1.0, 2.0), 3.0)],
)
def test_nine_of_ten_values_are_at_most_the_p90(values, wanted):
    assert p90(values) == wanted


def test_a_ratio_is_one_of_medians():
    assert FASTER.ratio == 0.5
    assert ratio(1.0, 0.0) == float("inf")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.0, "0"),
        (0.00042, "0.000420"),
        (0.1234, "0.123"),
        (12.34, "12.3"),
        (99.94, "99.9"),
        (1234.5, "1,234"),
        (float("inf"), "inf"),
    ],
)
def test_figures_are_short_and_have_no_exponent(value, wanted):
    assert shown(value) == wanted


def test_the_page_says_when_where_how_and_what():
    page = to_markdown(REPORT)
    assert "2027-03-01 12:30 UTC, 2 cores, load 0.2 before the run, 1.5 minutes." in page
    assert "Python 3.11.7." in page
    assert "## Reading\n\nHow it was done.\n" in page
    assert "| reading | us | 2 | 9 | 4 | 5 | **0.5** |" in page
    assert "- memory: 848 KiB\n- load: 2 ms (p90 3)" in page


def test_what_was_skipped_says_why():
    assert "Skipped: there is no pen." in to_markdown(REPORT)
    assert to_text(SKIPPED) == "Writing\n  skipped: there is no pen"


def test_the_terminal_gets_aligned_columns():
    _, head, row, *facts = to_text(MEASURED).splitlines()
    assert head.index("json") == row.index("4")
    assert facts == ["  memory: 848 KiB", "  load: 2 ms (p90 3)"]


def test_every_single_value_is_in_the_json():
    document = json.loads(to_json(REPORT))
    (comparison,) = document["sections"][0]["comparisons"]
    values = {"ours": [1.0, 2.0, 9.0], "anchor": [4.0, 4.0, 5.0]}
    assert comparison == {"what": "reading", "unit": "us", **values, "paired": False, "ratio": 0.5}
    assert document["at"] == "2027-03-01T12:30:00+00:00"


def test_rounds_in_pairs_are_compared_one_by_one() -> None:
    paired = Comparison(what="serving", unit="ms", ours=(1.0, 9.0, 2.0), anchor=(2.0, 3.0, 8.0), paired=True)
    assert paired.ratio == 0.5
    assert dataclasses.replace(paired, paired=False).ratio == pytest.approx(2 / 3)


def test_a_report_is_read_back_as_it_was_written() -> None:
    assert from_json(to_json(REPORT)) == REPORT


def test_newer_sections_take_the_place_of_theirs() -> None:
    again = dataclasses.replace(MEASURED, method="Differently.")
    added = Section(title="Serving", method="Over TLS.")
    newer = dataclasses.replace(REPORT, at=datetime(2027, 4, 1, 8, 0, tzinfo=UTC), load=3.0, sections=(added, again))
    both = merged(REPORT, newer)
    assert [section.title for section in both.sections] == ["Reading", "Writing", "Serving"]
    assert (both.at, both.sections[0].method, both.sections[1]) == (REPORT.at, "Differently.", SKIPPED)
    assert "Measured on its own: 2027-04-01 08:00 UTC, load 3.0 before the run." in to_markdown(both)
