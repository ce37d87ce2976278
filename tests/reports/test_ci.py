"""The formats of CI systems: what they show is what was found, whatever a stranger wrote into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from webhook.model.diagnostics import Diagnostic, Level
from webhook.reports import JUnitCase, JUnitSuite, diagnostic_suites, github_annotations, junit_xml, sarif_json


def found(**changes: Any) -> Diagnostic:
    given = {"level": Level.ERROR, "rule": "absent-field", "message": "use has().", "file": "a b/policy.yaml"}
    return Diagnostic(**(given | changes))


def test_an_annotation_names_level_place_and_rule() -> None:
    levels = [found(line=3, column=7, subject="gang"), found(level=Level.WARNING, line=4), found(level=Level.NOTE)]
    assert github_annotations(levels).splitlines() == [
        "::error file=a b/policy.yaml,line=3,col=7,title=absent-field%3A gang::use has().",
        "::warning file=a b/policy.yaml,line=4,title=absent-field::use has().",
        "::notice file=a b/policy.yaml,title=absent-field::use has().",
    ]


def test_no_text_starts_a_workflow_command_of_its_own() -> None:
    hostile = found(message="100 %\r\n::set-env name=A::b", file="x,line=1::y", subject="a\n::stop-commands::t")
    assert github_annotations([hostile]) == (
        "::error file=x%2Cline=1%3A%3Ay,title=absent-field%3A a%0A%3A%3Astop-commands%3A%3At::100 %25%0D%0A::set-env name=A::b"
    )


def test_a_file_whose_name_is_no_utf8_is_reported_all_the_same() -> None:
    odd = found(file="a\udcff.yaml")
    assert github_annotations([odd]).encode() == b"::error file=a?.yaml,title=absent-field::use has()."
    (run,) = json.loads(sarif_json([odd]))["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%FF.yaml"


def test_a_sarif_result_points_to_its_rule_and_place() -> None:
    log = json.loads(sarif_json([found(line=3, column=7, subject="gang"), found(rule="other")], {"absent-field": "Fields."}))
    (run,) = log["runs"]
    assert (log["version"], run["columnKind"]) == ("2.1.0", "unicodeCodePoints")
    assert run["tool"]["driver"]["rules"] == [
        {"id": "absent-field", "shortDescription": {"text": "Fields."}},
        {"id": "other"},
    ]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"], first["message"]) == (
        "absent-field", 0, "error", {"text": "use has()."},
    )  # fmt: skip
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a%20b/policy.yaml"},
                "region": {"startLine": 3, "startColumn": 7},
            },
            "logicalLocations": [{"fullyQualifiedName": "gang"}],
        }
    ]
    assert second["ruleIndex"] == 1
    assert "region" not in second["locations"][0]["physicalLocation"]


def test_sarif_has_no_location_where_there_is_none_and_a_file_uri_for_an_absolute_path(tmp_path: Path) -> None:
    log = json.loads(sarif_json([found(file=""), found(file=str(tmp_path / "p.yaml"))]))
    bare, absolute = log["runs"][0]["results"]
    assert "locations" not in bare
    assert absolute["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (tmp_path / "p.yaml").as_uri()


def test_junit_counts_and_tells_what_failed() -> None:
    cases = (
        JUnitCase(name="passes", file="cases.yaml", line=3),
        JUnitCase(name="fails", failure="expected deny\n  got allow"),
        JUnitCase(name="waits", skipped="no snapshot"),
    )
    root = ElementTree.fromstring(junit_xml([JUnitSuite(name="gang", cases=cases)]).encode())
    (suite,) = root
    counts = {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    assert root.attrib == {"name": "gangwarden", **counts}
    assert suite.attrib == {"name": "gang", **counts}
    assert suite[0].attrib == {"classname": "gang", "name": "passes", "file": "cases.yaml", "line": "3"}
    (failure,) = suite[1]
    assert (failure.get("message"), failure.text) == ("expected deny", "expected deny\n  got allow")
    assert [child.tag for child in suite[2]] == ["skipped"]


def test_junit_survives_text_that_xml_cannot_hold() -> None:
    hostile = 'a <b> & "c"\x1b[31m\x00\ud800 ]]>'
    (suite,) = ElementTree.fromstring(
        junit_xml([JUnitSuite(name=hostile, cases=(JUnitCase(name="x", failure=hostile),))]).encode()
    )
    assert suite[0][0].text == 'a <b> & "c"\ufffd[31m\ufffd\ufffd ]]>'


def test_a_file_without_findings_passes_in_junit() -> None:
    told = [found(file="a.yaml", line=2), found(file="b.yaml", level=Level.NOTE)]
    suites = diagnostic_suites(told, ["a.yaml", "b.yaml", "c.yaml"])
    assert [(suite.name, [bool(case.failure) for case in suite.cases]) for suite in suites] == [
        ("a.yaml", [True]),
        ("b.yaml", [False]),
        ("c.yaml", [False]),
    ]


def closed(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


TEXT, COUNT = {"type": "string"}, {"type": "integer", "minimum": 1}
MESSAGE = closed("text", text=TEXT)
SARIF = closed(
    "version runs",
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "items": closed(
            "tool",
            tool=closed(
                "driver",
                driver=closed(
                    "name",
                    name=TEXT,
                    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
                    rules={"uniqueItems": True, "items": closed("id", id=TEXT, shortDescription=MESSAGE)},
                ),
            ),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results={
                "items": closed(
                    "message",
                    ruleId=TEXT,
                    ruleIndex={"type": "integer", "minimum": -1},
                    level={"enum": ["none", "note", "warning", "error"]},
                    message=MESSAGE,
                    locations={
                        "items": closed(
                            "",
                            physicalLocation=closed(
                                "artifactLocation",
                                artifactLocation=closed("", uri={"type": "string", "pattern": r"^[!-~]*$"}),
                                region=closed("", startLine=COUNT, startColumn=COUNT),
                            ),
                            logicalLocations={"uniqueItems": True, "items": closed("", fullyQualifiedName=TEXT)},
                        )
                    },
                )
            },
        )
    },
)
"""Of the schema of OASIS for SARIF 2.1.0 what we write, with all that it requires there."""


@pytest.mark.parametrize(
    "diagnostics",
    [
        (),
        (found(),),
        (found(line=3), found(line=3, column=1, subject="gang"), found(level=Level.WARNING), found(level=Level.NOTE, file="")),
        (found(file="/tmp/a b#c?.yaml", message="", subject="größe"),),
    ],
    ids=len,
)
def test_sarif_is_what_the_standard_says(diagnostics: tuple[Diagnostic, ...]) -> None:
    log = json.loads(sarif_json(diagnostics, {"absent-field": "Fields.", "bare": ""}))
    assert [error.message for error in jsonschema.Draft7Validator(SARIF).iter_errors(log)] == []
