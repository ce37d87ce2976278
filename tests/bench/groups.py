"""What looking after running groups costs: all of them from scratch, and one of them at each change of a pod."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from tests.bench.cpu import in_turns
from tests.bench.figures import Comparison, Fact, Section
from tests.bench.room import typical_body
from tests.builders import Object, job, namespace, pod, pod_group
from webhook.controller.members import MemberIndex
from webhook.model.disruption import GroupState, Health
from webhook.model.objects import ObjectKey
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Snapshot, snapshot_of
from webhook.preemption import BUDGET_KIND, BudgetsAllow, gather_facts, judge_budgets, judge_health

LARGE, SMALL = 2_000, 200
"""Groups, on 5,000 and on 500 nodes."""
MEMBERS, NODES_PER_GROUP, NAMESPACES = 25, 2.5, 10
NOW = datetime(2026, 3, 1, tzinfo=UTC)
METHOD = f"""\
{LARGE:,} groups of {MEMBERS} pods ({LARGE * MEMBERS:,}) on 5,000 nodes in {NAMESPACES} namespaces, each a Job with a budget;
the small cluster is a tenth of all, in as many namespaces. From scratch: every pod is taken into the index of members,
then every group is judged. A pod change: a member of a group is evicted and comes back, the index takes it in, and its
group is judged. Then its restart is due, and the budgets of its namespace are asked, of which there are as many as groups:
that is a line of its own. The bars of the project are growth no worse than linear, which is a ratio of 1 per group between
the two clusters, and 8 times `json.loads` of a Job of 18 KB for a change."""


def measure() -> Section:
    """Measure on made-up clusters."""
    large, small = _Crowd(LARGE), _Crowd(SMALL)
    body = typical_body()
    scratch = in_turns(large.from_scratch, small.from_scratch, rounds=5)
    per_group = tuple(tuple(value / count for value in side) for side, count in zip(scratch, (LARGE, SMALL), strict=True))
    change = in_turns(large.change, lambda: json.loads(body), rounds=9)
    asked = in_turns(large.ask, lambda: json.loads(body), rounds=5)
    growth = in_turns(large.change, small.change, rounds=9)
    return Section(
        title="Groups that run",
        method=METHOD,
        ours="5,000 nodes",
        anchor="500 nodes, or json.loads of 18 KB",
        comparisons=(
            Comparison(what="health of all groups from scratch, per group", unit="us", ours=per_group[0], anchor=per_group[1]),
            Comparison(what="health at one pod change, against 500 nodes", unit="us", ours=growth[0], anchor=growth[1]),
            Comparison(what="budgets of one group, 200 in its namespace", unit="us", ours=asked[0], anchor=asked[1]),
            Comparison(what="health at one pod change, against json.loads", unit="us", ours=change[0], anchor=change[1]),
        ),
        facts=(Fact(what=f"health of all {LARGE:,} groups from scratch", unit="us", values=scratch[0]),),
    )


class _Crowd:
    """A cluster full of groups."""

    def __init__(self, groups: int) -> None:
        self.pods: list[Object] = []
        self.groups: list[Object] = []
        others: list[Object] = [namespace(f"team-{number}") for number in range(NAMESPACES)]
        for number in range(groups):
            others += self._add(number, f"team-{number % NAMESPACES}")
        others += [_node(number) for number in range(int(groups * NODES_PER_GROUP))]
        self.snapshot: Snapshot = snapshot_of([*others, *self.groups, *self.pods])
        self._by_name = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in self.groups}
        self._index = self._fill()
        self._turn = iter(range(10**9))

    def from_scratch(self) -> None:
        """Know nothing, and judge every group."""
        index = self._fill()
        whole = sum(self._judge(index, group).state is GroupState.WHOLE for group in self.groups)
        assert whole == len(self.groups)

    def change(self) -> None:
        """See one pod evicted, with what that means for its group; and see it back."""
        before = self.pods[next(self._turn) * 7919 % len(self.pods)]  # a prime spreads them
        key, going = ObjectKey.of(before), _evicted(before)
        self._index.on_change(key, before, going)
        found = self._judge(self._index, self._by_name[key.namespace, before["spec"]["schedulingGroup"]["podGroupName"]], going)
        assert found.is_restart_due
        self._index.on_change(key, going, before)

    def ask(self) -> None:
        """Ask the budgets of a group's namespace whether all of it may go."""
        group = self.groups[next(self._turn) * 7919 % len(self.groups)]["metadata"]
        pods = self._index.pods(group["namespace"], group["name"], self.snapshot)
        answer = judge_budgets(pods, self.snapshot.bucket(*BUDGET_KIND, group["namespace"]), DisruptionSpec())
        assert isinstance(answer, BudgetsAllow)

    def _fill(self) -> MemberIndex:
        index = MemberIndex()
        for group in self.groups:
            index.on_change(ObjectKey.of(group), None, group)
        for one in self.pods:
            index.on_change(ObjectKey.of(one), None, one)
        return index

    def _judge(self, index: MemberIndex, group: Object, changed: Object | None = None) -> Health:
        meta = group["metadata"]
        pods = index.pods(meta["namespace"], meta["name"], self.snapshot)
        current = (
            changed if changed is not None and one["metadata"]["name"] == changed["metadata"]["name"] else one for one in pods
        )
        return judge_health(gather_facts(group, current, self.snapshot, spec=DisruptionSpec(), now=NOW))

    def _add(self, number: int, space: str) -> Iterator[Object]:
        owner = job(f"train-{number}", namespace=space).parallelism(MEMBERS).at("spec.completions", MEMBERS).stored().build()
        self.groups.append(pod_group(f"train-{number}", MEMBERS, namespace=space, owner=owner).build())
        for index in range(MEMBERS):
            made = pod(f"train-{number}-{index}", namespace=space, group=f"train-{number}", phase="Running")
            made = made.owned_by(owner, controller=True).at("metadata.uid", f"{number}-{index}")
            made = made.at("metadata.labels", {"job-name": owner["metadata"]["name"]})
            node = int(number * NODES_PER_GROUP + index * NODES_PER_GROUP / MEMBERS)
            self.pods.append(
                made.at("spec.nodeName", f"node-{node}").at("metadata.creationTimestamp", "2026-01-01T00:00:00Z").build()
            )
        yield owner
        selector = {"matchLabels": {"job-name": owner["metadata"]["name"]}}
        meta = {"name": f"train-{number}", "namespace": space, "generation": 1}
        status = {"observedGeneration": 1, "disruptionsAllowed": MEMBERS, "expectedPods": MEMBERS}
        spec = {"selector": selector, "minAvailable": 0}
        yield {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec, "status": status}


def _evicted(one: Object) -> Object:
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    gone = {"deletionTimestamp": "2026-03-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
    status = {**one["status"], "conditions": [target | {"lastTransitionTime": "2026-03-01T00:00:00Z"}]}
    return {**one, "metadata": {**one["metadata"], **gone}, "status": status}


def _node(number: int) -> Object:
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}"},
        "spec": {},
        "status": {"conditions": conditions},
    }
