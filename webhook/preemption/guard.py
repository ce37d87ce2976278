"""Whether one member of a group may be evicted now, for that takes the whole group down.

A call of the eviction API takes one pod. Under *Finish* it may go when the disruption budgets let the whole group go, and the
keeper takes the rest at once; under *Hold* it waits while the group works. Waiting is 429 without ``retryAfterSeconds``, so
that ``kubectl drain`` prints the reason and asks again every 5 s; any other refusal ends a drain (experiments 2.2). No tenant
may block a drain for ever, so after a limit the eviction passes whatever the policy says. What cannot be told passes too:
the guard may delay a drain, never stop it because it knows too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from webhook.groups import has_ended, node_of
from webhook.model.disruption import GroupState
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Object, ObjectKey, metadata_of, uid_of
from webhook.model.policies import DisruptionSpec
from webhook.model.requests import AdmissionRequest
from webhook.model.snapshot import Snapshot
from webhook.preemption.budgets import BudgetsHold, judge_budgets
from webhook.preemption.facts import GroupFacts, gather_facts, owner_of
from webhook.preemption.health import judge_health
from webhook.preemption.intent import read_trace
from webhook.preemption.membership import owner_reference
from webhook.preemption.rollcall import call_roll

Judged: TypeAlias = tuple[str, DisruptionSpec]
"""Name of the WorkloadPolicy by which a workload got its group, and what it says of disruption."""
PodsOf: TypeAlias = Callable[[str, str, Snapshot], Iterable[Object]]
"""All pods that name a PodGroup, by namespace and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """The eviction may go on."""

    because: str
    policy: str = ""
    is_known: bool = True
    """False: something that should be known was not, so nobody judged it."""
    resets: str = ""
    """UID of a PodGroup that no longer works as a whole: what was waited for is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """It is to be asked again later."""

    policy: str
    pod_group: str
    """UID."""
    because: str
    """What is waited for, in one or two sentences that name the group."""
    limit_seconds: float
    """After waiting this long in all it passes."""


EvictionAnswer: TypeAlias = Passes | Waits


def pods_naming(namespace: str, pod_group: str, snapshot: Snapshot) -> Iterator[Object]:
    """Yield all pods that name a PodGroup, by a look at every pod of the namespace; who has an index need not."""
    for pod in snapshot.list("", "Pod", namespace=namespace):
        if ((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName") == pod_group:
            yield pod


def is_dry_run(request: AdmissionRequest) -> bool:
    """Tell whether an eviction is only tried out: kubectl says it in the body, where ``request.dryRun`` is false."""
    options = (request.object or {}).get("deleteOptions")
    return request.dry_run or bool(isinstance(options, dict) and options.get("dryRun"))


def judge_eviction(
    request: AdmissionRequest,
    snapshot: Snapshot,
    spec_of: Callable[[Object], Judged | None],
    *,
    now: datetime,
    longest_seconds: float,
    ours: str = "",
    pods: PodsOf = pods_naming,
) -> EvictionAnswer:
    """Judge one request of the eviction API by what is known of the pod's group.

    ``spec_of`` returns the policy of a workload, None where it is not ours. ``ours`` is the user name of our controller, whose
    evictions complete a restart. ``longest_seconds`` bounds every wait.
    """
    if ours and request.user.username == ours:
        return Passes(because="it is the controller's own")
    name = request.name or str(metadata_of(request.object or {}).get("name") or "")
    pod = snapshot.get(ObjectKey("", "Pod", request.namespace, name))
    if pod is None:
        return Passes(because=f"pod {name} is not known (yet)", is_known=False)
    if not _takes_something(pod):
        return Passes(because="the pod has no node, has ended or is on its way out")
    found = _group_of(pod, snapshot)
    if isinstance(found, Passes):
        return found
    pod_group, owner = found
    judged = spec_of(owner)
    if judged is None:
        return Passes(because="its group is not Gangwarden's")
    policy, spec = judged
    if not spec.guards_evictions:
        return Passes(because="its policy leaves evictions alone", policy=policy)
    named = pods(request.namespace, str(metadata_of(pod_group)["name"]), snapshot)
    facts = gather_facts(pod_group, named, snapshot, spec=spec, now=now, intent=read_trace(pod_group).intent)
    if metadata_of(pod).get("uid") not in {metadata_of(member).get("uid") for member in facts.members}:
        return Passes(because="the pod names the group and is not proved to be its member", policy=policy, is_known=False)
    return _judge_member(facts, policy, longest_seconds)


def _takes_something(pod: Object) -> bool:
    holds_node = bool(node_of(pod))
    return holds_node and not has_ended(pod) and not metadata_of(pod).get("deletionTimestamp")


def _group_of(pod: Object, snapshot: Snapshot) -> tuple[Object, Object] | Passes:
    """Return the pod's PodGroup with the workload that it was made for, or why the eviction passes without."""
    name = ((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName")
    if not name:
        return Passes(because="the pod is in no group")
    namespace = str(metadata_of(pod).get("namespace") or "")
    pod_group = snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, str(name)))
    if pod_group is None:
        return Passes(because=f"PodGroup {name} is not known", is_known=False)
    if owner_reference(pod_group) is None:
        return Passes(because=f"PodGroup {name} belongs to no workload")
    owner = owner_of(pod_group, snapshot)
    if owner is None:
        return Passes(because=f"the workload of PodGroup {name} is not known", is_known=False)
    return pod_group, owner


def _judge_member(facts: GroupFacts, policy: str, longest_seconds: float) -> EvictionAnswer:
    health, roll = judge_health(facts), call_roll(facts)
    if health.state is not GroupState.WHOLE:
        uid = uid_of(facts.pod_group)
        return Passes(because=f"the group is {health.state.value} already", policy=policy, resets=uid)
    if not roll.needed or len(roll.working) > roll.needed:
        return Passes(because="its quorum runs on without the pod", policy=policy)
    group = f"group {facts.name} of {facts.owner_named}"
    spec = facts.spec
    if spec.on_eviction == "Hold":
        because = (
            f"{group} works, and policy {policy} says onEviction: Hold, so its pods are not evicted before it has ended; to let "
            "it go now, suspend or delete its workload"
        )
        return _waits(facts, policy, because, longest_seconds)
    answer = judge_budgets(roll.unfinished, facts.budgets, spec)
    if not isinstance(answer, BudgetsHold):
        return Passes(because=answer.because, policy=policy)
    limit = min(longest_seconds, spec.budget_timeout_seconds) if spec.on_budget_timeout == "Restart" else longest_seconds
    because = f"evicting it takes all of {group} down, and {answer.because}. {answer.way_out.rstrip('. ')}"
    return _waits(facts, policy, because, limit)


def _waits(facts: GroupFacts, policy: str, because: str, limit_seconds: float) -> Waits:
    uid = uid_of(facts.pod_group)
    return Waits(policy=policy, pod_group=uid, because=because, limit_seconds=limit_seconds)
