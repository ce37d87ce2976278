"""``gangwarden explain`` on a real cluster: what Kubernetes itself says nothing about, and the scheduler's own preemption.

The controller looks, tells and counts here, and restarts nothing: so what a half-running group burns can be seen as well.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.controlplane.client import NODES, PODS, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import COMMAND, Installation, labelled_job, running

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    directory = tmp_path_factory.mktemp("explain")
    policies = directory / "policies"
    shutil.copytree(ROOT / "policies/gang/labelled-jobs", policies / "labelled-jobs")
    with running(control_plane, policies, directory, called=is_stamped) as made:  # there is one policy, so one webhook
        made.start_controller("--no-restarts")
        made.wait_for_leader()
        yield made


def is_stamped(client: Client) -> bool:
    return "schedulingGroup" in client.create(labelled_job("probe", "default"), dry_run=True)["spec"]["template"]["spec"]


def explained(made: Installation, namespace: str, *words: str) -> dict:
    """Return what explain says, with its exit code."""
    done = run(made, namespace, *words, "-o", "json")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout) | {"exit": done.returncode}


def run(made: Installation, namespace: str, *words: str) -> subprocess.CompletedProcess[str]:
    place = ("-n", namespace, "--kubeconfig", str(made.cluster.kubeconfig), "-p", str(made.policies))
    return subprocess.run([COMMAND, "explain", *words, *place], capture_output=True, text=True, timeout=60, check=False)


def said(made: Installation, namespace: str, code: str, *words: str) -> dict:
    """Wait until explain says what it is to say, and return it."""

    def found() -> dict | None:
        answer = explained(made, namespace, *words)
        return answer if answer["code"] == code else None

    return wait_for(found, seconds=PATIENCE_SECONDS, what=f"explain says {code}")


def has_entry(answer: dict, what: str, words: str) -> bool:
    return any(entry["what"] == what and words in entry["text"] for entry in answer["timeline"])


def bound(client: Client, namespace: str, job: str) -> list[dict]:
    return [pod for pod in client.list(PODS, namespace, labels=f"job={job}") if is_bound(pod)]


def test_a_group_that_runs_and_one_for_which_there_is_no_room(installed, namespace):
    client = installed.client
    client.create(labelled_job("fits", namespace))
    client.create(labelled_job("too-large", namespace, pods=5, cpu="4"))
    wait_for(lambda: len(bound(client, namespace, "fits")) == 4, seconds=PATIENCE_SECONDS, what="the small one runs")
    runs, waits = (
        said(installed, namespace, "Running", "job/fits"),
        said(installed, namespace, "GroupUnschedulable", "job/too-large"),
    )
    assert (runs["exit"], waits["exit"]) == (0, 1)
    assert "found no room for the whole group" in waits["cause"]
    text = run(installed, namespace, "job", "too-large").stdout
    assert "Job " in text.splitlines()[0]
    assert "Next: As for any Pending pod" in text
    assert "PodGroupInitiallyScheduled=False" in text


def test_a_quota_that_nobody_names_on_the_group(installed, namespace):
    client = installed.client
    client.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "few", "namespace": namespace},
            "spec": {"hard": {"pods": "2"}},
        }
    )
    wait_for(lambda: client.get("v1/resourcequotas", namespace, "few").get("status", {}).get("hard"), what="the quota counts")
    client.create(labelled_job("train", namespace))
    found = said(installed, namespace, "QuotaExceeded", "job/train")
    assert "exceeded quota: few" in found["cause"]
    assert found["state"] == "forming"


def test_a_gated_member(installed, namespace):
    job = labelled_job("train", namespace)
    job["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/hold"}]
    installed.client.create(job)
    found = said(installed, namespace, "MemberGated", "job/train")
    assert "example.com/hold" in found["cause"]


def test_a_group_of_which_some_were_bound_by_another_hand(installed, namespace):
    client, job = installed.client, labelled_job("train", namespace)
    job["spec"]["template"]["spec"]["nodeSelector"] = {"example.test/room": "none"}
    client.create(job)
    said(installed, namespace, "GroupUnschedulable", "job/train")
    node, pods = client.list(NODES)[0]["metadata"]["name"], client.list(PODS, namespace)
    client.bind(namespace, pods[0]["metadata"]["name"], node)
    found = said(installed, namespace, "BoundInPart", "job/train")
    assert (found["exit"], found["state"]) == (1, "forming")
    assert "1 of 4 members have nodes and 3 wait, though the group was never started as a whole" in found["cause"]


def test_a_member_that_was_deleted_strands_the_others_and_the_cause_is_counted(installed, namespace):
    client = installed.client
    # A node selector keeps the replacement from having a node: the group stays in part.
    client.create(labelled_job("train", namespace, cpu="3"))
    wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=PATIENCE_SECONDS, what="it runs")
    taken = bound(client, namespace, "train")[0]
    node, name = taken["spec"]["nodeName"], taken["metadata"]["name"]
    installed.cluster.kubectl("cordon", node)
    try:
        client.delete(PODS, namespace, name)
        wait_for(
            lambda: any(not is_bound(pod) for pod in client.list(PODS, namespace, labels="job=train")),
            seconds=PATIENCE_SECONDS,
            what="the replacement waits",
        )
        metrics = wait_for(lambda: stranded(installed, "Deleted"), seconds=PATIENCE_SECONDS, what="the loss is counted")
        assert metrics > 0
        wait_for(
            lambda: (
                (answer := explained(installed, namespace, "job/train"))["state"] == "lost-a-member"
                and has_entry(answer, "GroupLostMember", name)
            ),
            seconds=PATIENCE_SECONDS,
            what="explain says that a member is lost, and which",
        )
        assert samples(installed)["gangwarden_leader", ()] == 1
        wait_for(lambda: stranded(installed, "Deleted") > metrics, seconds=PATIENCE_SECONDS, what="it goes on burning")
    finally:
        installed.cluster.kubectl("uncordon", node)


@pytest.mark.timeout(400)
def test_what_a_half_running_group_burns_ends_when_restarts_are_switched_on(installed, namespace):
    client = installed.client
    client.create(labelled_job("train", namespace, cpu="3"))
    wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=PATIENCE_SECONDS, what="it runs")
    taken_pod = bound(client, namespace, "train")[0]
    node = taken_pod["spec"]["nodeName"]
    installed.cluster.kubectl("cordon", node)
    try:
        client.delete(PODS, namespace, taken_pod["metadata"]["name"])
        before = wait_for(lambda: stranded(installed), seconds=PATIENCE_SECONDS, what="the loss is counted")
        wait_for(lambda: stranded(installed) > before, what="it goes on burning, for nobody does anything about it")
        for controller in installed.controllers:
            controller.stop()
        installed.start_controller()
        wait_for(
            lambda: client.list(PODS, namespace, labels="job=train") and not bound(client, namespace, "train"),
            seconds=PATIENCE_SECONDS + 60,
            what="no member holds a node any more: there is no room for all of them",
        )
        wait_for(lambda: stranded(installed) == stranded(installed), seconds=PATIENCE_SECONDS, what="nothing burns any more")
        assert samples(installed)["gangwarden_groups", ("restarting",)] == 1
    finally:
        installed.cluster.kubectl("uncordon", node)
    restarted = ("gangwarden_group_restarts_total", ("Unseen", "whole"))
    wait_for(lambda: samples(installed).get(restarted) == 1, seconds=PATIENCE_SECONDS, what="the group is whole again")
    assert len(bound(client, namespace, "train")) == 4
    installed.controllers[-1].stop()
    installed.start_controller("--no-restarts")
    installed.wait_for_leader()


def test_the_scheduler_s_own_preemption_names_who_came_instead(installed, namespace, control_plane):
    client = installed.client
    client.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"high-{namespace}"},
            "value": 1000,
            "globalDefault": False,
        }
    )
    with control_plane.namespace() as elsewhere:
        try:
            client.create(labelled_job("victim", namespace, cpu="3"))
            wait_for(lambda: len(bound(client, namespace, "victim")) == 4, seconds=PATIENCE_SECONDS, what="the victim runs")
            taker = labelled_job("taker", elsewhere, pods=2, cpu="3")
            taker["spec"]["template"]["spec"]["priorityClassName"] = f"high-{namespace}"
            client.create(taker)
            wait_for(lambda: len(bound(client, elsewhere, "taker")) == 2, seconds=PATIENCE_SECONDS, what="the other came instead")
            group = client.list("scheduling.k8s.io/v1beta1/podgroups", elsewhere)[0]["metadata"]["name"]
            found = wait_for(  # the scheduler writes its events when it comes to it
                lambda: (
                    (answer := explained(installed, namespace, "job/victim"))["state"] == "forming"
                    and has_entry(answer, "Preempted", group)
                    and answer
                ),
                seconds=PATIENCE_SECONDS,
                what="the victim waits to start again, and who preempted it is told",
            )
            assert f"The scheduler preempted it for PodGroup {elsewhere}/{group} at " in found["cause"]
            told = wait_for(lambda: taken(client, namespace), seconds=PATIENCE_SECONDS, what="the controller tells it on the Job")
            # Whoever reads the Job may not know what runs elsewhere; explain was asked by somebody who may.
            assert "was preempted by the scheduler for a PodGroup of another namespace (UID " in told
            assert group not in told
        finally:
            client.delete("scheduling.k8s.io/v1/priorityclasses", "", f"high-{namespace}")


def taken(client: Client, namespace: str) -> str:
    events = client.list("v1/events", namespace)
    return next(
        (one["message"] for one in events if one["reason"] == "GroupTaken" and one["involvedObject"]["kind"] == "Job"), ""
    )


def test_a_podgroup_that_is_missing_while_nobody_makes_it(installed, namespace):
    """Last: from here on there is no controller."""
    for controller in installed.controllers:
        controller.stop()
    installed.client.create(labelled_job("train", namespace))
    wait_for(lambda: len(installed.client.list(PODS, namespace)) == 4, seconds=PATIENCE_SECONDS, what="the pods are there")
    (pod, *_) = installed.client.list(PODS, namespace)
    for words in (("job/train",), ("pod", pod["metadata"]["name"])):
        found = explained(installed, namespace, *words)
        assert (found["code"], found["exit"]) == ("PodGroupMissing", 1)
        assert "4 pods wait because PodGroup" in found["cause"]


def samples(made: Installation) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the leader's counters by name and label values."""
    leader = made.wait_for_leader()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{leader.status_port}/metrics", timeout=10) as answer:
        page = answer.read().decode()
    families = text_string_to_metric_families(page)
    return {(one.name, tuple(sorted(one.labels.values()))): one.value for family in families for one in family.samples}


def stranded(made: Installation, cause: str = "") -> float:
    """Return the core seconds that were burned, for one cause or all."""
    name, found = "gangwarden_stranded_resource_seconds_total", samples(made).items()
    return sum(value for (one, labels), value in found if one == name and "cpu" in labels and (not cause or cause in labels))
