"""``gangwarden test``: what passes is one line, what fails is shown, and whatever was not tested is no success."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.builders import job
from tests.cli.conftest import Gangwarden, Write
from tests.cli.following import Following, following
from tests.policies.writing import OURS, binding, validating, workload, workload_binding
from webhook.model.objects import Object


def cases(*items: Object, name: str = "sizes", **spec: Any) -> Object:
    return {"apiVersion": OURS, "kind": "PolicyTest", "metadata": {"name": name}, "spec": {**spec, "cases": list(items)}}


def case(name: str, pods: int, verdict: str, **expect: Any) -> Object:
    return {"name": name, "object": job("a").parallelism(pods).build(), "expect": {"verdict": verdict, **expect}}


SMALL, LARGE = case("a small Job", 2, "allow"), case("a large Job", 20, "deny", rule="validations[0]")
WRONG = case("a Job of nine", 9, "allow")


@pytest.fixture
def repository(write: Write) -> Write:
    """A folder ``sizes`` with a policy; what is written are its cases."""
    write("sizes/policy.yaml", validating(), binding())

    def written(*items: Object, **spec: Any) -> str:
        return write("sizes/cases.yaml", cases(*items, **spec))

    return written  # type: ignore[return-value]  # the same file each time


def test_what_passes_is_a_line(gangwarden: Gangwarden, repository: Write) -> None:
    repository(SMALL, LARGE)
    for given in ((), ("sizes",), ("sizes/cases.yaml",), ("sizes/policy.yaml",)):
        result = gangwarden("test", *given)
        assert result.output == "ok    sizes/cases.yaml  sizes  2 passed\n\n2 passed, 0 failed, in 1 file\n"
        assert result.exit_code == 0


def test_what_fails_is_shown_as_a_diff_and_exits_with_1(gangwarden: Gangwarden, repository: Write) -> None:
    repository(SMALL, WRONG)
    result = gangwarden("test")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "FAIL  sizes/cases.yaml  sizes  1 passed, 1 failed",
        "      a Job of nine  sizes/cases.yaml:2",
        "        expected allow, got deny: deny by sizes/validations[0] (failed expression: object.spec.parallelism <= 8)",
        "          --- expected",
        "          +++ actual",
        "          @@ -1 +1,3 @@",
        "          -verdict: allow",
        "          +verdict: deny",
        "          +rule: validations[0]",
        "          +message: 'failed expression: object.spec.parallelism <= 8'",
        "",
        "1 passed, 1 failed, in 1 file",
    ]


def test_a_changed_object_and_its_groups_are_compared_in_yaml(gangwarden: Gangwarden, write: Write) -> None:
    write("gangs/policy.yaml", workload(), workload_binding())
    quorum = {"kind": "PodGroup", "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    patched = {"metadata": {"name": "b"}}
    write("gangs/cases.yaml", cases(case("a gang", 2, "allow", patched=patched, groups=[quorum])))
    output = gangwarden("test").output
    for line in (
        "patched.metadata.name: expected 'b', got 'a'",
        "groups[0].spec.schedulingPolicy.gang.minCount: expected 3, got 2",
        " patched:",
        "-    name: b",
        "+    name: a",
        "-        minCount: 3",
        "+        minCount: 2",
    ):
        assert line in output


def test_only_the_named_cases_run(gangwarden: Gangwarden, repository: Write) -> None:
    repository(SMALL, WRONG)
    assert gangwarden("test", "-k", "small").exit_code == 0
    assert "0 passed, 1 failed" in gangwarden("test", "-k", "of nine").output
    assert "1 passed, 1 failed" in gangwarden("test", "-k", "sizes").output


def test_fail_fast_stops_at_the_first_failure(gangwarden: Gangwarden, repository: Write) -> None:
    repository(WRONG, SMALL)
    assert "0 passed, 1 failed" in gangwarden("test", "-x").output
    assert "1 passed, 1 failed" in gangwarden("test").output


@pytest.mark.parametrize("given", [("sizes/policy.yaml",), ("-k", "no such case")])
def test_nothing_tested_is_a_failure(given: tuple[str, ...], gangwarden: Gangwarden, write: Write) -> None:
    write("sizes/policy.yaml", validating(), binding())
    if "-k" in given:
        write("sizes/cases.yaml", cases(SMALL))
    result = gangwarden("test", *given)
    assert result.exit_code == 1
    assert "nothing was tested" in result.stderr


def test_a_test_of_no_policy_at_all_is_a_broken_policy(gangwarden: Gangwarden, write: Write) -> None:
    write("cases.yaml", cases(case("a Job", 2, "skip")))
    result = gangwarden("test")
    assert result.exit_code == 3
    assert "cases.yaml: there is no policy in what this test names" in result.output


@pytest.mark.parametrize(
    ("files", "args", "code", "told"),
    [
        pytest.param({}, ("nowhere",), 2, "does not exist", id="no such path"),
        pytest.param({}, ("--watch", "-o", "json"), 2, "--watch goes with text output only", id="watching a machine"),
        pytest.param({}, ("-x", "--require-full-coverage"), 2, "need every case", id="coverage of a part"),
        pytest.param({"sizes/policy.yaml": "a: ["}, (), 3, "sizes/policy.yaml:2", id="a broken policy"),
        pytest.param({"sizes/cases.yaml": "kind: PolicyTest\na: ["}, (), 4, "sizes/cases.yaml:3", id="broken cases"),
    ],
)
def test_exit_codes(
    files: dict[str, str], args: tuple[str, ...], code: int, told: str, *, gangwarden: Gangwarden, repository: Write, write: Write
) -> None:
    repository(SMALL)
    for name, text in files.items():
        write(name, text)
    result = gangwarden("test", *args)
    assert (result.exit_code, told in result.output) == (code, True), result.output


def test_an_object_that_the_api_server_cannot_decode_is_a_broken_input(gangwarden: Gangwarden, repository: Write) -> None:
    obj = job("a").at("metadata.labels", {"team": 5}).build()
    repository({"name": "a number for text", "object": obj, "expect": {"verdict": "allow"}})
    result = gangwarden("test")
    assert (result.exit_code, "metadata.labels" in result.output) == (4, True)


def test_cases_that_cannot_be_read_are_not_passed_over(gangwarden: Gangwarden, repository: Write, tmp_path: Path) -> None:
    repository(SMALL)
    (tmp_path / "sizes/more.yaml").write_bytes("kind: PolicyTest\n".encode("utf-16"))
    result = gangwarden("test")
    assert (result.exit_code, "sizes/more.yaml:1: the file is not UTF-8 text" in result.output) == (4, True), result.output


def test_further_policies_are_asked_too(gangwarden: Gangwarden, repository: Write, write: Write) -> None:
    repository(SMALL)
    write("more/policy.yaml", validating("more", "object.spec.parallelism > 2"), binding("more", "more"))
    assert gangwarden("test", "sizes").exit_code == 0
    assert "got deny: deny by more/validations[0]" in gangwarden("test", "sizes", "-p", "more").output


def test_an_unbound_policy_denies_unless_told_otherwise(gangwarden: Gangwarden, write: Write) -> None:
    write("sizes/policy.yaml", validating())
    write("sizes/cases.yaml", cases(LARGE))
    denied = gangwarden("test")
    assert (denied.exit_code, "taken as denying everywhere" in denied.stderr) == (0, True)
    assert gangwarden("test", "--unbound", "skip").exit_code == 1


def test_a_case_says_who_may_do_what(gangwarden: Gangwarden, write: Write) -> None:
    asks = "authorizer.group('').resource('nodes').check('list').allowed()"
    write("sizes/policy.yaml", validating("sizes", asks), binding())
    may = [{"user": "ann", "resource": "nodes", "verb": "list", "allowed": True}]
    by_ann = {**case("ann may", 2, "allow"), "user": "ann"}
    by_bob = {**case("bob may not", 2, "deny"), "user": "bob"}
    asked = {**case("nobody may here", 2, "deny"), "user": "ann", "authorizer": [{"allowed": False}]}
    write("sizes/cases.yaml", cases(by_ann, by_bob, asked, authorizer=may))
    assert "3 passed, 0 failed" in gangwarden("test").output
    write("sizes/cases.yaml", cases(case("nobody can tell", 2, "skip")))
    assert "1 passed, 0 failed" in gangwarden("test").output
    write("sizes/cases.yaml", cases(by_ann, authorizer=[{"verb": "list", "allowed": "yes"}]))
    result = gangwarden("test")
    assert (result.exit_code, "[0].allowed must be true or false" in result.output) == (4, True)


def test_coverage_names_what_no_case_brings_about(gangwarden: Gangwarden, repository: Write, write: Write) -> None:
    repository(SMALL)
    write("other/policy.yaml", validating("other"), binding("other", "other"))
    lines = gangwarden("test", "--coverage").output.splitlines()
    assert lines[2:8] == [
        "Rule coverage  0 of 2",
        "    0 of 1   other",
        "             validations[0] never denied and never allowed  other/policy.yaml:2",
        "    0 of 1   sizes",
        "             validations[0] never denied  sizes/policy.yaml:2",
        "",
    ]


def test_full_coverage_can_be_required(gangwarden: Gangwarden, repository: Write) -> None:
    repository(SMALL)
    assert gangwarden("test").exit_code == 0
    assert gangwarden("test", "--require-full-coverage").exit_code == 1
    repository(SMALL, LARGE)
    assert gangwarden("test", "--require-full-coverage").exit_code == 0


def test_a_share_of_the_rules_can_be_required(gangwarden: Gangwarden, repository: Write, write: Write) -> None:
    repository(SMALL, LARGE)
    write("other/policy.yaml", validating("other"), binding("other", "other"))
    assert gangwarden("test", "--require-coverage", "50").exit_code == 0
    lacking = gangwarden("test", "--require-coverage", "50.1", "-o", "junit")
    assert lacking.exit_code == 1
    assert "error: 1 of 2 rules (50 %) are covered, but 50.1 % is required (--coverage)" in lacking.stderr
    assert 'failures="1"' in lacking.stdout
    assert 'failures="0"' in gangwarden("test", "--require-coverage", "50", "-o", "junit").stdout
    assert gangwarden("test", "--require-coverage", "101").exit_code == 2


def test_json_is_complete(gangwarden: Gangwarden, repository: Write) -> None:
    repository(SMALL, WRONG)
    document = json.loads(gangwarden("test", "-o", "json", "--coverage").stdout)
    assert (document["apiVersion"], document["kind"]) == (OURS, "TestResult")
    assert document["summary"] == {"passed": 1, "failed": 1, "covered": 1, "rules": 1}
    first, second = document["cases"]
    assert (first["name"], first["file"], first["line"], first["passed"]) == ("a small Job", "sizes/cases.yaml", 2, True)
    assert first["results"][0]["verdict"] == "allow"
    (difference,) = second["differences"]
    assert (difference["what"], difference["expected"]) == ("finding", {"verdict": "allow"})
    assert document["coverage"] == [
        {"policy": "sizes", "rule": "validations[0]", "file": "sizes/policy.yaml", "line": 2, "missing": []}
    ]


def test_ci_formats_tell_of_failed_cases_and_of_required_coverage(gangwarden: Gangwarden, repository: Write) -> None:
    repository(SMALL, case("a Job of two", 2, "deny"))
    required = ("test", "--require-full-coverage", "-o")
    annotations = gangwarden(*required, "github").stdout.splitlines()
    assert annotations == [
        "::error file=sizes/cases.yaml,line=2,title=failed-case%3A a Job of two::expected deny, got allow: allow by sizes",
        "::error file=sizes/policy.yaml,line=2,title=not-covered%3A sizes::validations[0] never denied by any test case of sizes",
    ]
    results = json.loads(gangwarden(*required, "sarif").stdout)["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["failed-case", "not-covered"]
    root = ElementTree.fromstring(gangwarden(*required, "junit").stdout.encode())
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [
        ("sizes", "2", "1"),
        ("rule coverage", "1", "1"),
    ]
    assert gangwarden("test", "-k", "small", "-o", "github").stdout == ""


@pytest.fixture
def watching(repository: Write, tmp_path: Path) -> Iterator[Following]:
    repository(SMALL, LARGE)
    with following(tmp_path, "test", "--watch", "sizes") as running:
        yield running


def test_watch_runs_again_on_every_edit_and_survives_a_broken_one(watching: Following, repository: Write, write: Write) -> None:
    watching.hear("2 passed, 0 failed")
    write("sizes/policy.yaml", validating("sizes", "object.spec.parallelism <= 1"), binding())
    watching.hear("1 passed, 1 failed")
    write("sizes/policy.yaml", validating("sizes", "object.spec.parallelism <="))
    watching.hear("error: sizes/policy.yaml:2")
    write("sizes/policy.yaml", validating(), binding())
    watching.hear("2 passed, 0 failed")
    write("sizes/cases.yaml", "kind: PolicyTest\na: [")
    watching.hear("error: sizes/cases.yaml:3")
    repository(SMALL)
    watching.hear("1 passed, 0 failed")
    assert watching.end() == 0


def test_watch_follows_policies_that_only_an_edit_has_named(watching: Following, repository: Write, write: Write) -> None:
    watching.hear("2 passed, 0 failed")
    write("more/policy.yaml", validating("more", "object.spec.parallelism > 2"), binding("more", "more"))
    repository(SMALL, policies=["../more/policy.yaml"])
    watching.hear("0 passed, 1 failed")
    write("more/policy.yaml", validating("more", "object.spec.parallelism > 1"), binding("more", "more"))
    watching.hear("1 passed, 0 failed")
    assert watching.end() == 0


def test_watch_picks_up_files_and_folders_that_were_not_there(watching: Following, write: Write) -> None:
    watching.hear("2 passed, 0 failed")
    write("sizes/new/deeper/policy.yaml", validating("new", "object.spec.parallelism > 0"), binding("new", "new"))
    write("sizes/new/deeper/cases.yaml", cases(SMALL))
    watching.hear("3 passed, 0 failed, in 2 files")
    write("sizes/beside.yaml", cases(SMALL, LARGE))
    watching.hear("5 passed, 0 failed")
    (watching.folder / "sizes/new/deeper/cases.yaml").unlink()
    watching.hear("4 passed, 0 failed")
    assert watching.end() == 0


def test_cases_of_an_unknown_field_are_told_once(gangwarden: Gangwarden, repository: Write, write: Write) -> None:
    path = write("sizes/cases.yaml", cases(SMALL) | {"specc": {}})
    result = gangwarden("test", path)
    assert (result.exit_code, result.stderr.count("specc: unknown field")) == (4, 1)


def test_of_files_beside_a_policy_only_those_with_cases_matter(gangwarden: Gangwarden, repository: Write) -> None:
    Path("sizes/empty.yaml").touch()
    Path("sizes/binary.yaml").write_bytes(b"\x7fELF\0\xff")
    repository(SMALL, policies=["policy.yaml"])
    result = gangwarden("test", "sizes/policy.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    Path("sizes/more.yaml").write_text("kind: PolicyTest\n}", encoding="utf-16")
    assert gangwarden("test", "sizes/policy.yaml").exit_code == 4


def test_an_empty_folder_has_nothing_to_edit(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("test")
    assert (result.exit_code, result.stderr) == (4, "error: .: no file (.yaml, .yml, .json) is there\n")
