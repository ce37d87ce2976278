"""What stored objects tell of their state: ended, a member, how old."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from webhook.model.objects import Object, metadata_of
from webhook.model.snapshot import Snapshot

_ENDS = ("Complete", "Completed", "Succeeded", "Failed")


def is_suspended(workload: Object) -> bool:
    """Tell whether a workload is to have no pods for now."""
    spec = workload.get("spec") or {}
    return bool(spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend"))


def is_finished(workload: Object) -> bool:
    """Tell whether a workload has ended by its conditions: what Jobs, JobSets and Kubeflow's kinds say."""
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(c.get("type") in _ENDS and c.get("status") == "True" for c in conditions)


def condition(obj: Object, kind: str) -> Object | None:
    """Return the condition of a type in an object's status, or None."""
    conditions: Iterable[Object] = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), None)


def is_true(obj: Object, kind: str) -> bool:
    """Tell whether an object has a condition of a type, and it is True."""
    return (condition(obj, kind) or {}).get("status") == "True"


def node_of(pod: Object) -> str:
    """Return the name of the node that a pod is bound to; empty where it has none."""
    return str((pod.get("spec") or {}).get("nodeName") or "")


def members_of(pod_group: str, namespace: str, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the pods that name a PodGroup and have not ended, as the scheduler counts them."""
    for pod in snapshot.list("", "Pod", namespace=namespace):
        named = ((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName")
        if named == pod_group and not has_ended(pod):
            yield pod


def has_ended(pod: Object) -> bool:
    """Tell whether a pod is Succeeded or Failed; the scheduler has forgotten it then (its informer filters them)."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def age_seconds(obj: Object, now: datetime) -> float:
    """Return how long an object has existed; 0 where that is not known, or where our clock is behind."""
    created = metadata_of(obj).get("creationTimestamp")
    return max((now - datetime.fromisoformat(str(created))).total_seconds(), 0.0) if created else 0.0
