"""Scenes of disruption, each played on a stage of its own; a soak plays them again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from tests.controlplane.client import JOBS, NAMESPACES, NODES, PODS, ApiError, wait_for
from tests.controlplane.nodes import SLOW_LABEL
from tests.controlplane.scenes import is_bound
from tests.e2e.staging import STEP_SECONDS, WHOLE_SECONDS, Gang, Stage, holds

ALONE = "3"
"""CPUs of a pod that leaves no room for a second one on its node."""


def a_node_is_drained(stage: Stage) -> None:
    gang = stage.gang()
    node = gang.node_of()
    stage.drain(node)
    pods = gang.restarted()
    assert node not in {pod["spec"]["nodeName"] for pod in pods}
    assert "was evicted" in gang.told("GroupRestarting")


def a_node_is_deleted(stage: Stage) -> None:
    gang = stage.gang()
    node = gang.node_of()
    stage.client.delete(NODES, "", node)
    gang.restarted()
    told = gang.told("GroupRestarting")  # a leader that came late may not find the pod any more
    assert node in told or "on a node that is gone" in told


def a_node_falls_silent(stage: Stage) -> None:
    """Nobody confirms that its pod ended, so all others are taken down and wait until somebody says that the node is off."""
    stage.cordon(*stage.nodes)
    (dark,) = stage.room(1, real=False)
    stage.revive(dark)
    for node in stage.nodes[:3]:
        stage.cordon(node, back=True)
    quick = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3} for key in _LIFE]
    gang = stage.submit("train", cpu=ALONE, pod={"tolerations": quick})
    wait_for(lambda: sum(map(is_bound, gang.pods())) == 4, what="all are bound")
    stage.run_by_hand(gang.pod_on(dark))
    gang.start()
    wait_for(lambda: gang.step() == "Awaiting", seconds=WHOLE_SECONDS, what="its silence is noticed")
    wait_for(lambda: [pod["spec"]["nodeName"] for pod in gang.pods()] == [dark], seconds=STEP_SECONDS, what="the others are down")
    stage.cordon(stage.nodes[3], back=True)
    holds(lambda: [pod["spec"].get("nodeName") for pod in gang.pods()] == [dark])
    stage.taint(dark, "node.kubernetes.io/out-of-service")
    gang.restarted()
    told = gang.told("GroupRestarting")  # a leader that came late finds the pod deleted already
    assert "reports nothing" in told or "NoExecute taint" in told


def a_node_is_tainted(stage: Stage) -> None:
    gang = stage.gang(activeDeadlineSeconds=3600)
    stage.taint(gang.node_of(), "example.com/broken")
    gang.restarted()
    assert "NoExecute taint" in gang.told("GroupRestarting")
    assert "activeDeadlineSeconds (3600) begins anew" in gang.told("GroupRestarting")


def a_pod_is_deleted(stage: Stage) -> None:
    gang = stage.gang()
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    gang.restarted()
    assert "was deleted by somebody" in gang.told("GroupRestarting")


def a_pod_is_evicted(stage: Stage) -> None:
    gang = stage.gang()
    stage.client.evict(stage.namespace, gang.running()[0]["metadata"]["name"])
    gang.restarted()
    assert "was evicted" in gang.told("GroupRestarting")


def a_kubelet_ends_a_pod(stage: Stage) -> None:
    gang = stage.gang()
    name = gang.running()[0]["metadata"]["name"]
    stage.end_by_kubelet(name)
    gang.restarted()
    assert "was ended by the kubelet" in gang.told("GroupRestarting")


def a_device_that_all_share_is_tainted(stage: Stage) -> None:
    """Its controller deletes pod by pod: all are gone before the restart begins, or it takes the rest down."""
    gang = stage.gang()
    for pod in gang.running():
        stage.take_its_device(pod["metadata"]["name"])
    gang.came_back(seconds=2 * WHOLE_SECONDS)
    assert "a device of its claim is tainted" in gang.told("GroupRestarting") + gang.told("GroupTaken")
    gang.alive()


def a_program_crashes_again_and_again(stage: Stage) -> None:
    """Nothing took it, so its group is not restarted; but it is told."""
    gang = stage.gang()
    stage.crash(gang.running()[0]["metadata"]["name"])
    wait_for(lambda: "CrashLoopBackOff" in gang.told("GroupStuck"), seconds=STEP_SECONDS, what="it is told")
    holds(lambda: not gang.step())
    gang.untouched()


def two_members_are_lost_at_once(stage: Stage) -> None:
    gang = stage.gang()
    for pod in gang.running()[:2]:
        stage.client.delete(PODS, stage.namespace, pod["metadata"]["name"])
    gang.restarted()


def a_node_with_members_of_three_gangs_is_drained(stage: Stage) -> None:
    gangs = [stage.submit(name, cpu="500m").start() for name in ("one", "two", "three")]
    places = [{pod["spec"]["nodeName"] for pod in gang.running()} for gang in gangs]
    node = min(set.intersection(*places))
    assert "drained" in stage.drain(node)
    for gang in gangs:
        gang.restarted()


def a_budget_allows_fewer_than_the_group_and_later_more(stage: Stage) -> None:
    stage.budget("most", minAvailable=2)
    gang = _held_by_budget(stage, "PodDisruptionBudget most allows")
    stage.client.patch(BUDGETS, stage.namespace, "most", {"spec": {"minAvailable": 0}})
    _comes_back_when_there_is_room(stage, gang)


def a_budget_that_can_never_allow_it_is_named(stage: Stage) -> None:
    stage.budget("never", maxUnavailable=1)
    gang = _held_by_budget(stage, "maxUnavailable")
    assert "scale subresource" in gang.told("GroupHeld")
    stage.client.delete(BUDGETS, stage.namespace, "never")
    _comes_back_when_there_is_room(stage, gang)


def slow_members_end_while_only_a_part_would_fit(stage: Stage) -> None:
    """Started pod by pod, two would come back alone: old and new members together would meet the quorum."""
    gang = _filling(stage)
    quick, *slow = gang.running()
    for pod in slow[:2]:
        stage.label_pod(pod["metadata"]["name"], SLOW_LABEL, "8s")
        stage.cordon(pod["spec"]["nodeName"])
    stage.client.delete(PODS, stage.namespace, quick["metadata"]["name"])
    wait_for(lambda: gang.step() == "Forming", seconds=STEP_SECONDS, what="it was resumed")
    wait_for(lambda: len(gang.pods()) == 4, seconds=STEP_SECONDS, what="the Job made its pods")
    holds(lambda: not gang.running())
    stage.cordon(*stage.nodes, back=True)
    gang.restarted()


def a_late_member_fails_after_others_have_succeeded(stage: Stage) -> None:
    """Nothing took it, so nothing is restarted; but with the old quorum its replacement would wait for ever."""
    gang = stage.gang()
    first, second, third, fourth = (pod["metadata"]["name"] for pod in gang.running())
    for name in (first, second):
        stage.client.finish_pod(stage.namespace, name)
    wait_for(lambda: gang.job()["status"].get("succeeded") == 2, what="the Job counts them")
    stage.client.finish_pod(stage.namespace, third, "Failed")
    wait_for(lambda: len(gang.new()) == 1, seconds=STEP_SECONDS, what="its replacement runs")
    assert gang.group()["spec"]["schedulingPolicy"]["gang"]["minCount"] == 2
    assert fourth in {pod["metadata"]["name"] for pod in gang.running()}
    assert not gang.told("GroupRestarting")
    gang.alive()


def a_namespace_is_deleted_in_the_middle(stage: Stage) -> None:
    gang = stage.gang(labels={SLOW_LABEL: "5s"})
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    gang.goes_down()
    stage.client.delete(NAMESPACES, "", stage.namespace)
    wait_for(lambda: stage.client.find(NAMESPACES, "", stage.namespace) is None, seconds=300, what="the namespace is gone")


def a_group_ends_while_its_nodes_are_drained(stage: Stage) -> None:
    gang = stage.gang()
    nodes = [pod["spec"]["nodeName"] for pod in gang.running()]
    names = list(gang.first)
    for name in names[:3]:
        stage.client.finish_pod(stage.namespace, name)
    last = gang.pods()[0]["spec"]["nodeName"]
    for node in set(nodes) - {last}:
        stage.drain(node)
    stage.client.finish_pod(stage.namespace, names[3])
    stage.drain(last)
    wait_for(lambda: _is_complete(gang), seconds=STEP_SECONDS, what="the Job is complete")
    assert not gang.told("GroupRestarting")


def a_person_suspends_it_before_it_is_whole(stage: Stage) -> None:
    gang = stage.gang()
    stage.cordon(*stage.nodes)  # so that it is not whole before the person comes to it
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    wait_for(lambda: gang.step() == "Forming", seconds=STEP_SECONDS, what="it was resumed")
    stage.client.patch(JOBS, stage.namespace, gang.name, {"spec": {"suspend": True}})
    wait_for(lambda: gang.told("GroupRestartAbandoned"), seconds=STEP_SECONDS, what="the end is told")
    assert "somebody suspended it" in gang.told("GroupRestartAbandoned")
    holds(lambda: gang.job()["spec"]["suspend"] is True)
    stage.cordon(*stage.nodes, back=True)
    stage.client.patch(JOBS, stage.namespace, gang.name, {"spec": {"suspend": False}})
    gang.together(wait_for(gang.is_new, seconds=WHOLE_SECONDS, what="it runs again"))


def a_person_resizes_it_in_the_middle(stage: Stage) -> None:
    gang = stage.gang(labels={SLOW_LABEL: "4s"})
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    gang.goes_down()
    stage.client.patch(JOBS, stage.namespace, gang.name, {"spec": {"parallelism": 3, "completions": 3}})
    gang.restarted(size=3)
    wait_for(lambda: gang.group()["spec"]["schedulingPolicy"]["gang"]["minCount"] == 3, what="the quorum is its size")


def a_tool_sets_the_suspension_back(stage: Stage) -> None:
    """As a GitOps tool does whose manifest says suspend: false. It has the last word, and we do not say ours again."""
    gang = stage.gang(labels={SLOW_LABEL: "6s"})
    ended = threading.Event()
    tool = threading.Thread(target=_keep_running, args=(stage, gang, ended))
    tool.start()
    try:
        stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
        wait_for(lambda: gang.told("GroupRestartAbandoned"), seconds=STEP_SECONDS, what="the end is told")
        wait_for(lambda: gang.step() in _AT_REST, seconds=STEP_SECONDS, what="the end is written")
        holds(lambda: gang.step() in _AT_REST, times=40)
    finally:
        ended.set()
        tool.join()
    assert "set back" in gang.told("GroupRestartAbandoned")
    assert gang.job()["spec"]["suspend"] is False
    gang.alive()


def kueue_takes_it_over_in_the_middle(stage: Stage) -> None:
    gang = stage.gang(labels={SLOW_LABEL: "6s"})
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    gang.goes_down()
    change = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "batch"}}}
    stage.client.patch(JOBS, stage.namespace, gang.name, change)
    wait_for(lambda: gang.told("GroupRestartAbandoned"), seconds=STEP_SECONDS, what="the end is told")
    assert "Kueue" in gang.told("GroupRestartAbandoned")
    holds(lambda: gang.job()["spec"]["suspend"] is True)


def _filling(stage: Stage) -> Gang:
    """Return a gang that takes four nodes for itself; the fifth is cordoned."""
    stage.cordon(stage.nodes[4])
    return stage.gang(cpu=ALONE)


def _held_by_budget(stage: Stage, words: str) -> Gang:
    """Take a member for which there is no other room, of a group that its budget does not let go."""
    gang = _filling(stage)
    lost = gang.running()[0]
    stage.cordon(lost["spec"]["nodeName"])
    stage.client.delete(PODS, stage.namespace, lost["metadata"]["name"])
    wait_for(lambda: gang.step() == "Holding", seconds=STEP_SECONDS, what="it is held")
    wait_for(lambda: words in gang.told("GroupHeld"), seconds=STEP_SECONDS, what="the budget is named")
    wait_for(lambda: len(gang.pods()) == 4, seconds=STEP_SECONDS, what="the Job made another pod")
    holds(lambda: len(gang.running()) == 3 and gang.job()["spec"].get("suspend") is not True)
    return gang


def _comes_back_when_there_is_room(stage: Stage, gang: Gang) -> None:
    """See that all go once they may, that none comes back while one has no room, and then all do."""
    wait_for(lambda: gang.step() == "Forming", seconds=STEP_SECONDS, what="it was restarted")
    wait_for(lambda: len(gang.pods()) == 4, seconds=STEP_SECONDS, what="the Job made its pods")
    holds(lambda: not gang.running())
    stage.cordon(*stage.nodes, back=True)
    gang.restarted()


def _keep_running(stage: Stage, gang: Gang, ended: threading.Event) -> None:
    while not ended.wait(0.2):
        with suppress(ApiError):
            if gang.job()["spec"].get("suspend"):
                stage.client.patch(JOBS, stage.namespace, gang.name, {"spec": {"suspend": False}})


def _is_complete(gang: Gang) -> bool:
    conditions = gang.job().get("status", {}).get("conditions", [])
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


_AT_REST = ("", "Holding")
"""No restart, or one that waits: who was on the way out when it ended is lost, and the next one comes much later."""
BUDGETS = "policy/v1/poddisruptionbudgets"
_LIFE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SCENES: dict[str, Callable[[Stage], None]] = {
    scene.__name__: scene
    for scene in (
        a_node_falls_silent,
        a_node_is_drained,
        a_node_is_deleted,
        a_node_is_tainted,
        a_pod_is_deleted,
        a_pod_is_evicted,
        a_kubelet_ends_a_pod,
        a_device_that_all_share_is_tainted,
        a_program_crashes_again_and_again,
        two_members_are_lost_at_once,
        a_node_with_members_of_three_gangs_is_drained,
        a_budget_allows_fewer_than_the_group_and_later_more,
        a_budget_that_can_never_allow_it_is_named,
        slow_members_end_while_only_a_part_would_fit,
        a_late_member_fails_after_others_have_succeeded,
        a_namespace_is_deleted_in_the_middle,
        a_group_ends_while_its_nodes_are_drained,
        a_person_suspends_it_before_it_is_whole,
        a_person_resizes_it_in_the_middle,
        a_tool_sets_the_suspension_back,
        kueue_takes_it_over_in_the_middle,
    )
}
