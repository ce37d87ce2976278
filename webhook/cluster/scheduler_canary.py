"""Finds out whether the scheduler keeps groups together, by giving it two pods that can never run.

The API server keeping ``spec.schedulingGroup`` says nothing about the scheduler, whose gate GenericWorkload may be off: every
member of a gang is a pod like others to it then. So one pod names a PodGroup that does not exist. With the gate on it is held
back before it is looked at, and no condition says so (PreEnqueue of pkg/scheduler/framework/plugins/gangscheduling in 1.37);
with the gate off no node is found for it, and a condition says that. The other pod is in no group, and shows that somebody
looks at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.groups import condition
from webhook.model.groups import PROBE_LABEL
from webhook.model.objects import Kind, Object, ObjectKey, metadata_of

_POD = Kind("", "v1", "Pod")
_LABEL = "scheduler"
"""Value of PROBE_LABEL on these pods, by which those of an earlier crash are found."""
_NO_NODE = "gangwarden.dev/no-such-node"
"""A label that no node carries. Nobody is preempted for a node that does not match, and no autoscaler has one to add."""
_LOOK_SECONDS = 0.5
_LEFT_BEHIND = timedelta(minutes=2)
"""Older pods are nobody's any more; younger ones may be those of another replica."""
_CHANGED_MEANWHILE = (404, 409)


async def scheduler_keeps_groups(api: Api, namespace: str, *, patience_seconds: float, quiet_looks: int = 6) -> bool | None:
    """Create two pods that fit no node, tell whether the grouped one is held back, and delete them.

    None: not known, for the pod without a group was not judged in time, or the API server dropped the group. True takes
    ``quiet_looks`` more looks (half a second each) after that pod was judged. Raises ClusterError if it cannot ask.
    """
    made: list[Object] = []
    try:
        made.append(await api.create(_canary(namespace, {"schedulingGroup": {"podGroupName": "gangwarden-canary"}})))
        if "schedulingGroup" not in made[0]["spec"]:
            return None
        made.append(await api.create(_canary(namespace, {})))
        await _take_away(api, await _left_behind(api, namespace, made[1]))
        async with asyncio.timeout(patience_seconds):
            return await _is_held_back(api, namespace, [_uid(pod) for pod in made], quiet_looks)
    except TimeoutError:
        return None
    finally:
        await _take_away(api, made)


async def _is_held_back(api: Api, namespace: str, uids: list[str], quiet_looks: int) -> bool | None:
    """Tell it of the first UID, once the pod of the second was judged."""
    quiet = 0
    while True:
        stored = {_uid(pod): pod for pod in await _flying(api, namespace)}
        if not stored.keys() >= set(uids):
            return None  # somebody cleared the namespace
        grouped, alone = (_is_judged(stored[uid]) for uid in uids)
        if grouped and alone:
            return False
        quiet += alone
        if quiet > quiet_looks:
            return True
        await asyncio.sleep(_LOOK_SECONDS)


def _is_judged(pod: Object) -> bool:
    return (condition(pod, "PodScheduled") or {}).get("reason") == "Unschedulable"


async def _flying(api: Api, namespace: str) -> list[Object]:
    return await api.list(_POD, namespace=namespace, label_selector=f"{PROBE_LABEL}={_LABEL}")


async def _left_behind(api: Api, namespace: str, fresh: Object) -> list[Object]:
    """Return the canaries of processes that died; ages are told by the API server's clock, which stamped a fresh one."""
    now = _created(fresh)
    return [pod for pod in await _flying(api, namespace) if now - _created(pod) > _LEFT_BEHIND]


async def _take_away(api: Api, pods: Iterable[Object]) -> None:
    """Delete all of them, whatever becomes of one; then raise what went wrong."""
    failures: list[ClusterError] = []
    for pod in pods:
        try:
            await api.delete(ObjectKey.of(pod), uid=_uid(pod), grace_seconds=0)
        except ClusterError as error:
            failures += [error] if error.status not in _CHANGED_MEANWHILE else []
    if failures:
        raise failures[0]


def _uid(pod: Object) -> str:
    return str(metadata_of(pod)["uid"])


def _created(pod: Object) -> datetime:
    return datetime.fromisoformat(str(metadata_of(pod)["creationTimestamp"]))


def _canary(namespace: str, spec: Object) -> Object:
    """Build a pod that the strictest Pod Security Standard and a ResourceQuota let pass; its image is never pulled."""
    amounts = {"cpu": "1m", "memory": "1Mi"}
    restricted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": "canary",
        "image": "registry.k8s.io/pause:3.10",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": restricted,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "generateName": "gangwarden-canary-", "labels": {PROBE_LABEL: _LABEL}},
        "spec": {
            "nodeSelector": {_NO_NODE: "true"},
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            **spec,
        },
    }
