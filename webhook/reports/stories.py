"""The story of a group for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from webhook.model.stories import Diagnosis, Entry, Story
from webhook.reports.lines import Line, printable
from webhook.reports.machine import API_VERSION, json_text

_MOST_NAMES = 3


def story_json(story: Story) -> str:
    """Return the document of ``explain -o json``."""
    return json_text({"apiVersion": API_VERSION, "kind": "Explanation", **story.as_json()}, indent=2)


def story_lines(story: Story) -> Iterator[Line]:
    """Yield the cause and the next step, then what happened, oldest first."""
    yield (printable(story.about), "bold"), (_belonging(story), "dim")
    for one in story.groups:
        yield from _diagnosis_lines(one, alone=len(story.groups) == 1)
    if story.entries:
        yield ()
        yield (("Timeline", "bold"), (" (UTC)", "dim"))
        if story.left_out:
            yield ((f"  {story.left_out} older entries are left out", "dim"),)
    for entry in story.entries:
        yield _entry_line(entry)


def _belonging(story: Story) -> str:
    of = f"  of {story.workload}" if story.workload and story.workload != story.about else ""
    return printable(of)


def _diagnosis_lines(one: Diagnosis, *, alone: bool) -> Iterator[Line]:
    named = f"PodGroup {one.pod_group}" if one.pod_group else "no group"
    state = f"{one.state}: " if one.state else ""
    style = "bold red" if one.is_finding else "green"
    yield ((f"  {printable(named)}  ", "" if alone else "bold"), (f"{state}{one.code}", style))
    yield ((f"    {printable(one.cause)}", ""),)
    yield ("    Next: ", "cyan"), (printable(one.next_step), "")


def _entry_line(entry: Entry) -> Line:
    at = entry.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    text = f": {printable(entry.text)}" if entry.text else ""
    style = "yellow" if entry.source == "event" else ""
    return (f"  {at}  ", "dim"), (printable(_names(entry.about)), ""), ("  ", ""), (printable(entry.what), style), (text, "")


def _names(about: tuple[str, ...]) -> str:
    shown = ", ".join(about[:_MOST_NAMES])
    return f"{shown} and {len(about) - _MOST_NAMES} more" if len(about) > _MOST_NAMES else shown
