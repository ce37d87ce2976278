"""What ``check`` says of manifests: the contract of its flags, of its JSON and of its exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result

from tests.builders import job, namespace, pod_group
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import OURS, RULES, binding, validating, workload, workload_binding
from webhook.model.objects import Object

JOB = job("train").build()
BARE_JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "bare"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}},
}
TOO_SMALL = "object.spec.parallelism > 8"
CONFIG: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"most": "3"}}


def params_of(name: str = "limits") -> Object:
    return {"name": name, "namespace": "default", "parameterNotFoundAction": "Deny"}


def rows(result: Result) -> list[Any]:
    return list(json.loads(result.stdout)["results"])


def verdicts(result: Result) -> list[tuple[str, str]]:
    return [(row["policy"], row["verdict"]) for row in rows(result)]


def test_the_json_document_has_exactly_the_keys_of_the_contract(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating("sizes", TOO_SMALL), binding(), workload(), workload_binding())
    document = json.loads(gangwarden("check", "-o", "json", "-p", policies, write("job.yaml", JOB)).stdout)
    assert set(document) == {"apiVersion", "kind", "results", "summary"}
    assert (document["apiVersion"], document["kind"]) == ("gangwarden.dev/v1alpha1", "CheckResult")
    assert document["summary"] == {"allow": 1, "deny": 1, "warn": 0, "audit": 0, "error": 0, "skip": 0}
    for row in document["results"]:
        assert list(row) == [
            "source", "object", "policy", "binding", "rule", "verdict", "message", "field", "patch", "patched", "creates",
            "exception",
        ]  # fmt: skip
        assert row["object"] == {"apiVersion": "batch/v1", "kind": "Job", "namespace": "team-a", "name": "train"}
        assert row["source"] == "job.yaml#0"


def test_a_denial_names_policy_binding_rule_and_message(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating("sizes", TOO_SMALL), binding())
    (row,) = rows(gangwarden("check", "-o", "json", "-p", policies, write("job.yaml", JOB)))
    assert (row["policy"], row["binding"], row["rule"]) == ("sizes", "everywhere", "validations[0]")
    assert (row["verdict"], row["message"]) == ("deny", f"failed expression: {TOO_SMALL}")
    assert (row["patch"], row["patched"], row["creates"]) == (None, None, None)


def test_an_attached_group_comes_with_patch_patched_object_and_what_is_created(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", workload(), workload_binding())
    (row,) = rows(gangwarden("check", "-o", "json", "-p", policies, write("job.yaml", JOB)))
    name = row["patched"]["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"]
    assert {"op": "add", "path": "/spec/template/spec/schedulingGroup", "value": {"podGroupName": name}} in row["patch"]
    assert [created["kind"] for created in row["creates"]] == ["Workload", "PodGroup"]
    assert row["creates"][1]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}


def test_text_groups_findings_by_manifest_and_counts_them(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating("sizes", TOO_SMALL), binding())
    result = gangwarden("check", "-p", policies, write("job.yaml", JOB, namespace()))
    assert result.stdout == (
        "Job team-a/train  job.yaml#0\n"
        "  deny   sizes (validations[0])\n"
        f"         failed expression: {TOO_SMALL}\n"
        "Namespace team-a  job.yaml#1\n"
        "  skip   no policy matches\n"
        "\n"
        "1 deny, 1 skip\n"
    )


@pytest.mark.parametrize(
    ("action", "fail_on", "code"),
    [("Deny", "deny", 1), ("Warn", "deny", 0), ("Warn", "warn", 1), ("Audit", "warn", 0)],
)
def test_findings_decide_the_exit_code(action: str, fail_on: str, code: int, gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating("sizes", TOO_SMALL), binding(validationActions=[action]))
    result = gangwarden("check", "-o", "json", "--fail-on", fail_on, "-p", policies, write("job.yaml", JOB))
    assert (result.exit_code, verdicts(result)) == (code, [("sizes", action.lower())])


def test_a_rule_that_cannot_be_evaluated_is_a_finding_even_where_its_policy_ignores_failures(
    gangwarden: Gangwarden, write: Write
) -> None:
    policies = write("p.yaml", validating("sizes", "object.spec.nothing > 1", failurePolicy="Ignore"), binding())
    result = gangwarden("check", "-o", "json", "-p", policies, write("job.yaml", JOB))
    assert (result.exit_code, verdicts(result)) == (1, [("sizes", "error")])
    assert "no such key: nothing" in rows(result)[0]["message"]


def test_nothing_to_complain_about_is_a_success(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-p", write("p.yaml", validating(), binding()), write("job.yaml", JOB))
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_unbound_policy_denies_and_says_so(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-o", "json", "-p", write("p.yaml", validating("sizes", TOO_SMALL)), write("job.yaml", JOB))
    assert (result.exit_code, verdicts(result)) == (1, [("sizes", "deny")])
    assert "note: without a binding, and taken as denying everywhere (--unbound=deny): sizes" in result.stderr


def test_an_unbound_policy_can_be_left_out_as_in_the_api_server(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating("sizes", TOO_SMALL))
    result = gangwarden("check", "-o", "json", "--unbound", "skip", "-p", policies, write("job.yaml", JOB))
    assert (result.exit_code, verdicts(result)) == (0, [("", "skip")])
    assert "note:" not in result.stderr
    assert "sizes" in result.stderr  # the loader's warning that it is inert


def test_a_bare_job_is_judged_with_the_defaults_of_the_api(gangwarden: Gangwarden, write: Write) -> None:
    expression = "object.spec.parallelism == 1 && object.spec.completions == 1 && object.spec.completionMode == 'NonIndexed'"
    policies, manifest = write("p.yaml", validating("sizes", expression), binding()), write("job.yaml", BARE_JOB)
    assert gangwarden("check", "-p", policies, manifest).exit_code == 0
    raw = gangwarden("check", "-o", "json", "--raw", "-p", policies, manifest)
    assert (raw.exit_code, verdicts(raw)) == (1, [("sizes", "deny")])
    assert "no such key: parallelism" in rows(raw)[0]["message"]


def test_a_misspelt_field_is_told_because_the_defaults_make_it_vanish(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating(), binding())
    manifest = write("job.yaml", job().at("spec.paralelism", 9).at("spec.template.spec.hostPiD", value=True).build())
    result = gangwarden("check", "-p", policies, manifest)
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: job.yaml#0: unknown field spec.template.spec.hostPiD is dropped by the API server; did you mean hostPID?\n"
        "warning: job.yaml#0: unknown field spec.paralelism is dropped by the API server; did you mean parallelism?\n"
    )


def test_an_update_is_judged_against_the_old_object_of_the_same_name(gangwarden: Gangwarden, write: Write) -> None:
    rules = [{**RULES[0], "operations": ["UPDATE"]}]
    shrinks = validating(
        "shrinks", "object.spec.parallelism >= oldObject.spec.parallelism", matchConstraints={"resourceRules": rules}
    )
    policies = write("p.yaml", shrinks, binding(policy="shrinks"))
    new = write("new.yaml", job("a").parallelism(2).build(), job("b").parallelism(4).build())
    old = write("old.yaml", job("b").parallelism(2).build(), job("a").parallelism(4).build())
    assert verdicts(gangwarden("check", "-o", "json", "-p", policies, new)) == [("", "skip")] * 2
    result = gangwarden("check", "-o", "json", "-p", policies, "--operation", "UPDATE", "--old", old, new)
    assert (result.exit_code, verdicts(result)) == (1, [("shrinks", "deny"), ("shrinks", "allow")])


def test_the_old_object_is_given_the_defaults_as_well(gangwarden: Gangwarden, write: Write) -> None:
    rules = [{**RULES[0], "operations": ["UPDATE"]}]
    same = validating("same", "object.spec == oldObject.spec", matchConstraints={"resourceRules": rules})
    policies, manifest = write("p.yaml", same, binding(policy="same")), write("job.yaml", BARE_JOB)
    assert gangwarden("check", "-p", policies, "--operation", "UPDATE", "--old", manifest, manifest).exit_code == 0


def test_a_deletion_has_only_an_old_object(gangwarden: Gangwarden, write: Write) -> None:
    rules = [{**RULES[0], "operations": ["DELETE"]}]
    keep = validating("keep", "object == null && oldObject.metadata.name != 'train'", matchConstraints={"resourceRules": rules})
    policies = write("p.yaml", keep, binding(policy="keep"))
    result = gangwarden("check", "-o", "json", "-p", policies, "--operation", "DELETE", write("job.yaml", JOB))
    assert (result.exit_code, verdicts(result)) == (1, [("keep", "deny")])
    assert rows(result)[0]["object"]["name"] == "train"


def test_params_come_from_the_policy_files_or_from_a_file_of_their_own(gangwarden: Gangwarden, write: Write) -> None:
    limited = validating(
        "sizes", "object.spec.parallelism <= int(params.data.most)", paramKind={"apiVersion": "v1", "kind": "ConfigMap"}
    )
    policies = write("p.yaml", limited, binding(paramRef=params_of()))
    manifest = write("job.yaml", JOB)
    without = gangwarden("check", "-o", "json", "-p", policies, manifest)
    assert "param" in rows(without)[0]["message"]
    given = gangwarden("check", "-o", "json", "-p", policies, "--params", write("params.yaml", CONFIG), manifest)
    assert rows(given)[0]["message"] == "failed expression: object.spec.parallelism <= int(params.data.most)"
    larger = write("params.yaml", CONFIG | {"data": {"most": "4"}})
    assert gangwarden("check", "-p", policies, "--params", larger, manifest).exit_code == 0


def test_the_namespace_object_serves_selectors_expressions_and_manifests_without_a_namespace(
    gangwarden: Gangwarden, write: Write
) -> None:
    told = "namespaceObject.metadata.labels.team != 'ml' || request.namespace != 'prod'"
    policies = write("p.yaml", validating("told", told), binding(policy="told"))
    manifest, space = write("job.yaml", BARE_JOB), write("ns.yaml", namespace("prod", team="ml"))
    result = gangwarden("check", "-o", "json", "-p", policies, "--namespace-object", space, manifest)
    assert (verdicts(result), rows(result)[0]["object"]["namespace"]) == ([("told", "deny")], "prod")


@pytest.mark.parametrize(
    ("flags", "name", "groups"),
    [
        pytest.param((), "kubernetes-admin", ["system:masters", "system:authenticated"], id="an administrator by default"),
        pytest.param(("--user", "alice"), "alice", ["system:authenticated"], id="a person"),
        pytest.param(
            ("--user", "alice", "--group", "ml", "--group", "dev"), "alice", ["ml", "dev", "system:authenticated"], id="groups"
        ),
        pytest.param(
            ("--user", "system:serviceaccount:ci:bot"),
            "system:serviceaccount:ci:bot",
            ["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"],
            id="a service account",
        ),
        pytest.param(("--user", "system:anonymous"), "system:anonymous", ["system:unauthenticated"], id="nobody"),
    ],
)
def test_who_asks_can_be_said(flags: tuple[str, ...], name: str, groups: list[str], gangwarden: Gangwarden, write: Write) -> None:
    expression = f"request.userInfo.username == '{name}' && request.userInfo.groups == {groups}"
    policies = write("p.yaml", validating("who", expression), binding(policy="who"))
    result = gangwarden("check", "-p", policies, *flags, write("job.yaml", JOB))
    assert result.exit_code == 0, result.output


GROUP_RULE = validating("group", "cluster.group('team').hasValue()")
CAPABILITIES: Object = {"apiVersion": OURS, "kind": "Capabilities", "groupObjects": True}


def test_a_rule_about_the_cluster_is_skipped_loudly_without_a_snapshot(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-o", "json", "-p", write("p.yaml", GROUP_RULE, binding(policy="group")), write("job.yaml", JOB))
    assert (result.exit_code, verdicts(result)) == (0, [("group", "skip")])
    assert "PodGroups are not in the snapshot" in rows(result)[0]["message"]
    assert result.stderr == "warning: not judged, because the snapshot does not tell enough (see --snapshot): group\n"


def test_a_snapshot_decides_it_and_what_it_does_not_list_is_not_there(gangwarden: Gangwarden, write: Write) -> None:
    policies, manifest = write("p.yaml", GROUP_RULE, binding(policy="group")), write("job.yaml", JOB)
    full, empty = write("full.yaml", CAPABILITIES, pod_group("team").build()), write("empty.yaml", CAPABILITIES)
    assert gangwarden("check", "-p", policies, "--snapshot", full, manifest).exit_code == 0
    result = gangwarden("check", "-o", "json", "-p", policies, "--snapshot", empty, manifest)
    assert (result.exit_code, verdicts(result), result.stderr) == (1, [("group", "deny")], "")


def test_capabilities_of_the_snapshot_decide_about_attachment(gangwarden: Gangwarden, write: Write) -> None:
    policies, manifest = write("p.yaml", workload(), workload_binding()), write("job.yaml", JOB)
    bare = write("bare.yaml", CAPABILITIES | {"groupObjects": False})
    (row,) = rows(gangwarden("check", "-o", "json", "-p", policies, "--snapshot", bare, manifest))
    assert (row["verdict"], row["creates"]) == ("warn", None)


def test_standard_input_and_lists_are_read(gangwarden: Gangwarden, write: Write) -> None:
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": [JOB, job("b").build()]})
    result = gangwarden("check", "-o", "json", "-p", write("p.yaml", validating(), binding()), "-", stdin=everything)
    assert [row["source"] for row in rows(result)] == ["<stdin>#0[0]", "<stdin>#0[1]"]


def test_folders_are_read_whole_and_a_file_stands_once(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", validating(), binding())
    write("jobs/a.yaml", JOB)
    write("jobs/deep/b.json", json.dumps(job("b").build()))
    write("jobs/notes.txt", "no manifest")
    result = gangwarden("check", "-o", "json", "-p", policies, "jobs")
    assert [row["source"] for row in rows(result)] == ["jobs/a.yaml#0", "jobs/deep/b.json#0"]


def test_an_empty_list_is_no_error_but_said(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden(
        "check", "-p", write("p.yaml", validating(), binding()), "-", stdin="apiVersion: v1\nkind: List\nitems: []"
    )
    assert (result.exit_code, result.stdout) == (0, "\nnothing to check\n")
    assert "warning: nothing was checked" in result.stderr


def test_a_native_policy_is_left_to_the_api_server(gangwarden: Gangwarden, write: Write) -> None:
    installed = validating("sizes", TOO_SMALL)
    installed["metadata"]["labels"] = {"gangwarden.dev/install": "native"}
    result = gangwarden("check", "-o", "json", "-p", write("p.yaml", installed, binding()), write("job.yaml", JOB))
    assert verdicts(result) == [("", "skip")]


def test_the_shipped_policies_are_used_by_default(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("check", "-o", "json", write("job.yaml", job().gang().build()))
    assert ("labelled-jobs.gangwarden.dev", "allow") in verdicts(result)


def test_odd_text_is_printed_as_text_and_cannot_act_on_a_terminal(gangwarden: Gangwarden, write: Write) -> None:
    policies = write(
        "p.yaml", validating("sizes", "false", validations=[{"expression": "false", "message": "[red]:cat:\x1b[2J ü"}]), binding()
    )
    result = gangwarden("check", "-p", policies, write("job.yaml", JOB))
    assert "         [red]:cat:\\x1b[2J ü\n" in result.stdout
