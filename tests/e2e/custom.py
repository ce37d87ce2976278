"""Kinds of other projects that shipped policies speak of: stand-ins for their CRDs, which take any field."""

from __future__ import annotations

import json

from tests.controlplane.cluster import ControlPlane

KINDS = {
    "jobset.x-k8s.io/v1alpha2": "JobSet",
    "leaderworkerset.x-k8s.io/v1": "LeaderWorkerSet",
    "kubeflow.org/v2beta1": "MPIJob",
}


def withdraw_custom_kinds(cluster: ControlPlane) -> None:
    """Take the kinds away again, with all objects of them."""
    for api_version, kind in KINDS.items():
        cluster.kubectl("delete", "crd", f"{kind.lower()}s.{api_version.partition('/')[0]}", "--ignore-not-found")


def serve_custom_kinds(cluster: ControlPlane) -> None:
    """Let the API server take objects of these kinds."""
    for api_version, kind in KINDS.items():
        group, _, version = api_version.partition("/")
        names = {"kind": kind, "singular": kind.lower(), "plural": f"{kind.lower()}s"}
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}}
        served = {"name": version, "served": True, "storage": True, "schema": schema}
        name = f"{names['plural']}.{group}"
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [served]},
        }
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(crd))
        cluster.kubectl("wait", "--for=condition=Established", f"crd/{name}")
