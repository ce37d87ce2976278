"""What is read of pods that were lost, nodes that are dead and hands that hold a workload."""

from __future__ import annotations

import pytest

from tests.builders import pod_group
from tests.preemption.groups import NOW, Group, ago
from webhook.model.disruption import LossCause
from webhook.preemption import Means, death_of, hand_on, loss_of_gone, owner_reference, preemptor_in

UID = "0f3a1c52-7f1f-4f3c-9f57-1d2b3c4d5e6f"


@pytest.mark.parametrize(
    ("text", "uid"),
    [
        pytest.param(f"Preempted by pod {UID} on node n0", UID, id="a pod"),
        pytest.param(f"Preempted by podgroup {UID} on node cluster", UID, id="a group"),
        pytest.param(f"Preempted by pod {UID} on node n0 (in kube-scheduler memory).", UID, id="in memory"),
        pytest.param("default-scheduler: preempting to accommodate a higher priority pod", "", id="the condition names nobody"),
    ],
)
def test_the_preemptor_of_an_event(text: str, uid: str) -> None:
    assert preemptor_in(text) == uid


def test_a_pod_that_went_with_a_condition_is_remembered_with_it() -> None:
    last = Group().run().doomed(1, "EvictionByEvictionAPI", message="Eviction API: evicting").deleted(1, since=-40).pod(1)
    found = loss_of_gone(last, NOW)
    assert found is not None
    assert (found.cause, found.since, found.message) == (LossCause.EVICTED, ago(40), "Eviction API: evicting")


def test_a_pod_that_went_without_a_word_was_deleted_now() -> None:
    found = loss_of_gone(Group().run().pod(1), NOW)
    assert found is not None
    assert (found.cause, found.since, found.node) == (LossCause.DELETED, NOW, "n1")


def test_a_pod_that_had_failed_by_itself_is_no_disruption_when_it_goes() -> None:
    found = loss_of_gone(Group().run().failed(1, ended=-50).pod(1), NOW)
    assert found is not None
    assert (found.cause, found.since) == (LossCause.FAILED, ago(50))


def test_a_pod_that_failed_because_it_was_deleted_was_deleted() -> None:
    found = loss_of_gone(Group().run().deleted(1, since=-20).failed(1, ended=-18, code=143).pod(1), NOW)
    assert found is not None
    assert (found.cause, found.since) == (LossCause.DELETED, ago(20))


def test_a_pod_that_had_failed_before_it_was_deleted_failed_by_itself() -> None:
    found = loss_of_gone(Group().run().failed(1, ended=-40).deleted(1, since=-20).pod(1), NOW)
    assert found is not None
    assert found.cause is LossCause.FAILED


def test_what_had_succeeded_or_never_had_a_node_is_no_loss() -> None:
    assert loss_of_gone(Group().run().succeeded(1).pod(1), NOW) is None
    assert loss_of_gone(Group().waiting().pod(1), NOW) is None


def test_a_reason_that_is_new_to_us_is_a_deletion_with_its_message() -> None:
    found = loss_of_gone(Group().run().doomed(1, "DeletionBySomethingNew", message="new").deleted(1).pod(1), NOW)
    assert found is not None
    assert (found.cause, found.message) == (LossCause.DELETED, "new")


def test_only_a_node_that_is_gone_lets_pods_be_deleted_by_force() -> None:
    silent = death_of("n1", Group().run().node("n1", ready="Unknown").facts())
    off = death_of("n1", Group().run().node("n1", taint="node.kubernetes.io/out-of-service").facts())
    gone = death_of("n1", Group().run().without_node("n1", seen_missing=-60).facts())
    assert [one is not None and one.is_gone for one in (silent, off, gone)] == [False, True, True]


def test_a_node_that_came_back_is_not_dead() -> None:
    assert death_of("n1", Group().run().facts(absent_nodes={"n1": ago(60)})) is None


HANDS = {
    "a Job of nobody else": (lambda g: g, Means.SUSPEND, ""),
    "a Job of a CronJob": (lambda g: g.controlled_by("batch/v1", "CronJob"), Means.SUSPEND, ""),
    "a Job of a JobSet": (
        lambda g: g.controlled_by("jobset.x-k8s.io/v1alpha2", "JobSet"),
        Means.EVICT,
        "JobSet above controls it",
    ),
    "a Job in a queue of Kueue": (
        lambda g: g.with_job("metadata.labels.kueue~x-k8s~io/queue-name", "q"),
        Means.EVICT,
        "Kueue suspends and resumes it (kueue.x-k8s.io/queue-name)",
    ),
    "a Job that a Workload of Kueue owns": (
        lambda g: g.controlled_by("kueue.x-k8s.io/v1beta2", "Workload"),
        Means.EVICT,
        "Kueue",
    ),
    "a Job that MultiKueue runs elsewhere": (
        lambda g: g.with_job("spec.managedBy", "kueue.x-k8s.io/multikueue"),
        Means.NOTHING,
        "another system runs it",
    ),
    "the Job controller by its name": (lambda g: g.with_job("spec.managedBy", "kubernetes.io/job-controller"), Means.SUSPEND, ""),
    "a policy that says evict": (lambda g: g.with_spec(suspend_path=""), Means.EVICT, "its policy says"),
    "a kind without a suspension": (
        lambda g: g.with_job("kind", "StatefulSet").with_job("apiVersion", "apps/v1").of_its_own(),
        Means.EVICT,
        "a StatefulSet cannot be suspended",
    ),
    "a Job that is gone": (lambda g: g.without_job(), Means.NOTHING, "not known"),
}


@pytest.mark.parametrize("case", HANDS.values(), ids=HANDS.keys())
def test_by_which_means_a_group_may_be_restarted(case) -> None:
    befall, means, because = case
    found = hand_on(befall(Group().run()).facts())
    assert found.means is means
    assert because in found.because


def test_a_managed_group_is_made_for_the_workload_that_our_label_names() -> None:
    group = Group()
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"}
    ours = group.pod_group["metadata"]["ownerReferences"][0]
    found = owner_reference(group.with_group("metadata.ownerReferences", [other, ours]).pod_group)
    assert found == ours


def test_a_group_without_a_workload_is_made_for_nobody() -> None:
    assert owner_reference(pod_group("g").build()) is None
