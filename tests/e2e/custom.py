"""Kinds of other projects that shipped policies speak of: stand-ins for their definitions, which take any field, and for their
controllers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.controlplane.client import ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import job

Object = dict[str, Any]
JOB_SETS = "jobset.x-k8s.io/v1alpha2/jobsets"
MPI_JOBS = "kubeflow.org/v2beta1/mpijobs"
PATIENCE_SECONDS = 60.0

KINDS = {
    "jobset.x-k8s.io/v1alpha2": "JobSet",
    "leaderworkerset.x-k8s.io/v1": "LeaderWorkerSet",
    "kubeflow.org/v2beta1": "MPIJob",
}


@contextmanager
def custom_kinds(cluster: ControlPlane) -> Iterator[None]:
    """Let the API server take objects of these kinds; afterwards they go, with all objects of them."""
    try:
        serve_custom_kinds(cluster)
        yield
    finally:
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


def job_set(name: str, namespace: str, *, cpu: str = "3", **pods_of: int) -> Object:
    """A JobSet that asks for a gang: one Job per word, with so many pods.

    Its Jobs leave their groups to it as well, in Kubernetes' own words, which Gangwarden's group goes before.
    """
    meta = {"annotations": {"scheduling.k8s.io/group-template-name": "workers"}}
    steps = [
        {"name": step, "replicas": 1, "template": {"metadata": meta, "spec": job(name, namespace, pods=pods, cpu=cpu)["spec"]}}
        for step, pods in pods_of.items()
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {"gangwarden.dev/gang": "true"}},
        "spec": {"replicatedJobs": steps},
    }


def play_controller(client: Client, owner: Object) -> None:
    """Do what JobSet's controller does: make each Job from its template, controlled by the JobSet."""
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    for step in owner["spec"]["replicatedJobs"]:
        made = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": step["template"]["metadata"]
            | {
                "name": f"{meta['name']}-{step['name']}-0",
                "namespace": meta["namespace"],
                "ownerReferences": [reference | {"controller": True, "blockOwnerDeletion": True}],
            },
            "spec": step["template"]["spec"],
        }
        client.create(made)


def mpi_job(name: str, namespace: str, *, workers: int, cpu: str = "3") -> Object:
    """An MPIJob that asks for a gang, of a launcher and workers."""
    template = job(name, namespace, cpu=cpu)["spec"]["template"]
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": namespace, "labels": {"gangwarden.dev/gang": "true"}},
        "spec": {
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": template},
                "Worker": {"replicas": workers, "template": template},
            }
        },
    }


def play_mpi_operator(client: Client, owner: Object) -> None:
    """Do what MPI's operator does: make the workers' pods and a Job for the launcher, again and again until they are there."""
    meta, roles = owner["metadata"], owner["spec"]["mpiReplicaSpecs"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    place = {"namespace": meta["namespace"], "ownerReferences": [reference | {"controller": True, "blockOwnerDeletion": True}]}

    def labelled(role: str) -> Object:
        template = roles[role]["template"]
        labels = template["metadata"]["labels"] | {"training.kubeflow.org/job-role": role.lower()}
        return {"metadata": {"labels": labels}, "spec": template["spec"]}

    launcher = {"parallelism": 1, "completions": 1, "template": labelled("Launcher")}
    client.create(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"{meta['name']}-launcher", **place}, "spec": launcher}
    )
    for index in range(roles["Worker"]["replicas"]):
        made = labelled("Worker")
        made["metadata"] |= {"name": f"{meta['name']}-worker-{index}", **place}
        pod = {"apiVersion": "v1", "kind": "Pod", **made}
        wait_for(lambda pod=pod: _made(client, pod), seconds=PATIENCE_SECONDS, what="a worker is made")


def _made(client: Client, obj: Object) -> bool:
    try:
        client.create(obj)
    except ApiError as error:
        if error.status != 503:
            raise
        return False
    return True
