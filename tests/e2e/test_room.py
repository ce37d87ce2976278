"""Policies that ask for the room of nodes: alike in the webhook and on a laptop with a saved snapshot."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import JOBS, PODS, ApiError, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import RACK_KEY
from tests.controlplane.scenes import is_bound, job
from tests.e2e.installation import COMMAND, SHIPPED, Installation, running

ROOM_SECONDS = 60.0
POLICY = f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: one-rack.example.dev}}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}}
  variables:
  - {{name: fit, expression: "cluster.fit(object.spec.template.spec, object.spec.parallelism, '{RACK_KEY}')"}}
  validations:
  - {{expression: variables.fit.whenEmpty.fits, messageExpression: variables.fit.whenEmpty.reason}}
  - {{expression: variables.fit.fits, messageExpression: "'now, ' + variables.fit.reason"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: one-rack.example.dev}}
spec: {{policyName: one-rack.example.dev, validationActions: [Deny]}}
"""
"""Two racks of two nodes with 4 CPU each; the fake nodes run nothing but our pods."""
TOO_LARGE = f"no domain of {RACK_KEY}"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    directory = tmp_path_factory.mktemp("room")
    policies = directory / "policies"
    policies.mkdir()
    (policies / "gang.yaml").write_text((SHIPPED / "gang/labelled-jobs/policy.yaml").read_text())
    (policies / "room.yaml").write_text(POLICY)
    with running(control_plane, policies, directory) as made:
        yield made


def refusal(installed: Installation, asked: dict[str, Any]) -> str:
    """Return what the API server says to a Job that is not stored; empty if it takes it."""
    try:
        installed.client.create(asked, dry_run=True)
    except ApiError as error:
        return str(error.body["message"])
    return ""


def offline(installed: Installation, snapshot: Path, asked: dict[str, Any], folder: Path) -> str:
    """Return the message of the first denial by ``check`` with a saved snapshot; empty if there is none."""
    manifest = folder / "job.json"
    manifest.write_text(json.dumps(asked))
    flags = ["-p", str(installed.policies / "room.yaml"), "--snapshot", str(snapshot), "-o", "json"]
    command = [COMMAND, "check", *flags, str(manifest)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=ROOM_SECONDS)
    assert done.returncode in (0, 1), done.stderr
    return next((one["message"] for one in json.loads(done.stdout)["results"] if one["verdict"] == "deny"), "")


def saved(control_plane: ControlPlane, folder: Path, *flags: str) -> Path:
    file = folder / "cluster.yaml"
    command = [COMMAND, "snapshot", "save", str(file), "--kubeconfig", str(control_plane.kubeconfig), *flags]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=ROOM_SECONDS)
    assert done.returncode == 0, done.stderr
    assert " objects of " in done.stderr
    return file


CASES = {
    "all of a rack": (8, "1", ""),
    "one pod a node": (2, "3", ""),
    "more than a rack": (9, "1", "holds 8 of 9 pods: 2 nodes short of cpu"),
    "more than its nodes": (3, "3", "holds 2 of 3 pods"),
    "more than a node": (1, "5", TOO_LARGE),
}


@pytest.mark.parametrize("case", CASES)
def test_webhook_and_laptop_say_the_same(installed: Installation, namespace: str, tmp_path: Path, case: str) -> None:
    pods, cpu, said = CASES[case]
    asked = job("train", namespace, pods=pods, cpu=cpu)
    wait_for(lambda: said in refusal(installed, asked), seconds=ROOM_SECONDS, what="the webhook knows the nodes")
    told, laptop = refusal(installed, asked), offline(installed, saved(installed.cluster, tmp_path), asked, tmp_path)
    assert (bool(told), bool(laptop)) == (bool(said), bool(said))
    assert laptop in told


def test_room_that_is_taken_is_no_room_until_it_is_free_again(installed: Installation, namespace: str) -> None:
    client, asked = installed.client, job("later", namespace, pods=8)
    wait_for(lambda: refusal(installed, asked) == "", seconds=ROOM_SECONDS, what="the racks are empty")
    first = job("first", namespace, pods=8)
    client.create(first)
    wait_for(lambda: all(map(is_bound, client.list(PODS, namespace))), seconds=ROOM_SECONDS, what="the first Job runs")
    wide = job("wide", namespace, pods=8, cpu="2")
    assert "holds 4 of 8 pods" in refusal(installed, wide)
    another = job("another", namespace, pods=16)
    assert "short of cpu" in refusal(installed, another)
    wait_for(lambda: "now, " in refusal(installed, asked), seconds=ROOM_SECONDS, what="the room is seen as taken")
    client.delete(JOBS, namespace, "first")
    wait_for(lambda: refusal(installed, asked) == "", seconds=ROOM_SECONDS, what="the room is seen as free")


def test_a_snapshot_holds_no_secret_and_little_of_a_pod(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": namespace},
        "stringData": {"a": "hush-hush"},
    }
    control_plane.client.create(secret)
    asked = job("secretive", namespace, pods=1)
    asked["spec"]["template"]["spec"]["containers"][0] |= {
        "env": [{"name": "TOKEN", "value": "hush-hush"}],
        "args": ["hush-hush"],
    }
    control_plane.client.create(asked)
    wait_for(lambda: control_plane.client.list(PODS, namespace), seconds=ROOM_SECONDS, what="the pod is there")
    text = saved(control_plane, tmp_path, "-n", namespace).read_text()
    assert "secretive" in text
    assert "hush-hush" not in text
    assert "kind: Node\n" in text
