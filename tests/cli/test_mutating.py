"""Mutating policies on the command line: ``check`` shows the part of each, ``dev`` what comes of all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import job
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import mutating, mutating_binding
from webhook.model.objects import Object

JOB = job("train").build()
SUSPEND = "Object{spec: Object.spec{suspend: true}}"
ATOMIC = "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}"
SEEN = {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}
IGNORING = {"failurePolicy": "Ignore"}


def rows(gangwarden: Gangwarden, *args: str) -> tuple[int, list[Any]]:
    result = gangwarden("check", "-o", "json", *args)
    return result.exit_code, json.loads(result.stdout)["results"]


def bound(name: str, *expressions: str, **spec: Any) -> list[Object]:
    return [mutating(name, *expressions, **spec), mutating_binding(name, name)]


def test_check_shows_patch_and_object_of_each_policy(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", *bound("a"), *bound("b", SUSPEND))
    code, (first, second) = rows(gangwarden, "-p", policies, write("job.yaml", JOB))
    assert (code, first["policy"], first["verdict"], first["patch"]) == (0, "a", "allow", [SEEN])
    assert second["patch"] == [{"op": "replace", "path": "/spec/suspend", "value": True}]
    assert (second["patched"]["metadata"]["labels"], second["patched"]["spec"]["suspend"]) == ({"seen": "yes"}, True)


def test_raw_objects_get_no_defaults_by_the_way(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", *bound("a", SUSPEND))
    _, (row,) = rows(gangwarden, "--raw", "-p", policies, write("job.yaml", JOB))
    assert row["patched"] == {**JOB, "spec": {**JOB["spec"], "suspend": True}}


@pytest.mark.parametrize(("spec", "verdict"), [({}, "deny"), (IGNORING, "error")], ids=["Fail", "Ignore"])
def test_a_mutation_that_fails_is_a_finding_with_its_rule(
    gangwarden: Gangwarden, write: Write, spec: Object, verdict: str
) -> None:
    policies = write("p.yaml", *bound("a", ATOMIC, **spec))
    code, (row,) = rows(gangwarden, "-p", policies, write("job.yaml", JOB))
    assert (code, row["verdict"], row["rule"]) == (1, verdict, "mutations[0]")
    assert row["message"].endswith("may not mutate atomic arrays, maps or structs: .spec.selector")


def test_an_unbound_policy_acts_and_is_named(gangwarden: Gangwarden, write: Write) -> None:
    policies, manifest = write("p.yaml", mutating("a")), write("job.yaml", JOB)
    assert "(--unbound=deny): a" in gangwarden("check", "-p", policies, manifest).stderr
    assert rows(gangwarden, "-p", policies, manifest)[1][0]["patch"] == [SEEN]
    _, (skipped,) = rows(gangwarden, "--unbound", "skip", "-p", policies, manifest)
    assert (skipped["verdict"], skipped["patch"]) == ("skip", None)


def test_dev_calls_both_paths_and_shows_one_patch(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", *bound("a", **IGNORING), *bound("b", SUSPEND))
    write("jobs/job.yaml", JOB)
    said = gangwarden("dev", "--once", "-p", policies, "jobs").stdout
    assert 'patch  add /metadata/labels {"seen": "yes"}' in said
    assert "patch  replace /spec/suspend true" in said


def test_dev_names_the_policy_that_refuses(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", *bound("a", ATOMIC))
    write("jobs/job.yaml", JOB)
    said = gangwarden("dev", "--once", "-p", policies, "jobs").stdout
    assert "deny   a" in said
    assert "may not mutate atomic arrays" in said
