"""The policies that see the cluster: what they say in one, with the permissions that are told of and no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.component import free_ports
from tests.e2e.installation import CONFIGURATIONS, Process, labelled_job
from tests.e2e.test_install_manifests import ACCOUNTS, INSTALL, account, is_stamped

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
PERMISSIONS = [path for path in INSTALL if path.name < "20"]
MORE = ROOT / "docs/install/optional/permissions.yaml"
ALL_CPU = 16
"""Of the control plane's nodes together; they have four each."""


@pytest.fixture(scope="module")
def seeing(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A webhook with the token of its account, and all policies there are."""
    directory = tmp_path_factory.mktemp("optional")
    for path in (*PERMISSIONS, MORE):
        control_plane.kubectl("apply", "--server-side", "--validate=strict", "-f", str(path))
    (port,) = free_ports(1)
    place = ["--host=127.0.0.1", f"--port={port}", f"--url=https://localhost:{port}", f"--cert-dir={directory / 'certs'}"]
    policies = [word for name in ("policies", "policies-optional") for word in ("-p", str(ROOT / name))]
    webhook = Process(["serve", *policies, *place, *account(control_plane, ACCOUNTS[0], directory)], directory / "webhook.log")
    client = control_plane.client
    try:
        wait_for(lambda: is_stamped(client), seconds=PATIENCE_SECONDS, what="the webhook stamps")
        large = labelled_job("large", "default", pods=ALL_CPU + 1)
        wait_for(lambda: client.attempt(large)[1], seconds=PATIENCE_SECONDS, what="it is asked for its verdicts as well")
        yield client
        assert "forbidden" not in webhook.text().lower()
    finally:
        webhook.tell_to_end()
        for resource in CONFIGURATIONS:
            client.delete(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden")
        webhook.stop()
        for path in (MORE, ROOT / "docs/install/10-permissions.yaml"):
            control_plane.kubectl("delete", "--ignore-not-found", "-f", str(path))


def warned(client: Client, asked: dict[str, Any]) -> str:
    """Return the warnings about a Job that is taken."""
    refusal, warnings = client.attempt(asked)
    assert refusal == ""
    return "\n".join(warnings)


def test_a_gang_larger_than_all_nodes_together_is_told_how_many_would_fit(seeing: Client, namespace: str) -> None:
    assert warned(seeing, labelled_job("fits", namespace, pods=ALL_CPU)) == ""
    said = warned(seeing, labelled_job("large", namespace, pods=ALL_CPU + 1))
    assert f"the cluster holds {ALL_CPU} of {ALL_CPU + 1} pods" in said
    assert f"ask for at most {ALL_CPU} such pods" in said


def test_a_quota_that_could_never_hold_the_gang_refuses_it(seeing: Client, namespace: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": namespace}}
    seeing.create({**quota, "spec": {"hard": {"requests.cpu": "3"}}})
    asked = labelled_job("train", namespace, pods=4)
    wait_for(lambda: seeing.attempt(asked)[0], seconds=PATIENCE_SECONDS, what="the webhook has seen the quota")
    assert "ResourceQuota 'small' allows requests.cpu up to 3" in seeing.attempt(asked)[0]
    assert seeing.attempt(labelled_job("train", namespace, pods=3))[0] == ""


def test_names_of_what_does_not_exist_are_told(seeing: Client, namespace: str) -> None:
    asked = labelled_job("train", namespace, pods=1)
    asked["spec"]["template"]["spec"] |= {
        "priorityClassName": "trainning",
        "resourceClaims": [{"name": "fabric", "resourceClaimTemplateName": "chanel"}],
    }
    said = warned(seeing, asked)
    assert "there is no such PriorityClass" in said
    assert "There is no ResourceClaimTemplate 'chanel'" in said
