"""Processes of their own for a scene: one that must not start, two that share a Secret, one on a cluster without groups."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.controlplane.client import PODS, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import NO_GROUPS
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import COMMAND, SYSTEM_NAMESPACE, Installation, labelled_job
from tests.e2e.outside import bundles, is_stamped, served

ROOT = Path(__file__).resolve().parents[2]
GROUP_SECONDS = 60.0


def test_a_broken_policy_keeps_a_process_from_starting(control_plane, tmp_path):
    shutil.copytree(ROOT / "policies" / "gang", tmp_path / "policies")
    broken = tmp_path / "policies" / "size-limits" / "policy.yaml"
    broken.write_text(
        broken.read_text() + "\n---\napiVersion: gangwarden.dev/v1alpha1\nkind: WorkloadPolicy\nmetadata: {name: x}\n"
    )
    ended = subprocess.run(
        [COMMAND, "serve", "--kubeconfig", str(control_plane.kubeconfig), "-p", str(tmp_path / "policies")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 3
    assert f"{broken}:" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.fixture
def installed(control_plane, tmp_path):
    """Processes of our own for one scene."""
    made = Installation(control_plane, ROOT / "policies", tmp_path)
    try:
        yield made
    finally:
        made.close()
        print(made.logs())


def test_replicas_that_share_a_secret_serve_the_same_certificate(installed, namespace):
    secret = f"certs-{namespace}"
    shared = ("--cert-secret", f"{SYSTEM_NAMESPACE}/{secret}")
    replica, port = installed.start_replica(*shared)
    try:
        installed.start_webhook("serve", *shared)
        stored = installed.client.get("v1/secrets", SYSTEM_NAMESPACE, secret)
        bundle = base64.b64decode(stored["data"]["ca.crt"]).decode()
        assert served(port, trusting=bundle) == served(installed.port, trusting=bundle)
        assert bundles(installed.client) == {stored["data"]["ca.crt"]}
        assert is_stamped(installed.client, namespace)
    finally:
        assert replica.stop() == 0
        installed.client.delete("v1/secrets", SYSTEM_NAMESPACE, secret)


def test_on_a_cluster_without_groups_a_job_is_admitted_with_a_warning(tmp_path):
    with ControlPlane(gates=NO_GROUPS) as cluster, cluster.namespace() as namespace:
        made = Installation(cluster, ROOT / "policies", tmp_path)
        made.is_called = lambda: (
            "Warning: "
            in cluster.kubectl(  # type: ignore[method-assign]  # there is no stamp to look for here
                "create", "--dry-run=server", "-f", "-", stdin=json.dumps(labelled_job("probe", namespace)), check=False
            )
        )
        try:
            made.start_webhook("run")
            said = cluster.kubectl("create", "-f", "-", stdin=json.dumps(labelled_job("train", namespace)))
            assert "feature gate GenericWorkload" in said
            assert "in kube-apiserver" in said
            wait_for(lambda: len([p for p in cluster.client.list(PODS, namespace) if is_bound(p)]) == 4, seconds=GROUP_SECONDS)
            assert made.webhook.alive
        finally:
            made.close()
            print(made.logs())
