"""Which exit code a broken question gets, and that the words name the place to mend."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.builders import job
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating, yaml_of
from webhook.model.objects import Object

JOB = job("train").build()
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: sizes
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - expression: object.spec.parallelism <= 8
"""
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(POLICY.replace("  name:", "\tname:"), "p.yaml:4:1: a tab stands where YAML wants spaces", id="a tab"),
        pytest.param(POLICY + "  validations: []\n", "p.yaml:11:3: duplicate key", id="a duplicate key"),
        pytest.param(BOMB, "p.yaml:", id="an alias bomb"),
        pytest.param(
            POLICY.replace("metadata:", "metadat: {}\nmetadata:"),
            'p.yaml:3:1: metadat: unknown field; did you mean "metadata"?',
            id="an unknown field",
        ),
        pytest.param(
            POLICY.replace("<= 8", "<= eight"),
            "p.yaml:10:44: spec.validations[0].expression: undeclared reference to 'eight'",
            id="a CEL error",
        ),
        pytest.param(POLICY.replace("<= 8", "<= "), "p.yaml:10:", id="half an expression"),
        pytest.param(
            POLICY.replace("kind: Val", "kind: Vla"),
            'p.yaml:2:1: kind: "VlaidatingAdmissionPolicy" is not a kind of',
            id="a misspelt kind",
        ),
    ],
)
def test_a_broken_policy_exits_with_3_and_names_file_line_column_and_field(
    text: str, told: str, gangwarden: Gangwarden, write: Write
) -> None:
    result = gangwarden("check", "-p", write("p.yaml", text), write("job.yaml", JOB))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"error: {told}")
    assert "Edit p.yaml at line " in result.stderr


def test_all_that_is_wrong_with_the_policies_is_told_at_once(gangwarden: Gangwarden, write: Write) -> None:
    write("policies/a.yaml", POLICY.replace("<= 8", "<= eight"))
    write("policies/b.yaml", POLICY.replace("sizes", "other").replace("<= 8", "<= nine"))
    result = gangwarden("check", "-p", "policies", write("job.yaml", JOB))
    assert "policies/a.yaml:10" in result.stderr
    assert "policies/b.yaml:10" in result.stderr
    assert "Edit" not in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a: [", "bad.yaml#0:2: not YAML", id="not YAML"),
        pytest.param("apiVersion: v1\nkind: Pod\n---\nkind: [", "bad.yaml#1:", id="a second document that is not YAML"),
        pytest.param("just words", "bad.yaml#0:1: must be a mapping, not text", id="text"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nmetadata: {}", "bad.yaml#1:4: kind: required", id="no kind"
        ),
        pytest.param("kind: Job", "bad.yaml#0:1: apiVersion: required", id="no apiVersion"),
        pytest.param(BOMB, "bad.yaml#0:", id="an alias bomb"),
        pytest.param("apiVersion: v1\nkind: Pod\nkind: Pod\n", "bad.yaml#0:3: duplicate key", id="a duplicate key"),
        pytest.param(
            json.dumps(job().at("metadata.annotations", {"gangwarden.dev/min-count": 3}).build()),
            "bad.yaml#0:1: metadata.annotations[gangwarden.dev/min-count] must be text, not the number 3",
            id="a number where text is wanted",
        ),
        pytest.param(
            json.dumps(job().at("spec.parallelism", 4.5).build()),
            "bad.yaml#0:1: spec.parallelism must be a whole number of at most 64 bits, not the number 4.5",
            id="half a pod",
        ),
        pytest.param("", "bad.yaml: the file is empty", id="nothing"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n", "bad.yaml#0:3: items[0].apiVersion: required", id="a bad item"
        ),
    ],
)
def test_a_broken_manifest_exits_with_4_and_names_file_and_document(
    text: str, told: str, gangwarden: Gangwarden, write: Write
) -> None:
    result = gangwarden("check", "-p", write("p.yaml", POLICY), write("good.yaml", JOB), write("bad.yaml", text))
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith(f"error: {told}")


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        ("{", "<stdin>#0:"),
        ("", "<stdin>: there is no object in it"),
        ("# nothing\n---\n", "<stdin>: there is no object in it"),
        (b"\xff\xfe\xfd", "<stdin>#0"),
        ("- x", "<stdin>#0:1: must be a mapping, not a list"),
    ],
)
def test_standard_input_is_named_as_such(stdin: str | bytes, told: str, gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-p", write("p.yaml", POLICY), "-", stdin=stdin)
    assert result.exit_code == 4
    assert told in result.stderr


@pytest.mark.parametrize(
    ("flag", "document", "told"),
    [
        ("--params", "a: [", "x.yaml#0"),
        ("--snapshot", "apiVersion: v1\nkind: Namespace\n", "x.yaml#0: this Namespace has no metadata.name"),
        ("--snapshot", "apiVersion: gangwarden.dev/v1alpha1\nkind: Capabilities\ntopolgy: true", "did you mean topology?"),
        ("--namespace-object", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}", "x.yaml: must hold one Namespace with a name"),
    ],
)
def test_other_broken_inputs_exit_with_4_too(flag: str, document: str, told: str, gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-p", write("p.yaml", POLICY), flag, write("x.yaml", document), write("job.yaml", JOB))
    assert result.exit_code == 4
    assert told in result.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "Missing argument 'PATH...'"),
        (("gone.yaml",), "'gone.yaml' does not exist"),
        (("-p", "gone", "job.yaml"), "'gone' does not exist"),
        (("--snapshot", "gone", "job.yaml"), "'gone' does not exist"),
        (("--operation", "PATCH", "job.yaml"), "'PATCH' is not one of"),
        (("--operation", "UPDATE", "job.yaml"), "--operation UPDATE needs --old FILE"),
        (("--old", "job.yaml", "job.yaml"), "--old goes with --operation UPDATE only"),
        (("--unbound", "maybe", "job.yaml"), "'maybe' is not one of"),
        (("-o", "xml", "job.yaml"), "'xml' is not one of"),
        (("--fail-on", "allow", "job.yaml"), "'allow' is not one of"),
        (("--fial-on", "deny", "job.yaml"), "No such option '--fial-on'"),
    ],
    ids=" ".join,
)
def test_a_slip_at_the_command_line_exits_with_2(args: tuple[str, ...], told: str, gangwarden: Gangwarden, write: Write) -> None:
    write("job.yaml", JOB)
    result = gangwarden("check", *args)
    assert result.exit_code == 2
    assert told in result.stderr


def test_an_update_of_something_that_was_not_there_is_a_broken_input(gangwarden: Gangwarden, write: Write) -> None:
    write("job.yaml", JOB)
    result = gangwarden("check", "--operation", "UPDATE", "--old", write("old.yaml", job("other").build()), "job.yaml")
    assert (result.exit_code, result.stderr) == (
        4, "error: old.yaml: holds no Job team-a/train, so there is nothing to compare the manifest with\n",
    )  # fmt: skip


BROKEN_POLICY, BROKEN_INPUT = POLICY.replace("<= 8", "<= eight"), "a: ["
DENYING = yaml_of(validating("sizes", "false"), binding())


@pytest.mark.parametrize(
    ("question", "code"),
    [
        pytest.param((BROKEN_POLICY, BROKEN_INPUT, "--operation", "UPDATE"), 2, id="usage before all"),
        pytest.param((BROKEN_POLICY, BROKEN_INPUT), 3, id="policies before inputs"),
        pytest.param((DENYING, f"{json.dumps(JOB)}\n---\n{BROKEN_INPUT}"), 4, id="inputs before findings"),
        pytest.param((DENYING, json.dumps(JOB)), 1, id="findings"),
    ],
)
def test_the_first_reason_that_applies_decides(
    question: tuple[str, ...], code: int, gangwarden: Gangwarden, write: Write
) -> None:
    policy, manifest, *flags = question
    assert gangwarden("check", *flags, "-p", write("p.yaml", policy), write("m.yaml", manifest)).exit_code == code


def test_a_file_that_may_not_be_read_is_told(gangwarden: Gangwarden, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = write("job.yaml", JOB)

    def refuse(path: Path, *args: object) -> None:
        raise PermissionError(13, os.strerror(13))

    policies = write("p.yaml", POLICY)
    monkeypatch.setattr("webhook.policies.files.read_limited", refuse)
    result = gangwarden("check", "-p", policies, manifest)
    assert (result.exit_code, result.stderr) == (3, "error: p.yaml: cannot be read: Permission denied\nEdit p.yaml.\n")


@pytest.mark.parametrize("held", [pytest.param(json.dumps(JOB), id="a Job"), pytest.param(yaml_of(binding()), id="a binding")])
def test_a_path_of_policies_that_holds_none_exits_with_3(held: str, gangwarden: Gangwarden, write: Write) -> None:
    write("wrong/job.yaml", held)
    result = gangwarden("check", "-p", "wrong", write("job.yaml", JOB))
    assert (result.exit_code, result.stdout, result.stderr) == (
        3, "", "error: wrong: no policy is there, so nothing would be judged: look at the path (-p)\n",
    )  # fmt: skip
    assert gangwarden("check", "-p", "wrong", "-p", write("p.yaml", POLICY), "job.yaml").exit_code == 0


def test_every_broken_input_is_told(gangwarden: Gangwarden, write: Write) -> None:
    write("jobs/a.yaml", "a: [")
    write("jobs/b.yaml", "kind: Job")
    write("jobs/c.yaml", "")
    write("jobs/d.yaml", JOB)
    result = gangwarden("check", "-p", write("p.yaml", POLICY), "jobs")
    assert (result.exit_code, result.stdout) == (4, "")
    places = ["jobs/c.yaml", "jobs/a.yaml#0", "jobs/b.yaml#0"]
    assert [line.removeprefix("error: ").split(":")[0] for line in result.stderr.splitlines()] == places


def test_all_values_of_a_wrong_type_are_told(gangwarden: Gangwarden, write: Write) -> None:
    wrong = job().at("spec.parallelism", 4.5).at("spec.suspend", "yes").build()
    result = gangwarden("check", "-p", write("p.yaml", POLICY), write("job.yaml", wrong))
    assert (result.exit_code, "spec.parallelism must" in result.stderr, "spec.suspend must" in result.stderr) == (4, True, True)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("github", "::error file=bad.yaml,line=1,title=broken-input::apiVersion: required"),
        ("json", '"source": "bad.yaml#0"'),
        ("sarif", '"uri": "bad.yaml"'),
        ("junit", 'failures="1"'),
    ],
)
def test_ci_systems_hear_of_broken_inputs_too(output: str, told: str, gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-o", output, "-p", write("p.yaml", POLICY), write("bad.yaml", "kind: Job"))
    assert (result.exit_code, "bad.yaml#0:1" in result.stderr) == (4, True)
    assert told in result.stdout


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        pytest.param(
            JOB | {"kind": "Jop"},
            "batch/v1 has no kind Jop, so the API server refuses it and no policy matches it; did you mean Job?\n",
            id="a misspelt kind",
        ),
        pytest.param(
            job("train").at("spec.paralelism", 3).build(),
            "unknown field spec.paralelism is dropped by the API server; did you mean parallelism?\n",
            id="a misspelt field",
        ),
    ],
)
def test_what_the_api_server_does_not_know_counts_as_a_warning(
    manifest: Object, told: str, gangwarden: Gangwarden, write: Write
) -> None:
    args = ("check", "-p", write("p.yaml", POLICY), write("job.yaml", manifest))
    assert (gangwarden(*args).exit_code, gangwarden(*args, "--fail-on", "warn").exit_code) == (0, 1)
    assert f"warning: job.yaml#0: {told}" in gangwarden(*args).stderr


@pytest.mark.parametrize(
    "kind", ["v1 PodList", "v1 Binding", "example.com/v1 Thing", "autoscaling/v1 Scale", "certificates.k8s.io/v1 Thing"]
)
def test_of_kinds_that_may_be_there_nothing_is_said(kind: str, gangwarden: Gangwarden, write: Write) -> None:
    api_version, _, name = kind.partition(" ")
    thing = {"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}}
    result = gangwarden("check", "-p", write("p.yaml", POLICY), write("thing.yaml", thing))
    assert (result.exit_code, "has no kind" in result.stderr) == (0, False)
