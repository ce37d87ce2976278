"""Configurations at an address where nobody answers: what a cluster lives by goes on, and what fails closed says why."""

from __future__ import annotations

import subprocess
from contextlib import suppress

from tests.controlplane.client import NODES, ApiError, wait_for
from tests.controlplane.component import free_ports
from tests.e2e.installation import COMMAND, CONFIGURATIONS, SYSTEM_NAMESPACE

EVERY_LEASE = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: everything}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [leases, configmaps]}]
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everything}
spec: {policyName: everything, validationActions: [Deny]}
"""


def test_without_a_replica_leases_and_the_system_go_on_and_what_fails_closed_says_why(control_plane, namespace, tmp_path):
    (tmp_path / "policy.yaml").write_text(EVERY_LEASE)
    (port,), client = free_ports(1), control_plane.client
    where = ["--kubeconfig", str(control_plane.kubeconfig), "--url", f"https://localhost:{port}"]
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "a"}}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}

    def attempt(obj, place, name="standing"):
        return client.attempt(obj | {"metadata": {"name": name, "namespace": place}})[0]

    with suppress(ApiError):
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    try:
        apply = [COMMAND, "webhooks", "apply", *where, "-p", str(tmp_path / "policy.yaml")]
        subprocess.run(apply, check=True, timeout=120, capture_output=True)
        refused = wait_for(lambda: attempt(settings, namespace), what="the API server calls nobody")
        assert 'failed calling webhook "fail.validate.gangwarden.dev"' in refused
        assert "connection refused" in refused
        for place in (namespace, "kube-node-lease", "kube-system", SYSTEM_NAMESPACE):
            assert attempt(lease, place) == ""
        for place in ("kube-system", SYSTEM_NAMESPACE):
            assert attempt(settings, place) == ""
        (node, *_) = client.list(NODES)
        client.patch(NODES, "", node["metadata"]["name"], {"metadata": {"labels": {"standing": "yes"}}}, dry_run=True)
    finally:
        for resource in CONFIGURATIONS:
            client.delete(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden")
