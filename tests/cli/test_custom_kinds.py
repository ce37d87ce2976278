"""Custom objects are judged as their CRDs complete them, wherever the CRD is given."""

from __future__ import annotations

import pytest

from tests.admission.custom import CRD, custom
from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating
from webhook.model.objects import Object

POOLS = [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pools"]}]
POLICY: Object = validating("modes", "object.spec.?mode.orValue('none') == 'spread' && !has(object.spec.junk)")
POLICY["spec"]["matchConstraints"] = {"resourceRules": POOLS}
POOL = custom({"junk": 1})


@pytest.fixture
def policy(write: Write) -> str:
    return write("policy.yaml", POLICY, binding("modes", "modes"))


def test_without_its_crd_an_object_is_judged_as_it_is_written(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    assert gangwarden("check", "-p", policy, write("pool.yaml", POOL)).exit_code == 1


def test_a_crd_among_the_inputs_completes_objects(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    done = gangwarden("check", "-p", policy, write("pool.yaml", POOL), write("crd.yaml", CRD))
    assert done.exit_code == 0
    assert "warning: pool.yaml#0: unknown field spec.junk is dropped by the API server" in done.stderr


def test_a_crd_of_the_snapshot_completes_objects(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    snapshot = write("snapshot.yaml", CRD)
    assert gangwarden("check", "-p", policy, "--snapshot", snapshot, write("pool.yaml", POOL)).exit_code == 0


def test_the_raw_object_is_not_completed(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    assert gangwarden("check", "--raw", "-p", policy, write("all.yaml", CRD, POOL)).exit_code == 1


def test_a_crd_that_cannot_be_read_ends_the_command(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    done = gangwarden("check", "-p", policy, write("crd.yaml", {**CRD, "spec": {"group": "example.com"}}))
    assert done.exit_code == 4
    assert "crd.yaml#0: a CustomResourceDefinition must have spec.group, spec.names.kind" in done.stderr


def test_a_case_completes_objects_by_the_crds_of_its_snapshot(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    case = {"name": "a pool by default", "object": POOL, "snapshot": [CRD], "expect": {"verdict": "allow"}}
    spec = {"policies": [policy], "cases": [case]}
    tests = write(
        "cases.yaml", {"apiVersion": "gangwarden.dev/v1alpha1", "kind": "PolicyTest", "metadata": {"name": "pools"}, "spec": spec}
    )
    assert gangwarden("test", tests).exit_code == 0


def test_a_crd_among_the_manifests_of_a_folder_completes_objects(gangwarden: Gangwarden, write: Write, policy: str) -> None:
    write("pools/pool.yaml", POOL)
    assert "deny" in gangwarden("dev", "--once", "-p", policy, "pools").stdout
    write("pools/crd.yaml", CRD)
    done = gangwarden("dev", "--once", "-p", policy, "pools")
    assert "deny" not in done.stdout
    assert "warning: unknown field spec.junk is dropped by the API server" in done.stdout
    write("pools/crd.yaml", {**CRD, "spec": {"group": "example.com"}})
    assert gangwarden("dev", "--once", "-p", policy, "pools").exit_code == 4
