"""``gangwarden lint``: exit codes, and what is printed in which form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from webhook.cli import main
from webhook.policies import bundled_policies

GOOD = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: enough-pods}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations:
  - expression: object.spec.parallelism > 1
    message: too few
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: enough-pods}
spec: {policyName: enough-pods, validationActions: [Deny]}
"""
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
CARELESS = GOOD.replace("parallelism", "completions")
BROKEN = GOOD.replace("parallelism > 1", "parallelism >> 1").replace("message", "mesage")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


def lint(file: Path, *arguments: str, text: str = "") -> Result:
    if text:
        file.write_text(text)
    return CliRunner().invoke(main, ["lint", str(file), *arguments])


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        (GOOD, (), 0),
        (GOOD, ("--fail-on", "warning"), 0),
        (CARELESS, (), 0),
        (CARELESS, ("--fail-on", "warning"), 1),
        (BROKEN, (), 3),
        (BROKEN, ("--fail-on", "warning"), 3),
        (GOOD.replace("[Deny]", "[Deny]}\n---\n{"), (), 3),
        ("{}", (), 3),
        (GOOD, ("--fail-on", "note"), 2),
        (JOB, (), 0),
        (JOB, ("--fail-on", "warning"), 1),
    ],
)
def test_exit_codes(file: Path, text: str, arguments: tuple[str, ...], code: int) -> None:
    assert lint(file, *arguments, text=text).exit_code == code


def test_a_path_that_is_not_there_is_a_slip_at_the_command_line(file: Path) -> None:
    assert lint(file).exit_code == 2


def test_every_mistake_is_shown_with_its_place_and_a_caret(file: Path) -> None:
    done = lint(file, text=BROKEN)
    assert done.stdout.splitlines() == [
        f"{file}:7:42: error: spec.validations[0].expression: Syntax error: unexpected '>' [refused]",
        "  |   - expression: object.spec.parallelism >> 1",
        "  |                                          ^",
        f'{file}:8:5: error: spec.validations[0].mesage: unknown field; did you mean "message"? [refused]',
        "  |     mesage: too few",
        "  |     ^",
        "2 errors in 1 file",
    ]


def test_json_has_findings_costs_and_what_the_api_server_would_write(file: Path) -> None:
    text = CARELESS.replace("completions > 1", "completions > 1 && object.metadata.created != 'a'")
    document: dict[str, Any] = json.loads(lint(file, "-o", "json", text=text).stdout)
    assert (document["apiVersion"], document["kind"]) == ("gangwarden.dev/v1alpha1", "LintResult")
    found, unknown = document["diagnostics"]
    assert unknown["rule"] == "unknown-field"
    assert (found["level"], found["rule"], found["line"], found["column"]) == ("warning", "absent-field", 7, 28)
    assert found["subject"] == "ValidatingAdmissionPolicy enough-pods"
    (cost,) = document["costs"]
    assert cost["field"] == "spec.validations[0].expression"
    assert 0 < cost["cost"] < cost["limit"] == 1_000_000
    assert cost["madeUp"] is True
    (written,) = document["typeChecking"]
    assert written["fieldRef"] == "spec.validations[0].expression"
    assert written["warning"].startswith("batch/v1, Kind=Job: ERROR: <input>:1:47: undefined field 'created'\n | object.spec")
    assert document["summary"] == {"error": 0, "warning": 2, "note": 0}


def test_ci_systems_get_their_forms(file: Path) -> None:
    suite = ET.fromstring(lint(file, "-o", "junit", text=CARELESS).stdout)
    assert suite.attrib["failures"] == "1"
    sarif = json.loads(lint(file, "-o", "sarif").stdout)["runs"][0]
    assert sarif["results"][0]["ruleId"] == "absent-field"
    assert {rule["id"] for rule in sarif["tool"]["driver"]["rules"]} > {"absent-field", "refused"}
    assert lint(file, "-o", "github").stdout.startswith(f"::warning file={file},line=7,")


def test_costs_are_measured_on_the_cases_beside_the_policy(file: Path) -> None:
    (file.parent / "cases.yaml").write_text(
        "apiVersion: gangwarden.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: t}\nspec:\n  cases:\n  - name: one\n"
        "    object: {apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: []}}}}\n"
        "    expect: {verdict: deny}\n"
    )
    done = lint(file, "--costs", text=GOOD)
    assert done.stdout.splitlines()[0] == f"4 units  {file}:7:17  enough-pods spec.validations[0].expression"
    (file.parent / "cases.yaml").unlink()
    assert "(on a made-up object)" in lint(file, "--costs").stdout


def test_cases_that_cannot_be_read_are_told(file: Path) -> None:
    file.write_text(GOOD)
    (file.parent / "cases.yaml").write_text(
        "apiVersion: gangwarden.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: t}\nspec: {}\n"
    )
    done = CliRunner().invoke(main, ["lint", str(file.parent)])
    assert (done.exit_code, "spec.cases: required" in done.stdout) == (3, True)


@pytest.mark.parametrize("folder", ["policies", "policies-optional"])
def test_the_shipped_policies_are_in_order(folder: str) -> None:
    done = CliRunner().invoke(main, ["lint", str(bundled_policies().with_name(folder)), "--fail-on", "warning"])
    assert done.exit_code == 0, done.stdout
    assert {line.rpartition("[")[2].rstrip("]") for line in done.stdout.splitlines()[:-1]} <= {
        "not-exportable",
        "ignored-failures",
    }


def test_a_path_without_any_policy_is_told_and_one_with_a_binding_alone_is_not(file: Path) -> None:
    told = f"{file}: warning: no policy, binding or exception is in {file}, so nothing was looked at: is this the right path?"
    assert told in lint(file, text=JOB).stdout.replace("\n", " ")
    assert "no-policy" not in lint(file, text=GOOD.partition("---")[2]).stdout


@pytest.mark.parametrize("content", [b"", b"\x7fELF\0\xff", None], ids=["empty", "binary", "no file"])
def test_what_cannot_be_read_is_told_once(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "bad.yaml").write_bytes(content)
    done = CliRunner().invoke(main, ["lint", str(tmp_path)])
    assert (done.exit_code, done.stdout.count("[refused]")) == (3, 1)
    assert "\n1 error in " in done.stdout


def test_files_beside_the_one_that_was_named_do_not_matter(file: Path) -> None:
    (file.parent / "empty.yaml").touch()
    (file.parent / "binary.yaml").write_bytes(b"\x7fELF\0\xff")
    done = lint(file, text=GOOD)
    assert (done.exit_code, done.stdout) == (0, "nothing found in 1 file\n")
