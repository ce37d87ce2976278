"""Jobs whose groups come back soon after all of their members were lost at once.

The Job controller waits 10 s, doubled for each failed pod, before it makes new ones: 80 s after a group of four went, ten minutes
after one of seven (job/backoff_utils.go). With ``backoffLimitPerIndex`` each index waits for itself. The price: in Kubernetes
1.37 such a Job blocks the deletion of its namespace until somebody deletes the Job (experiments 3.6), which is our duty then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from webhook.groups.native import is_job
from webhook.groups.paths import read_path, replace_at
from webhook.groups.states import is_finished
from webhook.model.groups import FAST_RESTART_ANNOTATION
from webhook.model.objects import Object, ObjectKey, annotations_of, metadata_of
from webhook.model.snapshot import Snapshot

if TYPE_CHECKING:
    from webhook.model.actions import Delete

_DEFAULT_LIMIT = 6
"""Of ``backoffLimit``, pkg/apis/batch/v1/defaults.go."""


def hasten(job: Object) -> Object:
    """Return an Indexed Job with a back-off for each index: as many retries as it had, and none that is given up."""
    spec = job["spec"]
    limit = spec.get("backoffLimit")
    added = {"backoffLimitPerIndex": _DEFAULT_LIMIT if limit is None else limit, "maxFailedIndexes": 0}
    marked = replace_at(job, "metadata.annotations", lambda old: {**(old or {}), FAST_RESTART_ANNOTATION: "true"})
    return {**marked, "spec": {**spec, **added}}


def obstacle_to_haste(workload: Object) -> str:
    """Return why a workload cannot have such a back-off (pkg/apis/batch/validation); empty where it can."""
    if not is_job(workload):
        return f"a {workload.get('kind')} has no back-off for each index"
    spec = workload.get("spec") or {}
    if spec.get("completionMode") != "Indexed":
        return "spec.completionMode is not Indexed"
    if set(read_path(workload, "spec.template.spec.restartPolicy")) != {"Never"}:
        return "spec.template.spec.restartPolicy is not Never"
    return ""


def is_hastened(job: Object) -> bool:
    """Tell whether a Job has a back-off for each index already, from us or from its owner."""
    return (job.get("spec") or {}).get("backoffLimitPerIndex") is not None


def plan_release(snapshot: Snapshot) -> Iterator[Delete]:
    """Yield deletions of the Jobs that we hastened and that their terminating namespace would wait for without end."""
    from webhook.model.actions import Delete  # noqa: PLC0415 - only the controller acts; who only judges starts without it

    for space in snapshot.list("", "Namespace"):
        meta = metadata_of(space)
        if not meta.get("deletionTimestamp"):
            continue
        for job in snapshot.list("batch", "Job", namespace=str(meta["name"])):
            if annotations_of(job).get(FAST_RESTART_ANNOTATION) == "true" and is_hastened(job) and not _is_going(job):
                reason = "Its namespace is being deleted, and would wait for it without end (backoffLimitPerIndex)."
                yield Delete(key=ObjectKey.of(job), uid=str(metadata_of(job)["uid"]), reason=reason)


def _is_going(job: Object) -> bool:
    return bool(metadata_of(job).get("deletionTimestamp")) or is_finished(job)
