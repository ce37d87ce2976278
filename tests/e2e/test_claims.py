"""Devices that a group shares: the scheduler allocates one claim for all of its pods, and gives it back with the group."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import JOBS, POD_GROUPS, PODS, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import is_bound, job
from tests.e2e.devices import CLAIMS, SHARED, TEMPLATE, ask_for
from tests.e2e.installation import CANARY, SHIPPED, Installation, running

PATIENCE_SECONDS = 60.0
GANG_PODS = 4
ROUTES = {"by the Job controller": "train", "by Gangwarden": "a" * 58}
"""A name of 58 characters is more than the Job controller's own groups can carry."""


@pytest.fixture(scope="module")
def installed(native: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    directory = tmp_path_factory.mktemp("claims")
    with running(native, policies_in(directory), directory, *CANARY) as made:
        yield made


@pytest.fixture(scope="module")
def without_gate(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The same policies beside a control plane that would drop a group's claims."""
    directory = tmp_path_factory.mktemp("no-claims")
    with running(control_plane, policies_in(directory), directory) as made:
        yield made


@pytest.fixture
def channels(native: ControlPlane, space: str) -> str:
    """A namespace with a template for claims."""
    native.client.create(TEMPLATE, namespace=space)
    return space


def policies_in(directory: Path) -> Path:
    """The shipped policies and one more: Jobs with the label ``fabric`` are gangs that share a channel."""
    made = directory / "policies"
    shutil.copytree(SHIPPED, made)
    policy, binding = yaml.safe_load_all((made / "gang/labelled-jobs/policy.yaml").read_text())
    policy["metadata"]["name"] = binding["metadata"]["name"] = binding["spec"]["policyName"] = "fabric.example.dev"
    policy["spec"]["matchConstraints"]["objectSelector"] = {"matchLabels": {"example.dev/fabric": "shared"}}
    policy["spec"]["podGroups"][0]["resourceClaims"] = [SHARED]
    (made / "fabric.yaml").write_text(yaml.safe_dump_all([policy, binding]))
    return made


def sharing_job(job_name: str, namespace: str, **claim: str) -> dict[str, Any]:
    """A Job whose pods ask for a claim, the group's own if nothing else is said."""
    made = job(job_name, namespace, pods=GANG_PODS, ttlSecondsAfterFinished=600)
    made["metadata"]["labels"] = {"example.dev/fabric": "shared"}
    ask_for(SHARED | claim, made["spec"]["template"]["spec"])
    return made


@pytest.mark.parametrize("route", ROUTES)
def test_one_claim_serves_the_whole_group_and_ends_with_it(installed: Installation, channels: str, route: str) -> None:
    client, name = installed.client, ROUTES[route]
    made = client.create(sharing_job(name, channels))
    assert ("scheduling" in made["spec"]) == (route == "by the Job controller")
    pods = wait_for(
        lambda: found if len(found := [pod for pod in client.list(PODS, channels) if is_bound(pod)]) == GANG_PODS else None,
        seconds=PATIENCE_SECONDS,
        what="all four are bound",
    )
    (group,), (claim,) = client.list(POD_GROUPS, channels), client.list(CLAIMS, channels)
    assert group["spec"]["resourceClaims"] == [SHARED]
    (holder,) = claim["status"]["reservedFor"]
    assert (holder["resource"], holder["name"], holder["uid"]) == (
        "podgroups",
        group["metadata"]["name"],
        group["metadata"]["uid"],
    )
    (device,) = claim["status"]["allocation"]["devices"]["results"]
    assert (device["driver"], device["pool"]) == ("fabric.example.dev", "fabric")
    named = {status["resourceClaimName"] for pod in pods for status in pod["status"]["resourceClaimStatuses"]}
    assert named == {claim["metadata"]["name"]}
    client.delete(JOBS, channels, name)
    wait_for(lambda: not client.list(CLAIMS, channels), seconds=PATIENCE_SECONDS, what="the device is free again")


@pytest.mark.parametrize(
    "difference", [{"name": "net"}, {"resourceClaimTemplateName": "another"}], ids=lambda value: next(iter(value))
)
@pytest.mark.parametrize("route", ROUTES)
def test_pods_that_name_the_claim_in_other_words_are_refused(
    installed: Installation, channels: str, difference: dict[str, str], route: str
) -> None:
    """Kubernetes would give each of them a claim of its own, and the gang would wait for devices that there are not."""
    asked = sharing_job(ROUTES[route], channels, **difference)
    refusal = wait_for(lambda: installed.client.attempt(asked)[0], seconds=PATIENCE_SECONDS, what="the webhook is asked")
    assert "WorkloadPolicy 'fabric.example.dev'" in refusal
    assert "the group shares the claim 'fabric' from resourceClaimTemplateName 'channel', but no entry" in refusal


def test_a_jobs_own_claims_that_its_pods_do_not_name_are_refused(installed: Installation, channels: str) -> None:
    asked = sharing_job("own", channels, name="net")
    asked["metadata"]["labels"] = {}
    asked["spec"]["scheduling"] = {"schedulingPolicy": {"gang": {}}, "resourceClaims": [SHARED]}
    refusal = wait_for(lambda: installed.client.attempt(asked)[0], seconds=PATIENCE_SECONDS, what="the webhook is asked")
    assert "matching-claims.gangwarden.dev" in refusal
    assert "spec.scheduling.resourceClaims has 'fabric' from resourceClaimTemplateName 'channel', but no entry" in refusal


def test_a_cluster_that_would_drop_the_claims_refuses_and_names_the_gate(without_gate: Installation, namespace: str) -> None:
    refusal, _ = without_gate.client.attempt(sharing_job("train", namespace))
    assert "to share resource claims, but feature gate DRAWorkloadResourceClaims is off" in refusal
