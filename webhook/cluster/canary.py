"""Finds out whether the Job controller makes groups, by giving it a Job that never runs.

The API server keeping ``spec.scheduling`` says nothing about the controller manager, whose gate WorkloadWithJob may be off or
away for an upgrade. A suspended Job gets its PodGroup in the controller's first look at it and never a pod
(pkg/controller/job/job_scheduling_manager.go in 1.37), so it is the cheapest question there is.
"""

from __future__ import annotations

import asyncio

from webhook.cluster.api import Api
from webhook.model.groups import PROBE_LABEL, SCHEDULING_GROUP
from webhook.model.objects import Kind, Object, ObjectKey, controller_of, metadata_of

_POD_GROUP = Kind(SCHEDULING_GROUP, "v1beta1", "PodGroup")
_LOOK_SECONDS = 0.5


async def job_controller_makes_groups(api: Api, namespace: str, *, patience_seconds: float) -> bool:
    """Create a suspended Job, tell whether it gets a PodGroup in time, and delete it; raises ClusterError if it cannot."""
    job = await api.create(_canary(namespace))
    uid = str(metadata_of(job)["uid"])
    try:
        async with asyncio.timeout(patience_seconds):
            while not await _is_grouped(api, namespace, uid):  # noqa: ASYNC110 - a watch would cost more than what takes a second
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        return False
    finally:
        await api.delete(ObjectKey.of(job), uid=uid)
    return True


async def _is_grouped(api: Api, namespace: str, uid: str) -> bool:
    owners = [controller_of(group) for group in await api.list(_POD_GROUP, namespace=namespace)]
    return any(owner is not None and owner.get("uid") == uid for owner in owners)


def _canary(namespace: str) -> Object:
    container = {"name": "canary", "image": "canary", "resources": {"requests": {"cpu": "1m"}, "limits": {"cpu": "1m"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "generateName": "gangwarden-canary-", "labels": {PROBE_LABEL: "true"}},
        "spec": {
            "suspend": True,
            "scheduling": {"schedulingPolicy": {"basic": {}}},
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
