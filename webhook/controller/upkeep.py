"""What one workload needs now: its group objects, and a word about what it waits for. Pure; the loops are in ``process``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from webhook.admission import PolicySet
from webhook.controller.planning import Planning
from webhook.groups import (
    GroupFailure,
    GroupProblem,
    age_seconds,
    asks_for_gang,
    check_composites,
    has_lost_scheduling,
    is_delegated,
    is_finished,
    is_job,
    is_native,
    is_recorded_for_pods,
    is_suspended,
    is_whole,
    missing_groups,
    native_group,
    plan_group,
    plan_without_policy,
    planned_by_kubernetes,
    recorded_names,
    recorded_policy,
    tell_delegated,
    tell_fields_dropped,
    tell_not_grouped,
    tell_parts_dropped,
    tell_scheduling_dropped,
    why_waiting,
)
from webhook.model.actions import Apply, PlannedAction, Recheck, Tell
from webhook.model.groups import SCHEDULING_GROUP, Capabilities, GroupPlan, PlannedGroup
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot
from webhook.rules import ClusterView, World

_HOLD_SECONDS = 60.0
"""How soon a workload is looked at again that cannot get its group as it is: an edit of it brings it sooner."""
_RETRY_SECONDS = 10.0
"""The same where something else is in the way: params that are not there yet, a gate that may come back."""


_NATIVE_GROUP_MISSING = (
    "It asks for a group by spec.scheduling, but the Job controller has made none, so its pods start one by one or not at all: "
    "turn on feature gate WorkloadWithJob in kube-controller-manager, or set attach: Managed in the WorkloadPolicy and create it "
    "again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Everything that planning for one workload looks at."""

    policies: PolicySet
    snapshot: Snapshot
    world: World
    capabilities: Capabilities
    now: datetime
    silent_wait_seconds: float
    native_seconds: float
    """How long the Job controller has for making the group of a new Job."""
    expired: Callable[[], bool]
    members: Callable[[str, str, Snapshot], Iterable[Object]]
    """Unfinished pods of a PodGroup, by namespace and name."""
    view: Callable[[Snapshot, str], ClusterView] = ClusterView
    """What expressions see of the cluster from a namespace."""

    def plan(self, workload: Object) -> tuple[PlannedAction, ...]:
        """Return what is to be done for a workload that carries our record; of any other only what its user must be told."""
        if metadata_of(workload).get("deletionTimestamp") or is_finished(workload):
            return ()
        if is_native(workload) or is_delegated(workload):
            return tuple(self._native_waits(workload))
        if has_lost_scheduling(workload):
            return (tell_scheduling_dropped(workload),)
        names = recorded_names(workload)
        if not names and not is_recorded_for_pods(workload):
            return () if self.capabilities.group_objects or not asks_for_gang(workload) else (tell_not_grouped(workload),)
        missing = missing_groups(workload, names.values(), self.snapshot)
        if not self.capabilities.group_objects:
            why = "the API server serves no PodGroups (feature gate GenericWorkload is off)"
            return self._hold(workload, "NoGroupObjects", why, after_seconds=_RETRY_SECONDS) if missing else ()
        try:
            plan, actions = self._plan(workload)
            check_composites(plan.composites, self.capabilities)
        except GroupProblem as problem:
            return self._unplanned(workload, problem, is_missing=bool(missing) or not names)
        return (*actions, *tell_parts_dropped(workload, plan, self.snapshot, now=self.now), *self._waits(workload, plan))

    def _plan(self, workload: Object) -> tuple[GroupPlan, tuple[PlannedAction, ...]]:
        planning = Planning(
            policies=self.policies, snapshot=self.snapshot, world=self.world, expired=self.expired, view=self.view
        )
        recorded = planning.plan(workload)
        if recorded is not None and is_whole(recorded, workload):
            return recorded, plan_group(workload, recorded, self.snapshot)
        if not is_job(workload):
            problem = "the policy that grouped it is not loaded, and how many pods it has only that policy can tell; restore it"
            raise GroupProblem(problem, rule="podGroups")
        plan = plan_without_policy(workload)
        actions = plan_group(workload, plan, self.snapshot)
        guessed = tuple(action for action in actions if not (isinstance(action, Apply) and not action.is_new))
        if any(isinstance(action, Apply) for action in guessed):
            guessed = (*guessed, self._tell_policy_gone(workload))
        return plan, guessed

    @staticmethod
    def _tell_policy_gone(workload: Object) -> Tell:
        policy, _ = recorded_policy(workload)
        message = (
            f"WorkloadPolicy {policy!r}, by which it was grouped, is not among the loaded policies, or has other groups now; all "
            "its pods form the group instead, as gangs do by default. Restore the policy, or create the workload again."
        )
        return Tell(about=workload, reason="GroupPolicyGone", message=message)

    def _unplanned(self, workload: Object, problem: GroupProblem, *, is_missing: bool) -> tuple[PlannedAction, ...]:
        after = _RETRY_SECONDS if isinstance(problem, GroupFailure) else _HOLD_SECONDS
        if is_missing:
            return self._hold(workload, "GroupNotPlanned", str(problem), after_seconds=after)
        sentence = f"Its group stays as it is, for the quorum cannot follow: {problem}."
        return (
            Tell(about=workload, reason="QuorumNotFollowing", message=sentence),
            Recheck(after_seconds=after, reason=str(problem)),
        )

    def _hold(self, workload: Object, reason: str, message: str, *, after_seconds: float) -> tuple[PlannedAction, ...]:
        sentence = f"Its group objects are not created: {message}. Its pods wait until this is mended."
        return (Tell(about=workload, reason=reason, message=sentence), Recheck(after_seconds=after_seconds, reason=message))

    def _waits(self, workload: Object, plan: GroupPlan) -> Iterator[PlannedAction]:
        if is_suspended(workload):
            return
        for group in plan.groups:
            if group.count:
                yield from self._wait(workload, group)

    def _native_waits(self, workload: Object) -> Iterator[PlannedAction]:
        """Look after a group that the Job controller makes: that it did, and what it waits for."""
        found = native_group(workload, self.snapshot)
        if found is not None:
            yield from tell_fields_dropped(workload, found)
        if is_suspended(workload):
            return
        if found is not None:
            yield from self._wait(workload, planned_by_kubernetes(found, workload))
            return
        waited = age_seconds(workload, self.now)
        if waited < self.native_seconds:
            yield Recheck(after_seconds=max(self.native_seconds - waited, 0.1), reason="the Job controller has its turn")
            return
        if is_delegated(workload):
            yield tell_delegated(workload, self.snapshot)
        else:
            yield Tell(about=workload, reason="NativeGroupMissing", message=_NATIVE_GROUP_MISSING)
        yield Recheck(after_seconds=_HOLD_SECONDS, reason="no PodGroup of the Job controller")

    def _wait(self, workload: Object, group: PlannedGroup) -> Iterator[PlannedAction]:
        """Tell what a group waits for, once it has waited long enough that this is no mere moment of its start."""
        namespace = str(metadata_of(workload)["namespace"])
        members = tuple(self.members(namespace, group.pod_group, self.snapshot))
        found = self.snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, group.pod_group))
        cause = why_waiting(group, found, members)
        if cause is None:
            return
        waited = min(age_seconds(obj, self.now) for obj in (*members, workload))
        if waited < self.silent_wait_seconds:
            yield Recheck(after_seconds=max(self.silent_wait_seconds - waited, 0.1), reason=cause.message)
        else:
            yield Tell(about=workload, reason=cause.reason, message=cause.message)
