"""Finds out what the API server does with group fields, by asking it to admit objects without storing them.

Discovery and OpenAPI do not tell: a field whose gate is off is served, accepted and dropped without a word
(podgroup/strategy.go). So one Job and one PodGroup are sent with ``dryRun=All`` and the answer is read. This says
nothing about the gates of the scheduler and the controller manager.
"""

from __future__ import annotations

from dataclasses import replace

import structlog

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.groups import PROBE_LABEL, SCHEDULING_VERSION, Capabilities
from webhook.model.objects import Object

_LOG = structlog.get_logger(__name__)
_REFUSALS = (400, 403, 404, 422)
_TEMPLATE = {"restartPolicy": "Never", "containers": [{"name": "probe", "image": "probe"}]}


async def probe_capabilities(api: Api, *, known: Capabilities | None = None, namespace: str = "default") -> Capabilities:
    """Ask what this API server keeps of group fields; repeat it, gates change with every upgrade.

    Where the probe is refused (by RBAC, or by somebody's admission policy for that namespace), what is served still tells
    that GenericWorkload is on (storage_scheduling.go installs nothing without it); of the rest ``known`` stays.
    Raises ClusterError when the server is away: then nothing new is known.
    """
    try:
        served = await api.read(f"/apis/{SCHEDULING_VERSION}")
    except ClusterError as error:
        if error.status == 404:
            return Capabilities()
        raise
    names = {entry.get("name") for entry in served.get("resources") or ()}
    if not {"workloads", "podgroups"} <= names:
        return Capabilities()
    try:
        job = (await api.create(_job(namespace), dry_run=True))["spec"]
        group = (await api.create(_pod_group(namespace), dry_run=True))["spec"]
    except ClusterError as error:
        if error.status not in _REFUSALS:
            raise
        _LOG.warning("the probe of group fields was refused", error=str(error))
        return replace(known or Capabilities(), group_objects=True)
    return Capabilities(
        group_objects="schedulingGroup" in job["template"]["spec"],
        native_jobs="scheduling" in job,
        topology="schedulingConstraints" in group,
        shared_claims="resourceClaims" in group,
    )


def _metadata(namespace: str) -> Object:
    return {"namespace": namespace, "generateName": "gangwarden-probe-", "labels": {PROBE_LABEL: "true"}}


def _job(namespace: str) -> Object:
    """Build a Job that is valid with and without its group fields; ``basic`` asks for nothing."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(namespace),
        "spec": {
            "suspend": True,
            "scheduling": {"schedulingPolicy": {"basic": {}}},
            "template": {"spec": _TEMPLATE | {"schedulingGroup": {"podGroupName": "gangwarden-probe"}}},
        },
    }


def _pod_group(namespace: str) -> Object:
    return {
        "apiVersion": SCHEDULING_VERSION,
        "kind": "PodGroup",
        "metadata": _metadata(namespace),
        "spec": {
            "schedulingPolicy": {"basic": {}},
            "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]},
            "resourceClaims": [{"name": "probe", "resourceClaimTemplateName": "gangwarden-probe"}],
        },
    }
