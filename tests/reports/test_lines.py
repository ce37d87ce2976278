"""Text for people and logs: what a stranger wrote stays in its place."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from webhook.errors import InputError
from webhook.model.objects import Object
from webhook.model.results import Result
from webhook.model.verdicts import Finding, Verdict
from webhook.reports import note_lines, print_error, print_overview, print_review, result_lines, show

FORGED = "a\n  allow  other.example.com\r\x1b[2K\u2028b"
COMMAND = "::stop-commands::x"


def result(kind: str, name: str, message: str = "no") -> Result:
    obj: Object = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": name}}
    return Result(source="m.yaml#0", object=obj, finding=Finding(policy="p", verdict=Verdict.DENY, message=message))


def text_of(*results: Result) -> str:
    written = StringIO()
    show(result_lines(results), written)
    return written.getvalue()


def test_a_name_with_a_line_break_forges_no_line() -> None:
    written = text_of(result("Job", FORGED))
    assert written.splitlines()[1:3] == ["  deny   p", "         no"]
    assert r"Job a\n  allow  other.example.com\r\x1b[2K\u2028b/a\n" in written.splitlines()[0]


def test_a_note_is_one_line() -> None:
    written = StringIO()
    show(note_lines([f"warning: {FORGED} is odd"]), written)
    assert written.getvalue().count("\n") == 1


@pytest.mark.parametrize("text", [COMMAND, f"first\n  {COMMAND}", "a\n##[error]b"])
def test_no_line_of_a_message_is_a_command_to_the_runner(text: str) -> None:
    lines = text_of(result("Job", "train", text)).splitlines()
    assert lines[2].strip() in (f"\\{COMMAND}", "first", "a")
    assert [line for line in lines if line.strip().startswith(("::", "##"))] == []


def test_no_kind_is_a_command_to_the_runner() -> None:
    written = StringIO()
    forged = [result(f"{COMMAND}", "train")]
    console = Console(file=written, width=200)
    print_review(console, forged)
    print_overview(console, [forged])
    print_error(console, InputError(f"odd\n{COMMAND}", source="m.yaml"))
    assert [line for line in written.getvalue().splitlines() if line.strip().startswith("::")] == []
    assert text_of(*forged).startswith(f"\\{COMMAND} train/train")
