"""How many members a group needs now: what was asked for, as far as the workload still has that much to do.

The scheduler counts pods that have not ended, so a quorum of all members can never be met again once one has succeeded and
another has failed; nothing tells of it (KEP-4671, kubernetes#142330). The number follows the Job's status, never the pods
that happen to exist: half of them may only be late, and a quorum lowered to them would start the group in parts.
"""

from __future__ import annotations

from dataclasses import replace

from webhook.groups.native import is_job
from webhook.groups.paths import read_path
from webhook.model.groups import QUORUM_SET_ANNOTATION, PlannedGroup
from webhook.model.objects import Object, annotations_of

JOB_QUORUM = "spec.scheduling.schedulingPolicy.gang.minCount"
"""Where a Job whose controller makes its PodGroup says the quorum."""


def repaired_quorum(asked: int, workload: Object, *, succeeded: int = 0) -> int:
    """Return the quorum that can still be met; ``asked`` where the workload runs nothing now, or is no Job.

    ``succeeded`` is how many members were seen to succeed: a Job's status is about a second late. Leave it out for a quorum
    that is written.
    """
    return max(1, min(asked, still_to_run(workload, succeeded=succeeded) or asked)) if is_job(workload) else asked


def with_repaired_quorum(group: PlannedGroup, workload: Object) -> PlannedGroup:
    """Return a group with the quorum that its PodGroup is to have now."""
    return group if group.min_count is None else replace(group, min_count=repaired_quorum(group.min_count, workload))


def still_to_run(job: Object, *, succeeded: int = 0) -> int:
    """Return how many pods at once a Job will still run; 0 with parallelism 0, and when all is done.

    A work queue (no completions) makes no pod any more once one has succeeded (job_controller.go, manageJob); what runs then
    runs to its end.
    """
    spec, status = job.get("spec") or {}, job.get("status") or {}
    parallelism, completions = _number(spec.get("parallelism"), 1), spec.get("completions")
    done = max(_number(status.get("succeeded"), 0), succeeded)
    if completions is None:
        return _number(status.get("active"), 0) if done else parallelism
    return max(min(parallelism, _number(completions, 1) - done - failed_for_good(job)), 0)


def failed_for_good(job: Object) -> int:
    """Count the indexes that a Job has given up (backoffLimitPerIndex, FailIndex); written as ``1,3-5``."""
    count = 0
    for part in str((job.get("status") or {}).get("failedIndexes") or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            count += int(last) - int(first) + 1 if last.isdecimal() else 1
    return count


def quorum_on_job(job: Object) -> int | None:
    """Return the quorum that a Job says in ``spec.scheduling``; None where it says none, and it follows ``parallelism``."""
    return next((int(value) for value in read_path(job, JOB_QUORUM) if isinstance(value, int)), None)


def is_quorum_ours(job: Object) -> bool:
    """Tell whether the quorum that a Job says was written there by a repair, and by nobody since."""
    said = quorum_on_job(job)
    return said is not None and annotations_of(job).get(QUORUM_SET_ANNOTATION) == str(said)


def is_draining_queue(job: Object, *, succeeded: int = 0) -> bool:
    """Tell whether a Job is a work queue with a success behind it.

    It makes no pod any more, and without one it is complete, also if we took its pods (job_controller.go, syncJob): suspending
    it would end it.
    """
    spec, status = job.get("spec") or {}, job.get("status") or {}
    return is_job(job) and spec.get("completions") is None and max(_number(status.get("succeeded"), 0), succeeded) > 0


def _number(value: object, missing: int) -> int:
    return value if isinstance(value, int) else missing
