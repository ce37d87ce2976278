"""What one workload needs now: its group objects, and a word about what it waits for. Pure; the loops are in ``process``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from webhook.admission import PolicySet, recorded_bound
from webhook.groups import (
    GroupProblem,
    is_finished,
    plan_group,
    plan_recorded,
    plan_without_policy,
    recorded_names,
    recorded_policy,
    why_waiting,
)
from webhook.model.actions import PlannedAction, Recheck, Tell
from webhook.model.groups import SCHEDULING_GROUP, Capabilities, GroupPlan, PlannedGroup
from webhook.model.objects import Kind, Object, ObjectKey, Resource, metadata_of
from webhook.model.requests import AdmissionRequest
from webhook.model.snapshot import Snapshot
from webhook.rules import Situation, World

_HOLD_SECONDS = 60.0
"""How soon a workload is looked at again that cannot get its group as things are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Everything that planning for one workload looks at."""

    policies: PolicySet
    snapshot: Snapshot
    world: World
    capabilities: Capabilities
    now: datetime
    silent_wait_seconds: float
    expired: Callable[[], bool]
    members: Callable[[str, str, Snapshot], Iterable[Object]]
    """Unfinished pods of a PodGroup, by namespace and name."""

    def plan(self, workload: Object) -> tuple[PlannedAction, ...]:
        """Return what is to be done for a workload that carries our record; nothing for any other."""
        if not recorded_names(workload) or metadata_of(workload).get("deletionTimestamp") or is_finished(workload):
            return ()
        if not self.capabilities.group_objects:
            return self._hold(
                workload, "NoGroupObjects", "the API server serves no PodGroups (feature gate GenericWorkload is off)"
            )
        try:
            plan, told = self._group_plan(workload)
        except GroupProblem as problem:
            return self._hold(workload, "GroupNotPlanned", str(problem))
        return (*told, *plan_group(workload, plan, self.snapshot), *self._waits(workload, plan))

    def _group_plan(self, workload: Object) -> tuple[GroupPlan, tuple[PlannedAction, ...]]:
        found = recorded_bound(self.policies, workload)
        if found is not None:
            bound, binding = found
            return plan_recorded(bound.policy, binding, self._situation(workload)), ()
        policy, _ = recorded_policy(workload)
        message = (
            f"WorkloadPolicy {policy!r}, by which it was grouped, is not among the loaded policies; all its pods form the group "
            "instead, as gangs do by default. Restore the policy, or create the workload again."
        )
        return plan_without_policy(workload), (Tell(about=workload, reason="GroupPolicyGone", message=message),)

    def _situation(self, workload: Object) -> Situation:
        """Build the question of a CREATE that was: group expressions may read nothing of it but the object."""
        kind = Kind.of(workload)
        request = AdmissionRequest(
            uid=str(metadata_of(workload)["uid"]),
            kind=kind,
            resource=Resource(kind.group, kind.version, f"{kind.kind.lower()}s"),
            name=str(metadata_of(workload)["name"]),
            namespace=str(metadata_of(workload)["namespace"]),
            object=workload,
        )
        return Situation(request=request, world=self.world, expired=self.expired)

    def _hold(self, workload: Object, reason: str, message: str) -> tuple[PlannedAction, ...]:
        sentence = f"Its group objects are not created: {message}. Its pods wait until this is mended."
        return (Tell(about=workload, reason=reason, message=sentence), Recheck(after_seconds=_HOLD_SECONDS, reason=message))

    def _waits(self, workload: Object, plan: GroupPlan) -> Iterator[PlannedAction]:
        if (workload.get("spec") or {}).get("suspend"):
            return
        for group in plan.groups:
            yield from self._wait(workload, group)

    def _wait(self, workload: Object, group: PlannedGroup) -> Iterator[PlannedAction]:
        """Tell what a group waits for, once it has waited long enough that this is no mere moment of its start."""
        namespace = str(metadata_of(workload)["namespace"])
        members = tuple(self.members(namespace, group.pod_group, self.snapshot))
        found = self.snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, group.pod_group))
        cause = why_waiting(group, found, members)
        if cause is None:
            return
        waited = min((self._age_seconds(obj) for obj in (*members, workload)), default=0.0)
        if waited < self.silent_wait_seconds:
            left = self.silent_wait_seconds - waited
            yield Recheck(after_seconds=max(left, 0.1), reason=cause.message)
        else:
            yield Tell(about=workload, reason=cause.reason, message=cause.message)

    def _age_seconds(self, obj: Object) -> float:
        created = datetime.fromisoformat(str(metadata_of(obj)["creationTimestamp"]))
        return (self.now - created).total_seconds()
