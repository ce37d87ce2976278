"""The state of a group, by name: what is seen, and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.builders import pod
from tests.preemption.groups import Group, ago, at, intent, loss
from webhook.model.disruption import GroupState, LossCause, Step
from webhook.model.groups import SCHEDULING_VERSION
from webhook.model.snapshot import snapshot_of
from webhook.preemption import gather_facts, judge_health

FORMING, WHOLE, LOST, STUCK = GroupState.FORMING, GroupState.WHOLE, GroupState.LOST_A_MEMBER, GroupState.STUCK
HELD, FINISHING, RESTARTING = GroupState.HELD, GroupState.FINISHING, GroupState.RESTARTING


@dataclass(frozen=True)
class Case:
    name: str
    befall: Callable[[Group], Any]
    state: GroupState
    says: str = ""
    """A part of the evidence."""
    due: bool = False
    again: float | None = None
    causes: tuple[LossCause, ...] = ()
    quorum: int | None = None

    def __str__(self) -> str:
        return self.name


def evicted(g: Group, index: int = 1, **more: Any) -> Group:
    return g.doomed(index, "EvictionByEvictionAPI", message="Eviction API: evicting", **more).deleted(index)


BEGINNING = (
    Case("pods that wait for a node form a group", lambda g: g.waiting(), FORMING, "4 of 4 pods wait"),
    Case("so does a group without a pod yet", lambda g: g, FORMING, "4 pods exist at the same time; 0 of 4 do"),
    Case("so does one of which some pods are not made yet", lambda g: g.waiting(2), FORMING, "2 of 4 do"),
    Case(
        "the scheduler's word is the evidence where it found no room",
        lambda g: g.waiting().condition("PodGroupInitiallyScheduled", "False", "Unschedulable", "0/2 nodes are available"),
        FORMING,
        "0/2 nodes are available",
    ),
    Case(
        "one gated member holds all",
        lambda g: g.waiting().with_pod(1, "spec.schedulingGates", [{"name": "example.com/gate"}]),
        FORMING,
        "gate example.com/gate",
    ),
    Case(
        "members that the scheduler binds one after the other are no half group",
        lambda g: g.run(2).waiting(2),
        FORMING,
        "the others are on their way",
        again=30,
    ),
    Case(
        "a shared claim that settles in two seconds is no loss",
        lambda g: g.run(1).waiting(3).remembering(short_since=-2),
        FORMING,
        "1 of 4 members work",
        again=28,
    ),
    Case("a Job that somebody suspended", lambda g: g.with_job("spec.suspend", True), FORMING, "is suspended, and not by"),
    Case(
        "members that a suspension takes are no loss",
        lambda g: g.run().deleted(0).deleted(1).with_job("spec.suspend", True),
        FORMING,
        "is suspended",
    ),
    Case(
        "a Job that Kueue has not let in says so",
        lambda g: g.with_job("spec.suspend", True).with_job("metadata.labels.kueue~x-k8s~io/queue-name", "team-a"),
        FORMING,
        "Kueue suspends and resumes it",
    ),
    Case("a Job that is to run no pods", lambda g: g.with_job("spec.parallelism", 0), FORMING, "no pods for now"),
    Case(
        "a group that was taken whole starts together or not at all without our help",
        lambda g: [g.remembering(losses=[loss(i, LossCause.PREEMPTED) for i in range(4)]), *map(g.replaced, range(4))][0],
        FORMING,
        "was preempted by the scheduler",
    ),
)
RUNNING = (
    Case("pods that all run", lambda g: g.run(), WHOLE, "4 of 4 members work"),
    Case("a cordoned node runs what it has", lambda g: g.run().with_node("n1", "spec.unschedulable", True), WHOLE),
    Case("a disruption that is only announced takes nobody", lambda g: g.run().doomed(1, "PreemptionByScheduler"), WHOLE),
    Case(
        "not even for the whole group (a vetoed preemption)",
        lambda g: [g.run(), *(g.doomed(i, "PreemptionByScheduler") for i in range(4))][0],
        WHOLE,
    ),
    Case("a node that is not ready, but speaks", lambda g: g.run().node("n1", ready="False"), WHOLE),
    Case("a pod on a node that our watch does not know yet", lambda g: g.run().without_node("n1"), WHOLE, again=10),
    Case(
        "a node that has been missing for three seconds may be one of those",
        lambda g: g.run().without_node("n1", seen_missing=-3),
        WHOLE,
        again=7,
    ),
    Case(
        "pods that have succeeded are satisfied",
        lambda g: g.run().succeeded(0, 1),
        WHOLE,
        "2 of 2 members work, 2 have succeeded",
    ),
    Case(
        "and they are so before the Job's status says it",
        lambda g: g.run().succeeded(0, 1, counted=False),
        WHOLE,
        "2 of 2 members work",
    ),
    Case("a pod that succeeds while it is deleted", lambda g: g.run().succeeded(0).deleted(0), WHOLE, "3 of 3"),
    Case(
        "a lost member that was replaced",
        lambda g: g.run().gone(1, loss(1, since=-60)).replaced(1, created=-20, node="n9"),
        WHOLE,
        "4 of 4",
    ),
    Case(
        "a failed pod that was replaced",
        lambda g: g.run().failed(1, ended=-60).replaced(1, created=-20, node="n9"),
        WHOLE,
        "4 of 4",
    ),
    Case(
        "one of six where four are enough",
        lambda g: evicted(g.run(6).sized(6)),
        WHOLE,
        "its quorum of 4 still runs",
        quorum=4,
    ),
    Case(
        "a group that is no gang is kept together by nobody",
        lambda g: evicted(g.run().with_group("spec.schedulingPolicy", {"basic": {}})),
        WHOLE,
        "is no gang",
    ),
    Case(
        "a stranger's pod that names the group and is deleted",
        lambda g: g.run().stranger("intruder", deleted=True),
        WHOLE,
        "4 of 4",
    ),
    Case(
        "an index that failed for good is not wanted any more",
        lambda g: g.run().failed(3).with_job("status.failedIndexes", "3").with_group(*QUORUM_OF_3),
        WHOLE,
        "3 of 3",
    ),
    Case(
        "the last member alone, with the quorum that is left",
        lambda g: g.run().succeeded(0, 1, 2).with_group(*QUORUM_OF_1),
        WHOLE,
        "1 of 1 members work, 3 have succeeded",
    ),
)
LOSING = (
    Case("an eviction", lambda g: evicted(g.run()), LOST, "train-1 (node n1) was evicted", due=True, causes=(LossCause.EVICTED,)),
    Case(
        "a preemption of one",
        lambda g: g.run().doomed(1, "PreemptionByScheduler").deleted(1),
        LOST,
        "was preempted by the scheduler",
        due=True,
        causes=(LossCause.PREEMPTED,),
    ),
    Case(
        "a preemption of all, while they end",
        lambda g: [g.run(), *(g.doomed(i, "PreemptionByScheduler").deleted(i) for i in range(4))][0],
        LOST,
        "0 of 4 members work",
        due=True,
        causes=(LossCause.PREEMPTED,) * 4,
    ),
    Case(
        "a NoExecute taint",
        lambda g: g.run().doomed(1, "DeletionByTaintManager").deleted(1),
        LOST,
        "NoExecute taint",
        due=True,
        causes=(LossCause.TAINTED,),
    ),
    Case(
        "a tainted device",
        lambda g: g.run().doomed(1, "DeletionByDeviceTaintManager").deleted(1),
        LOST,
        "device of its claim is tainted",
        due=True,
        causes=(LossCause.DEVICE_TAINTED,),
    ),
    Case(
        "pod garbage collection",
        lambda g: g.run().doomed(1, "DeletionByPodGC").failed(1),
        LOST,
        "pod garbage collection",
        due=True,
        causes=(LossCause.COLLECTED,),
    ),
    Case(
        "the kubelet, with its condition",
        lambda g: g.run().doomed(1, "TerminationByKubelet", message="The node was low on resource: memory").failed(1, code=137),
        LOST,
        "low on resource: memory",
        due=True,
        causes=(LossCause.KUBELET,),
    ),
    Case(
        "the kubelet, by its reason alone",
        lambda g: g.run().failed(1, reason="NodeShutdown"),
        LOST,
        "NodeShutdown",
        due=True,
        causes=(LossCause.KUBELET,),
    ),
    Case(
        "a kubelet that refuses the pod",
        lambda g: g.run().failed(1, reason="OutOfcpu"),
        LOST,
        "OutOfcpu",
        due=True,
        causes=(LossCause.KUBELET,),
    ),
    Case(
        "a person with kubectl delete pod",
        lambda g: g.run().deleted(1),
        LOST,
        "deleted by somebody",
        due=True,
        causes=(LossCause.DELETED,),
    ),
    Case(
        "that is left alone for a moment, for a Job that fails or shrinks does the same and then says so",
        lambda g: g.run().deleted(1, since=-1),
        LOST,
        "deleted by somebody",
        again=1,
    ),
    Case(
        "pods that a Job takes away because it is to run fewer",
        lambda g: g.run().deleted(2).deleted(3).sized(4, parallelism=2).with_group("spec.schedulingPolicy.gang.minCount", 2),
        WHOLE,
        "2 of 2",
    ),
    Case(
        "a pod that was seen to go",
        lambda g: g.run().gone(1, loss(1)),
        LOST,
        "was evicted",
        due=True,
        causes=(LossCause.EVICTED,),
    ),
    Case(
        "a pod that nobody saw go, after a while",
        lambda g: g.run().gone(1).remembering(short_since=-31),
        LOST,
        "nobody saw it go",
        due=True,
        causes=(LossCause.UNSEEN,),
    ),
    Case(
        "a member that cannot come back, after a while",
        lambda g: g.run().gone(1).replaced(1).remembering(short_since=-31),
        LOST,
        "train-1-again is missing",
        due=True,
        causes=(LossCause.UNSEEN,),
    ),
    Case(
        "a node that is gone",
        lambda g: g.run().without_node("n1", seen_missing=-11),
        LOST,
        "Node n1 does not exist",
        due=True,
        causes=(LossCause.NODE_GONE,),
    ),
    Case(
        "a node that an operator calls out of service",
        lambda g: g.run().node("n1", taint="node.kubernetes.io/out-of-service"),
        LOST,
        "out-of-service",
        due=True,
        causes=(LossCause.NODE_GONE,),
    ),
    Case(
        "a silent node",
        lambda g: g.run().node("n1", ready="Unknown"),
        LOST,
        "Node n1 is silent",
        due=True,
        causes=(LossCause.NODE_SILENT,),
    ),
    Case(
        "a node with the taint of silence",
        lambda g: g.run().node("n1", taint="node.kubernetes.io/unreachable"),
        LOST,
        "is silent",
        due=True,
        causes=(LossCause.NODE_SILENT,),
    ),
    Case(
        "two members at once, told together",
        lambda g: evicted(evicted(g.run(), 2, since=-9), 1),
        LOST,
        "train-2",
        due=True,
        causes=(LossCause.EVICTED,) * 2,
    ),
    Case(
        "a replacement that waits makes nothing whole",
        lambda g: g.run().gone(1, loss(1, since=-60)).replaced(1, created=-20),
        LOST,
        "3 of 4",
        due=True,
    ),
    Case(
        "an older pod of another index is no replacement",
        lambda g: g.run().failed(1, reason="NodeShutdown", ended=-3600),
        LOST,
        "3 of 4",
        due=True,
    ),
    Case(
        "a member lost after others succeeded",
        lambda g: evicted(g.run().succeeded(0).with_group(*QUORUM_OF_3)),
        LOST,
        "2 of 3 members work, 1 have succeeded",
        due=True,
    ),
    Case(
        "the third of six where four are needed",
        lambda g: evicted(evicted(evicted(g.run(6).sized(6)), 2), 3),
        LOST,
        "3 of 6",
        due=True,
        quorum=4,
    ),
    Case(
        "an eviction that the policy ignores", lambda g: evicted(g.with_spec(on_disruption="Ignore").run()), LOST, "was evicted"
    ),
    Case(
        "an eviction with time for a replacement",
        lambda g: evicted(g.with_spec(on_disruption="IfNotReplaced", replacement_grace_seconds=90).run()),
        LOST,
        "was evicted",
        again=85,
    ),
    Case(
        "and when that time has passed",
        lambda g: evicted(g.with_spec(on_disruption="IfNotReplaced", replacement_grace_seconds=90).run(), since=-91),
        LOST,
        "was evicted",
        due=True,
    ),
    Case(
        "a program that fails is the Job's business", lambda g: g.run().failed(1), LOST, "exit code 1", causes=(LossCause.FAILED,)
    ),
    Case(
        "unless the policy says otherwise",
        lambda g: g.with_spec(on_member_failure="Restart").run().failed(1),
        LOST,
        "failed by itself",
        due=True,
    ),
    Case(
        "its own deadline is a program's failure",
        lambda g: g.run().failed(1, reason="DeadlineExceeded"),
        LOST,
        "DeadlineExceeded",
        causes=(LossCause.FAILED,),
    ),
    Case(
        "so is a failure long after a preemption that was vetoed",
        lambda g: g.run().doomed(1, "PreemptionByScheduler", since=-3600).failed(1),
        LOST,
        "failed by itself",
        causes=(LossCause.FAILED,),
    ),
    Case(
        "a disruption beside a failure counts",
        lambda g: evicted(g.run().failed(2, ended=-60), 1),
        LOST,
        "was evicted",
        due=True,
        causes=(LossCause.EVICTED, LossCause.FAILED),
    ),
    Case(
        "a replacement that fails by itself is no disruption any more",
        lambda g: g.run().gone(1, loss(1, since=-90)).replaced(1, created=-60, node="n9").failed(-1, name="train-1-again"),
        LOST,
        "failed by itself",
        causes=(LossCause.FAILED,),
    ),
    Case(
        "the last member of all takes nobody with it",
        lambda g: evicted(g.run().succeeded(0, 1, 2).with_group(*QUORUM_OF_1), 3),
        LOST,
        "0 of 1 members work",
    ),
    Case(
        "a Job of a CronJob is restarted as any other",
        lambda g: evicted(g.run().controlled_by("batch/v1", "CronJob")),
        LOST,
        "was evicted",
        due=True,
    ),
    Case(
        "a Job of Kueue is restarted by eviction",
        lambda g: evicted(g.run().with_job("metadata.labels.kueue~x-k8s~io/queue-name", "q")),
        LOST,
        "was evicted",
        due=True,
    ),
)
HOLDING = (
    Case(
        "a Job that another controller manages",
        lambda g: evicted(g.run().with_job("spec.managedBy", "kueue.x-k8s.io/multikueue")),
        HELD,
        "spec.managedBy gives it to kueue.x-k8s.io/multikueue",
    ),
    Case(
        "a Job of another gang system",
        lambda g: evicted(g.run().with_job("metadata.annotations.scheduling~volcano~sh/queue-name", "q")),
        HELD,
        "another system runs it: Volcano",
    ),
    Case(
        "a restart that waits for a budget",
        lambda g: g.run().remembering(intent=intent(Step.HOLDING, note="PDB b allows 0")),
        HELD,
        "PDB b allows 0",
    ),
    Case("a PodGroup that nobody owns", lambda g: g.run().with_group("metadata.ownerReferences", []), HELD, "names no workload"),
    Case(
        "a workload of a kind that is not watched",
        lambda g: g.run().with_group("metadata.ownerReferences", [OTHER_OWNER]).with_group("metadata.labels", {}),
        HELD,
        "Train other is of a kind that is not watched",
    ),
)
RESTARTS = (
    Case("a restart of ours", lambda g: g.run(2).remembering(intent=intent(Step.AWAITING)), RESTARTING, "Restart abc123"),
    Case(
        "also when all is there again, until it is said to be over",
        lambda g: g.run().remembering(intent=intent(Step.FORMING)),
        RESTARTING,
        "Forming",
    ),
)
STICKING = (
    Case(
        "a late failure: the quorum counts one that has succeeded",
        lambda g: g.run().succeeded(0).failed(1).replaced(1).remembering(short_since=-6),
        STUCK,
        "has minCount 4, and Job train will run no more than 3",
    ),
    Case(
        "that is so only once the quorum had time to follow",
        lambda g: g.run().succeeded(0).failed(1).replaced(1).remembering(short_since=-1),
        LOST,
        "exit code 1",
        again=4,
    ),
    Case(
        "a tail: three of six end at once, and two come",
        lambda g: g.run(4).sized(6, parallelism=4).succeeded(0, 1, 2).waiting(2).remembering(short_since=-6),
        STUCK,
        "minCount 4",
        quorum=4,
    ),
    Case("fewer completions than the quorum", lambda g: g.with_job("spec.completions", 3).waiting(3), STUCK, "no more than 3"),
    Case("a resumed Job of which one had succeeded", lambda g: g.run(1).succeeded(0).waiting(3), STUCK, "no more than 3"),
    Case(
        "a member that ends on a dead node, where the policy ignores it",
        lambda g: (
            g.with_spec(on_disruption="Ignore").run().node("n1", ready="Unknown").doomed(1, "DeletionByTaintManager").deleted(1)
        ),
        STUCK,
        "nobody confirms that it ended",
    ),
    Case("a program that crashes again and again", lambda g: g.run().crashing(1), STUCK, "CrashLoopBackOff"),
    Case(
        "pods of another priority than the group's",
        lambda g: g.waiting().with_group("spec.priority", 7),
        STUCK,
        "has priority 0 but group g has 7",
    ),
    Case(
        "pods for two schedulers",
        lambda g: g.waiting().with_pod(1, "spec.schedulerName", "other"),
        STUCK,
        "different schedulers",
    ),
)
ENDING = (
    Case("a complete Job", lambda g: evicted(g.run().job_condition("Complete")), FINISHING, "has ended"),
    Case("a failed Job", lambda g: evicted(g.run().job_condition("Failed")), FINISHING, "has ended"),
    Case(
        "a Job that is about to fail",
        lambda g: evicted(g.run().job_condition("FailureTarget", "PodFailurePolicy")),
        FINISHING,
        "about to end (PodFailurePolicy)",
    ),
    Case(
        "a Job whose success criteria are met",
        lambda g: evicted(g.run().job_condition("SuccessCriteriaMet", "SuccessPolicy")),
        FINISHING,
        "SuccessPolicy",
    ),
    Case(
        "a Job that is being deleted",
        lambda g: evicted(g.run().with_job("metadata.deletionTimestamp", at(-1))),
        FINISHING,
        "Job train is being deleted",
    ),
    Case("a Job that is gone", lambda g: evicted(g.run().without_job()), FINISHING, "Job train is gone"),
    Case("another Job of its name", lambda g: evicted(g.run().with_job("metadata.uid", "another")), FINISHING, "is gone"),
    Case(
        "a PodGroup that is being deleted",
        lambda g: evicted(g.run().with_group("metadata.deletionTimestamp", at(-1))),
        FINISHING,
        "PodGroup g is",
    ),
    Case(
        "a namespace that is being deleted",
        lambda g: evicted(g.run().with_namespace("status.phase", "Terminating")),
        FINISHING,
        "Namespace team-a",
    ),
    Case("all members have succeeded", lambda g: g.run().succeeded(0, 1, 2, 3), FINISHING, "All members"),
    Case(
        "all members have succeeded, and the Job does not say so yet",
        lambda g: g.run().succeeded(0, 1, 2, 3, counted=False),
        FINISHING,
        "All members",
    ),
    Case(
        "an end wins over a restart of ours",
        lambda g: g.run().remembering(intent=intent(Step.AWAITING)).job_condition("Failed"),
        FINISHING,
        "has ended",
    ),
    Case(
        "a work queue after its first success makes no pod any more",
        lambda g: evicted(g.run().with_job("spec.completions", None).succeeded(0)),
        FINISHING,
        "work queue",
    ),
    Case(
        "also before its status says so",
        lambda g: evicted(g.run().with_job("spec.completions", None).succeeded(0, counted=False)),
        FINISHING,
        "work queue",
    ),
)
QUORUM_OF_3 = ("spec.schedulingPolicy.gang.minCount", 3)
QUORUM_OF_1 = ("spec.schedulingPolicy.gang.minCount", 1)
OTHER_OWNER = {"apiVersion": "example.com/v1", "kind": "Train", "name": "other", "uid": "u", "controller": True}
CASES = (*BEGINNING, *RUNNING, *LOSING, *HOLDING, *RESTARTS, *STICKING, *ENDING)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_state(case: Case) -> None:
    group = case.befall(Group(quorum=case.quorum))
    found = judge_health(group.facts())
    assert (found.state, found.is_restart_due) == (case.state, case.due), found.because
    assert case.says in found.because
    assert found.look_again_seconds == case.again
    if case.causes:
        assert tuple(one.cause for one in found.losses) == case.causes


@pytest.mark.parametrize("case", CASES, ids=str)
def test_evidence_is_a_sentence_and_every_state_but_whole_has_a_way_out(case: Case) -> None:
    found = judge_health(case.befall(Group(quorum=case.quorum)).facts())
    assert re.fullmatch(r"[A-Z0-9].*\.", found.because), found.because
    assert bool(found.way_out) is (found.state is not WHOLE)
    assert not re.search(r"\bNone\b|\.\.$|  ", found.because), found.because


def test_what_burns_and_what_is_wanted_is_counted() -> None:
    found = judge_health(evicted(Group().run().succeeded(0)).facts())
    assert (found.bound, found.working, found.wanted) == (3, 2, 3)


def test_a_loss_tells_since_when_and_where() -> None:
    found = judge_health(evicted(Group().run(), since=-7).facts())
    assert found.since == ago(7)
    (lost,) = found.losses
    assert (lost.pod, lost.uid, lost.node, lost.index, lost.message) == ("train-1", "uid-1", "n1", "1", "Eviction API: evicting")


def test_a_group_is_short_as_long_as_too_few_work() -> None:
    assert judge_health(Group().run(2).waiting(2).facts()).is_short
    assert judge_health(evicted(Group().run()).facts()).is_short
    assert not judge_health(Group().run().facts()).is_short
    assert not judge_health(Group().waiting().facts()).is_short


def test_members_of_a_job_of_a_jobset_are_proved_through_the_job() -> None:
    group = Group().run().of_a_jobset()
    assert judge_health(group.facts()).state is WHOLE
    assert judge_health(evicted(group).facts()).is_restart_due


def test_a_kind_without_its_job_in_between_proves_nothing() -> None:
    group = Group().run().of_a_jobset()
    group.job["metadata"]["uid"] = "another job of that name"
    assert not group.facts().members


def test_a_restart_is_judged_again_without_its_intent_to_see_the_members() -> None:
    facts = Group().run().remembering(intent=intent(Step.FORMING)).facts(intent=None)
    assert judge_health(facts).state is WHOLE


def test_pods_are_no_members_because_they_say_so() -> None:
    facts = Group().run().stranger("intruder").facts()
    assert [pod["metadata"]["name"] for pod in facts.strangers] == ["intruder"]
    assert len(facts.members) == 4


def test_nodes_that_are_not_watched_are_not_gone() -> None:
    group = Group().run()
    known = [group.job, group.pod_group, *group.pods.values()]
    facts = gather_facts(group.pod_group, group.pods.values(), snapshot_of(known), spec=group.spec, now=ago(0))
    assert judge_health(facts).state is WHOLE


def test_a_pod_without_labels_of_a_job_that_is_not_indexed_is_replaced_by_any_later_one() -> None:
    group = Group().run().unindexed()
    gone = group.gone(1, loss(1, since=-60, index=""))
    assert judge_health(gone.facts()).is_restart_due
    assert judge_health(gone.replaced(1, created=-30, node="n9").unindexed().facts()).state is WHOLE


def test_one_later_pod_makes_good_one_of_two_losses() -> None:
    group = Group().run().unindexed().gone(1, loss(1, since=-60, index="")).gone(2, loss(2, since=-50, index=""))
    found = judge_health(group.replaced(1, created=-30, node="n9").unindexed().facts())
    assert (len(found.losses), found.working) == (1, 3)


def test_a_native_group_is_owned_by_its_job_as_controller() -> None:
    group = Group().run()
    references = [
        {"apiVersion": SCHEDULING_VERSION, "kind": "Workload", "name": "w", "uid": "w"},
        {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": group.job["metadata"]["uid"], "controller": True},
    ]
    group.with_group("metadata.ownerReferences", references).with_group("metadata.labels", {})
    assert judge_health(evicted(group).facts(planned=None)).is_restart_due


def test_a_bare_pod_that_names_the_group_is_a_stranger() -> None:
    group = Group().run(3)
    group.pods["bare"] = pod("bare", group="g", phase="Running").at("metadata.uid", "bare").build()
    assert len(group.facts().strangers) == 1
