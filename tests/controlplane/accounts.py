"""Who somebody is to the API server: a kubeconfig for a service account, as kubelet mounts its token into a pod."""

from __future__ import annotations

import base64

import yaml

from tests.controlplane.client import path_of
from tests.controlplane.cluster import ControlPlane


def account_kubeconfig(cluster: ControlPlane, namespace: str, account: str, *, server: str = "") -> str:
    """Return the text of a kubeconfig with a token of an hour; ``server`` is where to call, if not the API server itself."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = cluster.client.request("POST", path_of("v1/serviceaccounts", namespace, account, "token"), asked)["status"]["token"]
    authority = base64.b64encode((cluster.pki / "ca.crt").read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "pod",
        "clusters": [{"name": "pod", "cluster": {"server": server or cluster.server, "certificate-authority-data": authority}}],
        "users": [{"name": "pod", "user": {"token": token}}],
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}],
    }
    return yaml.safe_dump(config)
