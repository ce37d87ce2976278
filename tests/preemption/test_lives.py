"""Random lives of a group on a small simulated cluster: nothing is done that must not be, and it is never left in part."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.preemption.leading import Leader, Look
from tests.preemption.simulated import Cluster, named, node_of
from webhook.model.actions import Delete, Evict, Resume, Suspend
from webhook.model.disruption import GroupState
from webhook.model.objects import Object, metadata_of
from webhook.model.policies import DisruptionSpec
from webhook.preemption import call_roll

DEFAULT = DisruptionSpec()
QUIET_SECONDS = 300
"""Enough for a node's pods to be collected, two back-offs of the Job and a restart with its pauses."""
SHAPES = st.sampled_from(
    [
        {"parallelism": 4, "completions": 4, "asked": 4},
        {"parallelism": 3, "completions": 5, "asked": 3},
        {"parallelism": 4, "completions": 4, "asked": 2},
        {"parallelism": 3, "completions": 3, "asked": 3, "indexed": False},
        {"parallelism": 3, "completions": None, "asked": 3, "indexed": False},
        {"parallelism": 1, "completions": 1, "asked": 1},
    ]
)
SPECS = st.sampled_from(
    [
        DisruptionSpec(max_restarts=1000),
        DisruptionSpec(max_restarts=1000, on_member_failure="Restart"),
        DisruptionSpec(max_restarts=1000, on_disruption="IfNotReplaced", replacement_grace_seconds=15),
        DisruptionSpec(max_restarts=1000, on_disruption="Ignore"),
        DisruptionSpec(max_restarts=1000, suspend_path=""),
        DisruptionSpec(max_restarts=1000, budgets="Ignore"),
        DisruptionSpec(max_restarts=1000, budget_timeout_seconds=20, on_budget_timeout="Restart"),
        DisruptionSpec(max_restarts=1),
    ]
)
JOBSET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "uid": "s", "controller": True}
OWNERS: dict[str, dict[str, Any]] = {
    "nobody": {},
    "Kueue": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
    "a JobSet": {"ownerReferences": [JOBSET]},
    "MultiKueue": {},
}
PICK = st.integers(0, 7)


class Lives(RuleBasedStateMachine):
    """One group, its cluster and the controller that leads."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.leader = Leader(self.cluster, DisruptionSpec())
        self.owner = "nobody"
        self.last: Look | None = None

    @initialize(
        shape=SHAPES,
        spec=SPECS,
        owner=st.sampled_from(("nobody",) * 5 + tuple(OWNERS)),
        failed_only=st.booleans(),
        starts=st.booleans(),
    )
    def begin(self, shape: dict[str, Any], spec: DisruptionSpec, owner: str, failed_only: bool, starts: bool) -> None:
        self.cluster = Cluster(**shape, replace_failed_only=failed_only)
        self.owner = owner
        assert self.cluster.job is not None
        self.cluster.job["metadata"] |= OWNERS[owner]
        if owner == "MultiKueue":
            self.cluster.job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
        self.leader = Leader(self.cluster, spec)
        if starts:
            self.cluster.tick(3)

    # The controller

    @rule()
    def look(self) -> None:
        self._checked(self.leader.look())

    @rule(writes=st.integers(0, 3))
    def die_in_the_middle(self, writes: int) -> None:
        self._checked(self.leader.look(die_after=writes))

    @rule()
    def lose_the_lease(self) -> None:
        self.leader.watch()
        self.leader.take_over()

    @rule(seconds=st.sampled_from((1, 1, 2, 5, 12, 40)))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.tick()
            self.leader.watch()

    @rule(seconds=st.sampled_from((5, 15, 60)))
    def time_passes_under_care(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.tick()
            self._checked(self.leader.look())

    # What befalls pods

    def _one(self, pick: int) -> Object:
        members = self.cluster.members
        assume(members)
        return members[pick % len(members)]

    def _running(self, pick: int) -> Object:
        working = self.cluster.working
        assume(working)
        return working[pick % len(working)]

    @rule(pick=PICK)
    def somebody_deletes_a_pod(self, pick: int) -> None:
        self.cluster.delete_pod(self._one(pick))

    @rule(pick=PICK)
    def a_drain_evicts_a_pod(self, pick: int) -> None:
        self.cluster.evict(self._one(pick))

    @rule(pick=PICK)
    def a_preemption_is_vetoed(self, pick: int) -> None:
        self.cluster.doom(self._running(pick), "PreemptionByScheduler")

    @rule()
    def the_scheduler_preempts_all(self) -> None:
        for one in self.cluster.working:
            self.cluster.doom(one, "PreemptionByScheduler")
            self.cluster.delete_pod(one)

    @rule(pick=PICK)
    def the_kubelet_ends_a_pod(self, pick: int) -> None:
        one = self._running(pick)
        self.cluster.doom(one, "TerminationByKubelet")
        self.cluster.end(one, "Failed", reason="Evicted")

    @rule(pick=PICK)
    def a_program_fails(self, pick: int) -> None:
        self.cluster.end(self._running(pick), "Failed")

    @rule(pick=PICK)
    def a_program_ends_well(self, pick: int) -> None:
        assume(len(self.cluster.working) >= self.cluster.quorum)  # a gang in part makes no progress
        self.cluster.end(self._running(pick), "Succeeded")

    @rule()
    def a_stranger_names_the_group(self) -> None:
        if self.cluster.job is not None:
            other = {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": "other", "controller": True}
            self.cluster.make_pod(0)["metadata"] |= {"ownerReferences": [other], "labels": {}}

    @rule(pick=PICK)
    def a_stranger_goes(self, pick: int) -> None:
        strangers = [one for one in self.cluster.pods.values() if not self.cluster.is_own(one)]
        assume(strangers)
        self.cluster.delete_pod(strangers[pick % len(strangers)])

    # What befalls nodes

    def _node(self, pick: int) -> str:
        names = sorted(self.cluster.nodes)
        assume(names)
        return names[pick % len(names)]

    @rule(pick=PICK)
    def a_node_falls_silent(self, pick: int) -> None:
        self.cluster.silence(self._node(pick))

    @rule(pick=PICK)
    def a_node_goes(self, pick: int) -> None:
        self.cluster.remove_node(self._node(pick))

    @rule(pick=PICK)
    def a_machine_is_off(self, pick: int) -> None:
        self.cluster.call_off(self._node(pick))

    @rule(pick=PICK)
    def a_node_comes_back(self, pick: int) -> None:
        self.cluster.revive(f"n{pick % (self.cluster.parallelism + 1)}")

    # What befalls budgets, the group and the Job

    @rule(allowed=st.integers(0, 5))
    def a_budget_changes(self, allowed: int) -> None:
        self.cluster.add_budget(allowed)

    @rule()
    def the_budget_goes(self) -> None:
        self.cluster.budgets.clear()

    @rule()
    def somebody_deletes_the_group(self) -> None:
        metadata_of(self.cluster.group)["deletionTimestamp"] = self.cluster.text()

    def _job(self) -> Object:
        assume(self.cluster.job is not None and not self.cluster.has_ended)
        assert self.cluster.job is not None
        return self.cluster.job

    @rule()
    def a_user_suspends(self) -> None:
        job = self._job()
        if not self.cluster.is_suspended:  # else the write changes nothing, and nobody can see it
            job["spec"]["suspend"], self.cluster.suspended_by = True, "user"

    @rule()
    def a_user_or_a_git_tool_resumes(self) -> None:
        self._job()["spec"]["suspend"], self.cluster.suspended_by = False, ""

    @rule(parallelism=st.integers(1, 4))
    def a_user_resizes(self, parallelism: int) -> None:
        job = self._job()
        job["spec"]["parallelism"] = self.cluster.parallelism = parallelism
        self.cluster.asked = min(self.cluster.asked, parallelism)

    @rule(pick=PICK)
    @precondition(lambda self: self.cluster.now.second % 7 == 0)
    def the_job_is_deleted(self, pick: int) -> None:
        metadata_of(self._job())["deletionTimestamp"] = self.cluster.text()

    @rule()
    @precondition(lambda self: self.cluster.now.second % 7 == 0)
    def the_namespace_is_deleted(self) -> None:
        metadata_of(self.cluster.space)["deletionTimestamp"] = self.cluster.text()

    # What must hold

    def _checked(self, look: Look) -> None:
        self.last = look
        taken = [write for write in look.done if isinstance(write, Suspend | Evict | Delete)]
        self._check_nobody_else(look)
        if look.health.state is GroupState.FINISHING:
            assert not taken, f"took members of a finishing group: {look.health.because}"
        if look.facts.intent is None and look.health.state in (GroupState.FORMING, GroupState.WHOLE):
            assert not taken, f"took members of a group that is {look.health.state}: {look.health.because}"
        if look.turn.began:
            self._check_budget(look)
            self._check_whole(look)
            self._check_loss(look)

    def _check_nobody_else(self, look: Look) -> None:
        taken = {write.key.name for write in look.done if isinstance(write, Evict | Delete)}
        pods = (*look.facts.members, *look.facts.strangers)
        assert taken <= {named(one) for one in pods if self.cluster.is_own(one)}, "took a pod that is no member"
        if self.owner == "MultiKueue":
            assert not [write for write in look.done if isinstance(write, Suspend | Resume | Evict | Delete)], (
                "touched another system's"
            )
        if self.owner in ("Kueue", "a JobSet"):
            assert not [write for write in look.done if isinstance(write, Suspend)], "suspended what another suspends"

    def _check_budget(self, look: Look) -> None:
        spec, intent = self.leader.spec, look.facts.intent
        if spec.budgets == "Ignore" or (
            intent and (look.facts.now - intent.began).total_seconds() >= spec.budget_timeout_seconds
        ):
            return
        going = [one for one in call_roll(look.facts).unfinished if not metadata_of(one).get("deletionTimestamp")]
        costing = [one for one in going if one["status"]["phase"] == "Running"]
        assert look.allowed is None or look.allowed >= len(costing), "budgets were not asked"

    def _check_loss(self, look: Look) -> None:
        strangers = {metadata_of(one)["uid"] for one in look.facts.strangers}
        assert look.health.losses, "began without a loss"
        assert not strangers & {loss.uid for loss in look.health.losses}, "took a stranger's end for a loss"
        job = look.facts.owner or {}
        succeeded = [one for one in look.facts.members if one["status"]["phase"] == "Succeeded"]
        assert job["spec"]["completions"] is not None or not succeeded, "took the rest of a work queue, which completes it"

    def _check_whole(self, look: Look) -> None:
        if any(isinstance(write, Suspend) for write in look.turn.writes):
            return
        chosen = {write.key.name for write in look.turn.writes if isinstance(write, Evict | Delete)}
        staying = [one for one in look.facts.members if one["status"]["phase"] not in ("Succeeded", "Failed")]
        left = {named(one) for one in staying if not metadata_of(one).get("deletionTimestamp")}
        assert left <= chosen, "took a part of the group"

    @invariant()
    def every_state_has_a_reason_and_a_way_out(self) -> None:
        if self.last is not None:
            for health in (self.last.health, self.last.told):
                assert health.because.endswith(".")
                assert health.way_out or health.state is GroupState.WHOLE

    @invariant()
    def nobody_elses_suspension_is_ended(self) -> None:
        """The simulated executor keeps to it; the plan must not lead around it."""
        if self.cluster.is_suspended:
            assert self.cluster.suspended_by in ("us", "user")

    def teardown(self) -> None:
        """Leave it in peace, with room and budget: then nothing is left in part, and nothing is left suspended by us."""
        for number in range(self.cluster.parallelism + 2):
            self.cluster.revive(f"n{number}")
        for name, one in tuple(self.cluster.pods.items()):
            if not self.cluster.is_own(one):
                del self.cluster.pods[name]
        self.cluster.budgets.clear()
        for _ in range(QUIET_SECONDS // 2):
            self.cluster.tick(2)
            self._checked(self.leader.look())
        look = self.leader.look()
        state, because = look.told.state, look.told.because
        if self.cluster.has_ended:
            assert state is GroupState.FINISHING, because
            return
        assert not (self.cluster.is_suspended and self.cluster.suspended_by == "us"), f"left suspended: {because}"
        if not self.cluster.is_suspended:
            allowed = {GroupState.WHOLE, GroupState.FINISHING, *([GroupState.HELD] if self.leader.spec.max_restarts == 1 else [])}
            assert state in allowed, f"{state}: {because}"


PROFILE = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
Lives.TestCase.settings = PROFILE
TestLives = pytest.mark.timeout(600)(Lives.TestCase)  # under a minute, but for a machine that does much else


def started(spec: DisruptionSpec = DEFAULT, **shape: Any) -> tuple[Cluster, Leader]:
    cluster = Cluster(**shape)
    cluster.tick(2)
    assert len(cluster.working) == cluster.parallelism
    return cluster, Leader(cluster, spec)


def tended(cluster: Cluster, leader: Leader, seconds: int) -> GroupState:
    for _ in range(seconds):
        cluster.tick()
        leader.look()
    return leader.look().told.state


def test_a_suspension_that_nobody_remembers_is_ended() -> None:
    """Somebody deletes the PodGroup in the middle of a restart, and our record with it, and the leader changes as well."""
    cluster, leader = started()
    cluster.evict(cluster.working[0])
    leader.look()
    assert cluster.suspended_by == "us"
    metadata_of(cluster.group)["deletionTimestamp"] = cluster.text()
    cluster.tick(15)
    leader.take_over()
    assert tended(cluster, leader, 60) is GroupState.WHOLE


def test_a_group_comes_back_whole_after_each_way_of_losing_two() -> None:
    for take in (cluster_evicts, cluster_deletes, nodes_go):
        cluster, leader = started()
        take(cluster)
        assert tended(cluster, leader, 120) is GroupState.WHOLE, take.__name__
        assert leader.begun == 1, take.__name__


def cluster_evicts(cluster: Cluster) -> None:
    for one in cluster.working[:2]:
        cluster.evict(one)


def cluster_deletes(cluster: Cluster) -> None:
    for one in cluster.working[:2]:
        cluster.delete_pod(one)


def nodes_go(cluster: Cluster) -> None:
    for number in range(4, 8):
        cluster.add_node(f"n{number}")
    for one in cluster.working[:2]:
        cluster.remove_node(node_of(one))


def test_the_rest_of_a_work_queue_runs_to_its_end() -> None:
    cluster, leader = started(parallelism=3, completions=None, asked=3, indexed=False)
    cluster.end(cluster.working[0], "Succeeded")
    cluster.evict(cluster.working[0])
    assert tended(cluster, leader, 30) is GroupState.FINISHING
    assert (len(cluster.working), leader.begun) == (1, 0)


def test_without_us_a_drain_leaves_the_rest_in_part() -> None:
    """The simulated cluster strands what the real one does (experiments 9.2), so that these tests test something."""
    cluster, _ = started()
    first, second = cluster.working[:2]
    for one in (first, second):
        cluster.nodes[node_of(one)]["spec"]["unschedulable"] = True
        cluster.evict(one)
    cluster.tick(60)
    assert len(cluster.working) == 2
