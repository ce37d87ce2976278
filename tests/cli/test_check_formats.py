"""``check`` for CI systems: each finding at its line, and only what fails the command is a failure."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: team-a}
spec:
  parallelism: %d
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: train}]}}
"""


@pytest.fixture
def judged(write: Write) -> tuple[str, ...]:
    """The command line for a Job that is allowed and one that is denied in one file, with a warning for both."""
    deny = validating(validations=[{"expression": "object.spec.parallelism <= 8", "message": "at most 8, 100 % sure"}])
    write("policy.yaml", deny, binding(), validating("hints", "false"), binding("hints", "hints", validationActions=["Warn"]))
    write("jobs.yaml", f"{JOB % ('small', 2)}---\n{JOB % ('large', 20)}")
    return "check", "-p", "policy.yaml", "jobs.yaml", "-o"


def test_github_shows_each_finding_at_its_line(judged: tuple[str, ...], gangwarden: Gangwarden) -> None:
    result = gangwarden(*judged, "github")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "::warning file=jobs.yaml,line=1,col=1,title=hints/validations[0]%3A Job team-a/small::failed expression: false",
        "::warning file=jobs.yaml,line=8,col=1,title=hints/validations[0]%3A Job team-a/large::failed expression: false",
        "::error file=jobs.yaml,line=12,col=3,title=sizes/validations[0]%3A Job team-a/large::at most 8, 100 %25 sure",
    ]


def test_sarif_has_a_result_per_finding(judged: tuple[str, ...], gangwarden: Gangwarden) -> None:
    (run,) = json.loads(gangwarden(*judged, "sarif").stdout)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["hints/validations[0]", "sizes/validations[0]"]
    assert [(result["level"], result["ruleIndex"]) for result in run["results"]] == [("warning", 0), ("warning", 0), ("error", 1)]


@pytest.mark.parametrize(("fail_on", "failures"), [("deny", ["0", "1"]), ("warn", ["1", "2"])])
def test_junit_fails_where_the_command_does(
    fail_on: str, failures: list[str], judged: tuple[str, ...], gangwarden: Gangwarden
) -> None:
    root = ElementTree.fromstring(gangwarden(*judged, "junit", "--fail-on", fail_on).stdout.encode())
    assert [suite.get("name") for suite in root] == ["Job team-a/small jobs.yaml#0", "Job team-a/large jobs.yaml#1"]
    assert [suite.get("failures") for suite in root] == failures
    assert [case.get("line") for case in root[1] if case.get("name", "").startswith("sizes/")] == ["12"]


def test_what_no_policy_matches_is_skipped_and_nothing_to_annotate(gangwarden: Gangwarden, write: Write) -> None:
    write("policy.yaml", validating(), binding())
    write("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert gangwarden("check", "-p", "policy.yaml", "map.yaml", "-o", "github").stdout == ""
    root = ElementTree.fromstring(gangwarden("check", "-p", "policy.yaml", "map.yaml", "-o", "junit").stdout.encode())
    assert (root.get("failures"), root.get("skipped")) == ("0", "1")
    assert root[0][0][0].get("message") == "no policy matches"


def test_a_finding_about_standard_input_has_no_file(judged: tuple[str, ...], gangwarden: Gangwarden) -> None:
    result = gangwarden("check", "-p", "policy.yaml", "-", "-o", "github", stdin=JOB % ("large", 20))
    assert result.stdout.splitlines()[-1] == "::error title=sizes/validations[0]%3A Job team-a/large::at most 8, 100 %25 sure"
