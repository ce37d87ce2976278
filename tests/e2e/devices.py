"""Devices that a gang may share: two channels which every node reaches, and the claim by which a group asks for one."""

from __future__ import annotations

from typing import Any

CLAIMS = "resource.k8s.io/v1/resourceclaims"
DEVICES = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fabric.example.dev}
spec: {selectors: [{cel: {expression: "device.driver == 'fabric.example.dev'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: fabric}
spec:
  driver: fabric.example.dev
  pool: {name: fabric, generation: 1, resourceSliceCount: 1}
  allNodes: true                  # reached from every node, so a gang may share it
  devices: [{name: channel-0}, {name: channel-1}]
"""
"""Two channels: fewer than the pods of a gang, so pods that do not share could not all start."""
TEMPLATE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "channel"},
    "spec": {"spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "fabric.example.dev"}}]}}},
}
SHARED = {"name": "fabric", "resourceClaimTemplateName": "channel"}


def ask_for(claim: dict[str, str], pod: dict[str, Any]) -> None:
    """Let a pod's spec name a claim, and its first container use it."""
    pod["resourceClaims"] = [claim]
    pod["containers"][0]["resources"]["claims"] = [{"name": claim["name"]}]
