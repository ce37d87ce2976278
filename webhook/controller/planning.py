"""What the recorded policy says of a workload now: its groups, and what is to be done when one is disrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from webhook.admission import Asker, PolicySet, recorded_bound, request_for
from webhook.groups import GroupProblem, is_native, is_quorum_ours, plan_recorded, quorum_on_job, repaired_quorum, seen_keys
from webhook.model.groups import GroupPlan, PlannedGroup
from webhook.model.objects import Object
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Snapshot
from webhook.rules import ClusterView, Situation, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What a recorded policy is evaluated with."""

    policies: PolicySet
    snapshot: Snapshot
    world: World
    expired: Callable[[], bool]
    view: Callable[[Snapshot, str], ClusterView] = ClusterView
    """What expressions see of the cluster from a namespace."""

    def plan(self, workload: Object, *, pod_group: str = "") -> GroupPlan | None:
        """Return the plan by the recorded policy; None where that is not loaded. Raises GroupProblem.

        ``pod_group`` names the group of a workload whose record names none: the Job controller made it.
        """
        found = recorded_bound(self.policies, workload)
        if found is None:
            return None
        bound, binding = found
        situation = self._situation(workload)
        keys = seen_keys(bound.policy, situation, workload, self.snapshot)
        return plan_recorded(bound.policy, binding, situation, keys=keys, only=pod_group)

    def disruption(self, workload: Object) -> DisruptionSpec:
        """Return what the recorded policy says about disruption; the defaults where it is not loaded.

        A group whose policy is gone hangs as much as any other when it is broken.
        """
        found = recorded_bound(self.policies, workload)
        return found[0].policy.source.disruption if found else DisruptionSpec()

    def group(self, workload: Object, pod_group: str) -> PlannedGroup | None:
        """Return what the policy asks of one group of a workload; None where nothing says it."""
        native = is_native(workload)
        try:
            plan = self.plan(workload, pod_group=pod_group if native else "")
        except GroupProblem:
            return None  # the upkeep tells it
        found = next((group for group in plan.groups if group.pod_group == pod_group), None) if plan else None
        return _as_said_on_job(found, workload) if found and native else found

    def _situation(self, workload: Object) -> Situation:
        """Build the question of a CREATE that was: group expressions may read nothing of it but the object."""
        request = request_for(workload, Asker())
        return Situation(
            request=request, world=self.world, cluster=self.view(self.snapshot, request.namespace), expired=self.expired
        )


def _as_said_on_job(group: PlannedGroup, job: Object) -> PlannedGroup:
    """Return the group with the quorum that its Job says, where its owner made it lower than we would."""
    said = quorum_on_job(job)
    if said is None or is_quorum_ours(job) or group.min_count is None or said >= repaired_quorum(group.min_count, job):
        return group
    return replace(group, min_count=said)
