"""Finds out what the API server does with group fields, by asking it to admit objects without storing them.

Discovery and OpenAPI do not tell: a field whose gate is off is served, accepted and dropped without a word
(podgroup/strategy.go). So one Job and one PodGroup are sent with ``dryRun=All`` and the answer is read. Where they are
refused, the gates that the API server tells in its metrics stand for it. Neither says anything about the gates of the
scheduler and the controller manager.
"""

from __future__ import annotations

import re
from dataclasses import replace

import structlog

from webhook.cluster.api import Api
from webhook.cluster.connection import Call
from webhook.errors import ClusterError
from webhook.model.groups import ALPHA_SCHEDULING_VERSION, PROBE_LABEL, SCHEDULING_VERSION, Capabilities
from webhook.model.objects import Object

_LOG = structlog.get_logger(__name__)
_REFUSALS = (400, 403, 404, 422)
_GATE = re.compile(rb'^kubernetes_feature_enabled\{name="(\w+)",stage="\w*"\} ([01])', re.MULTILINE)
_TOLD = {
    "WorkloadWithJob": "native_jobs",
    "TopologyAwareWorkloadScheduling": "topology",
    "DRAWorkloadResourceClaims": "shared_claims",
    "PodGroupPreemptionPolicy": "preemption_policy",
    "CompositePodGroup": "composite_groups",
}
"""What the gates of an API server tell; a release that does not know one of them is not the one that we speak to."""
_TEMPLATE = {"restartPolicy": "Never", "containers": [{"name": "probe", "image": "probe"}]}


async def probe_capabilities(api: Api, *, known: Capabilities | None = None, namespace: str = "default") -> Capabilities:
    """Ask what this API server keeps of group fields; repeat it, gates change with every upgrade.

    Where the probe is refused (by RBAC, or by somebody's admission policy for that namespace), what is served still tells
    that GenericWorkload is on (storage_scheduling.go installs nothing without it), and the rest is read from the metrics
    if we may; else ``known`` stays. Raises ClusterError when the server is away: then nothing new is known.
    """
    if not {"workloads", "podgroups"} <= await _served(api, SCHEDULING_VERSION):
        return Capabilities()
    try:
        job = (await api.create(_job(namespace), dry_run=True))["spec"]
        group = (await api.create(_pod_group(namespace), dry_run=True))["spec"]
    except ClusterError as error:
        if error.status not in _REFUSALS:
            raise
        _LOG.warning("the probe of group fields was refused", error=str(error))
        gates = await _gates(api)
        found = Capabilities(**{name: gates[gate] for gate, name in _TOLD.items()}) if gates.keys() >= _TOLD.keys() else known
        found = replace(found or Capabilities(), group_objects=True)
    else:
        found = _read(job, group)
    if found.composite_groups and "compositepodgroups" not in await _served(api, ALPHA_SCHEDULING_VERSION):
        return replace(found, composite_groups=False)
    return found


def _read(job: Object, group: Object) -> Capabilities:
    """Tell from the answers what the API server kept, or filled in by itself."""
    return Capabilities(
        group_objects="schedulingGroup" in job["template"]["spec"],
        native_jobs="scheduling" in job,
        topology="schedulingConstraints" in group,
        shared_claims="resourceClaims" in group,
        preemption_policy="preemptionPolicy" in group,
        composite_groups="parentCompositePodGroupName" in group,
    )


async def _served(api: Api, version: str) -> set[str]:
    try:
        document = await api.read(f"/apis/{version}")
    except ClusterError as error:
        if error.status == 404:
            return set()
        raise
    return {str(entry.get("name")) for entry in document.get("resources") or ()}


async def _gates(api: Api) -> dict[str, bool]:
    """Read the feature gates of an API server that shows us its metrics; empty where it does not.

    Source: component-base/metrics/prometheus/feature. Some megabytes on a large cluster, so not the first thing to ask for.
    """
    answer = await api.connection.call(Call("GET", "/metrics"), timeout_seconds=api.connection.settings.request_seconds)
    return {gate.decode(): value == b"1" for gate, value in _GATE.findall(answer.body)} if answer.is_success else {}


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
    """Build a PodGroup that is valid whatever its API server knows.

    Without a preemptionPolicy: the API server fills it in where it knows the field, and would refuse one that differs from
    that of the cluster's default priority class. That the named parent and Workload are there is looked at by nobody.
    """
    return {
        "apiVersion": SCHEDULING_VERSION,
        "kind": "PodGroup",
        "metadata": _metadata(namespace),
        "spec": {
            "workloadRef": {"workloadName": "gangwarden-probe", "templateName": "probe"},
            "parentCompositePodGroupName": "gangwarden-probe",
            "schedulingPolicy": {"basic": {}},
            "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]},
            "resourceClaims": [{"name": "probe", "resourceClaimTemplateName": "gangwarden-probe"}],
        },
    }
