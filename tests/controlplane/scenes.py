"""Objects that scenes on a real control plane are made of."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def job(name: str, namespace: str, *, pods: int = 4, cpu: str = "1", pod_group: str = "", **spec: Any) -> Object:
    """Return an Indexed Job of equal pods, in a group if one is named; ``spec`` adds to the Job's own fields."""
    container = {"name": "work", "image": "example.test/work:1", "resources": {"requests": {"cpu": cpu}}}
    pod: Object = {"restartPolicy": "Never", "containers": [container]}
    if pod_group:
        pod["schedulingGroup"] = {"podGroupName": pod_group}
    template = {"metadata": {"labels": {"job": name}}, "spec": pod}
    shape = {"parallelism": pods, "completions": pods, "completionMode": "Indexed"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": shape | {"template": template} | spec,
    }


def pod_group(name: str, namespace: str, *, min_count: int = 4) -> Object:
    """Return a gang's PodGroup without a Workload, which the API does not ask for."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, "disruptionMode": {"all": {}}},
    }


def label_template(job_object: Object, **labels: str) -> Object:
    """Return the Job with more labels on its pods."""
    job_object["spec"]["template"]["metadata"]["labels"] |= {key.replace("__", "/"): value for key, value in labels.items()}
    return job_object


def is_bound(pod: Object) -> bool:
    """Tell whether the scheduler has given the pod a node."""
    return bool(pod["spec"].get("nodeName"))
