"""Workloads of every kind of owner that a gang may have: what a user creates, and what becomes of it without us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.controlplane.client import CRON_JOBS, JOBS, Client
from tests.e2e.custom import JOB_SETS, MPI_JOBS, job_set, mpi_job, play_controller, play_mpi_operator
from tests.e2e.installation import labelled_job

Object = dict[str, Any]
PODS_OF_A_GANG = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One way to ask for a gang of four."""

    resource: str
    make: Callable[[str, str], Object]
    """Returns the object for a namespace, whose pods ask for so much CPU."""
    play: Callable[[Client, Object], object] = lambda client, stored: None
    """What follows that Kubernetes does not do by itself: other projects' controllers, a clock, a person."""
    is_job: bool = True
    """The Job controller can make its group."""
    policy: str = "labelled-jobs.gangwarden.dev"
    is_grouped_in_template: bool = True
    """Or each of its pods gets the group by itself."""


def _generated(namespace: str, cpu: str) -> Object:
    made = labelled_job("train", namespace, cpu=cpu)
    del made["metadata"]["name"]
    made["metadata"]["generateName"] = "train-"
    return made


def _cron_job(namespace: str, cpu: str) -> Object:
    """A CronJob whose turn is once a year."""
    template = labelled_job("train", namespace, cpu=cpu)
    job_template = {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": job_template},
    }


def _miss_a_turn(client: Client, cron_job: Object) -> None:
    """Say that its last turn was long ago: the controller makes up for the last missed one at once, and nobody waits a minute."""
    meta = cron_job["metadata"]
    client.patch_status(CRON_JOBS, meta["namespace"], meta["name"], {"lastScheduleTime": "2025-06-01T00:00:00Z"})


def _resume(client: Client, job: Object) -> None:
    client.patch(JOBS, job["metadata"]["namespace"], job["metadata"]["name"], {"spec": {"suspend": False}})


OWNERS = {
    "job": Owner(resource=JOBS, make=lambda namespace, cpu: labelled_job("train", namespace, cpu=cpu)),
    "generated-name": Owner(resource=JOBS, make=_generated),
    "cron-job": Owner(resource=CRON_JOBS, make=_cron_job, play=_miss_a_turn, is_job=False),
    "suspended-job": Owner(
        resource=JOBS, make=lambda namespace, cpu: labelled_job("train", namespace, cpu=cpu, suspend=True), play=_resume
    ),
    "elastic-job": Owner(resource=JOBS, make=lambda namespace, cpu: labelled_job("train", namespace, cpu=cpu)),
    "job-set": Owner(
        resource=JOB_SETS,
        make=lambda namespace, cpu: job_set("train", namespace, cpu=cpu, leader=1, worker=3),
        play=play_controller,
        is_job=False,
        policy="jobset-gang.gangwarden.dev",
    ),
    "pods-of-an-operator": Owner(
        resource=MPI_JOBS,
        make=lambda namespace, cpu: mpi_job("train", namespace, workers=3, cpu=cpu),
        play=play_mpi_operator,
        is_job=False,
        policy="mpijob-gang.gangwarden.dev",
        is_grouped_in_template=False,
    ),
}


def pod_templates(owner: Object) -> list[Object]:
    """Return the pod templates in an object, wherever they stand."""
    if isinstance(owner, list):
        return [found for item in owner for found in pod_templates(item)]
    if not isinstance(owner, dict):
        return []
    if "containers" in owner.get("spec", {}):
        return [owner]
    return [found for value in owner.values() for found in pod_templates(value)]


def asking(owner: Object) -> Object:
    """Return the metadata on which the wish for a gang stands: a CronJob's is that of its Jobs."""
    return owner["spec"]["jobTemplate"]["metadata"] if owner["kind"] == "CronJob" else owner["metadata"]
