"""``check`` asks policies about Pods of templates where they want it, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import job
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating
from webhook.admission.templates import ANNOTATION
from webhook.model.objects import Object

PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
JOB = job("train").build()


def about_pods(*expressions: str, asks: str = "true") -> Object:
    policy = validating("pods", *expressions, matchConstraints={"resourceRules": PODS})
    return {**policy, "metadata": {"name": "pods", "annotations": {ANNOTATION: asks}}}


def rows(gangwarden: Gangwarden, *arguments: str) -> list[Any]:
    return list(json.loads(gangwarden("check", "-o", "json", *arguments).stdout)["results"])


def test_the_pod_of_a_job_is_judged_beside_it(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", about_pods("has(object.spec.hostNetwork)"), binding("pods", "pods"))
    own, pod = rows(gangwarden, "-p", policies, write("job.yaml", JOB))
    assert (own["object"]["kind"], own["verdict"]) == ("Job", "skip")
    assert (pod["object"]["kind"], pod["object"]["name"], pod["verdict"]) == ("Pod", "train-", "deny")
    assert gangwarden("check", "-p", policies, "job.yaml").exit_code == 1


@pytest.mark.parametrize("asks", ["false", ""])
def test_a_policy_that_does_not_ask_is_not_asked(gangwarden: Gangwarden, write: Write, asks: str) -> None:
    policies = write("p.yaml", about_pods("false", asks=asks), binding("pods", "pods"))
    assert [row["verdict"] for row in rows(gangwarden, "-p", policies, write("job.yaml", JOB))] == ["skip"]


def test_a_pod_has_its_defaults_unless_it_is_judged_raw(gangwarden: Gangwarden, write: Write) -> None:
    rule = "has(object.spec.enableServiceLinks)"  # a default of pods, not of templates
    policies = write("p.yaml", about_pods(rule), binding("pods", "pods"))
    manifest = write("job.yaml", JOB)
    assert [row["verdict"] for row in rows(gangwarden, "-p", policies, manifest)] == ["skip", "allow"]
    assert [row["verdict"] for row in rows(gangwarden, "--raw", "-p", policies, manifest)] == ["skip", "deny"]


def test_what_is_deleted_makes_no_pods(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", about_pods("false"), binding("pods", "pods"))
    found = rows(gangwarden, "--operation", "DELETE", "-p", policies, write("job.yaml", JOB))
    assert [row["verdict"] for row in found] == ["skip"]


def test_the_field_of_a_finding_is_that_of_the_template(gangwarden: Gangwarden, write: Write) -> None:
    policies = write("p.yaml", about_pods("object.spec.containers.all(c, c.image == 'y')"), binding("pods", "pods"))
    _, pod = rows(gangwarden, "-p", policies, write("job.yaml", JOB))
    assert pod["verdict"] == "deny"
    assert pod["field"] == "spec.template.spec.containers"


def test_lint_is_content_with_a_policy_that_asks(gangwarden: Gangwarden, write: Write) -> None:
    rule = "object.spec.containers.all(c, c.image == 'y')"
    assert "missed-templates" in gangwarden("lint", write("p.yaml", about_pods(rule, asks="no"), binding("pods", "pods"))).stdout
    assert "missed-templates" not in gangwarden("lint", write("p.yaml", about_pods(rule), binding("pods", "pods"))).stdout
