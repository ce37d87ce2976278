"""The loops at their Protocols: nothing is lost, nothing is written or told twice, and nothing outlives leading."""

from __future__ import annotations

import asyncio

import pytest

from tests.admission.attaching import bound, grouped
from tests.admission.test_member import on_pods
from tests.builders import Built, job, job_set, pod, pod_group
from tests.controller.fakes import Bench, stored
from tests.controller.test_upkeep import BOTH, CREATED, GROUP, JOB, OURS, attached, pods
from tests.groups.building import compiled, group
from tests.groups.test_other_kinds import sets
from webhook.admission import PolicySet
from webhook.controller import Shortfall
from webhook.groups import name_for_pods
from webhook.model.actions import Apply, Delete, Tell
from webhook.model.groups import MIN_COUNT_ANNOTATION, POD_GROUP_ANNOTATION, Capabilities

POLICIES = PolicySet(workload=(bound(),))
AWAY = Shortfall(because="the API server is away", is_refusal=False)
NO = Shortfall(because='create PodGroup: no PriorityClass with name "high" was found', is_refusal=True)


async def test_a_workload_that_was_there_before_is_found() -> None:
    async with Bench.of(JOB, policies=POLICIES) as bench:
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])
        assert bench.actor.applied("Workload") == [GROUP]


async def test_a_new_workload_is_seen() -> None:
    async with Bench.of(policies=POLICIES) as bench:
        bench.feed.put(JOB)
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])


async def test_a_lost_event_is_found_by_the_resync() -> None:
    async with Bench.of(policies=POLICIES, resync_seconds=0.02) as bench:
        bench.feed.put(JOB, lost=True)
        await bench.actor.until(lambda: bench.actor.applied() != [])


async def test_what_is_deleted_is_made_again() -> None:
    async with Bench.of(JOB, policies=POLICIES, closed=True) as bench:
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])
        await bench.settle()
        bench.feed.remove(next(obj for obj in bench.feed.objects.values() if obj["kind"] == "PodGroup"))
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP, GROUP])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(attached().at("spec.parallelism", 3), id="an elastic Job"),
        pytest.param(attached().annotate(MIN_COUNT_ANNOTATION, "2"), id="its owner's word"),
        pytest.param(OURS.at("spec.schedulingPolicy.gang.minCount", 1), id="a tenant who lowers the PodGroup's"),
    ],
)
async def test_the_quorum_follows(change: Built) -> None:
    async with Bench.of(JOB, *BOTH, policies=POLICIES) as bench:
        bench.feed.put(change.build())
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])


async def test_a_snapshot_that_is_behind_is_no_reason_to_write_twice() -> None:
    async with Bench.of(JOB, policies=POLICIES) as bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP])
        for index in range(5):
            bench.feed.put(pod(f"p{index}", group=GROUP).owned_by(JOB, controller=True).build())
            await bench.settle()
        assert bench.actor.applied() == [GROUP]


async def test_what_never_comes_back_is_written_again_at_the_next_resync() -> None:
    async with Bench.of(JOB, policies=POLICIES, resync_seconds=0.05) as bench:
        await bench.actor.until(lambda: len(bench.actor.applied()) >= 3)


async def test_a_write_that_failed_is_tried_again() -> None:
    bench = Bench.of(JOB, policies=POLICIES)
    bench.actor.failures += [AWAY, AWAY]
    async with bench:
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP] * 3)
        assert bench.actor.told() == []


async def test_a_refusal_is_told_to_the_workload_once_and_tried_again() -> None:
    bench = Bench.of(JOB, policies=POLICIES)
    bench.actor.failures += [NO, NO]
    async with bench:
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP] * 3)
    (told,) = [one for one in bench.actor.asked if isinstance(one, Tell)]
    assert told.reason == "GroupRefused"
    assert 'no PriorityClass with name "high" was found' in told.message


async def test_what_a_group_waits_for_is_told_although_a_write_fails() -> None:
    bench = Bench.of(JOB, *pods(4), policies=POLICIES)
    bench.actor.failures += [AWAY] * 3
    async with bench:
        await bench.actor.until(lambda: "PodGroupMissing" in bench.actor.told())


async def test_the_same_sentence_is_told_once_and_another_at_once() -> None:
    waiting = [
        one | {"metadata": one["metadata"] | {"ownerReferences": OURS.build()["metadata"]["ownerReferences"]}} for one in pods(3)
    ]
    async with Bench.of(JOB, *BOTH, *waiting, policies=POLICIES) as bench:
        await bench.actor.until(lambda: bench.actor.told() == ["QuorumNotReached"])
        bench.feed.put(waiting[0] | {"status": {"phase": "Pending", "message": "x"}})
        await bench.settle()
        assert bench.actor.told() == ["QuorumNotReached"]
        bench.feed.remove(waiting[0])
        await bench.actor.until(lambda: bench.actor.told() == ["QuorumNotReached"] * 2)


async def test_a_job_made_anew_under_its_name_is_told_its_own() -> None:
    lost = job().annotate(POD_GROUP_ANNOTATION, f"workers={GROUP}").annotate("gangwarden.dev/grouped-as", "train")
    first, second = (lost.at("metadata.uid", uid).at("metadata.creationTimestamp", CREATED).build() for uid in ("1", "2"))
    async with Bench.of(first, policies=PolicySet()) as bench:
        await bench.actor.until(lambda: bench.actor.told() == ["GroupNotAttached"])
        bench.feed.remove(first)
        bench.feed.put(second)
        await bench.actor.until(lambda: bench.actor.told() == ["GroupNotAttached"] * 2)


async def test_a_job_made_anew_at_once_gets_a_group_when_the_old_one_has_gone() -> None:
    """With all that was in its manifest: the old group has another owner until the garbage collector comes."""
    old = pod_group(GROUP, owner=JOB | {"metadata": JOB["metadata"] | {"uid": "of the Job before"}}).build()
    async with Bench.of(JOB, old, policies=POLICIES) as bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP])
        assert bench.actor.applied() == []
        assert "PodGroupNameTaken" not in bench.actor.told()
        bench.feed.remove(old)
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])


@pytest.mark.parametrize("kind", ["PodGroup", "ConfigMap", "Pod"])
async def test_our_annotation_makes_no_workload_of_another_object(kind: str) -> None:
    odd = attached(job("odd")).at("kind", kind).build()
    async with Bench.of(policies=POLICIES) as bench:
        bench.feed.put(odd)
        bench.feed.put(JOB)
        await bench.actor.until(lambda: bench.actor.applied("Workload") != [])
        await bench.settle()
        assert bench.actor.applied() == [GROUP]


async def test_one_workload_that_breaks_us_keeps_nobody_waiting() -> None:
    broken = attached(job("broken")).at("status.conditions", ["odd"]).build()
    async with Bench.of(broken, JOB, policies=POLICIES) as bench:
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])


async def test_the_policies_of_the_moment_count() -> None:
    async with Bench.of(policies=POLICIES) as bench:
        bench.policies.current = PolicySet(workload=(bound(compiled(group(min_count="2"))),))
        bench.feed.put(JOB)
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])
        made = next(one for one in bench.actor.asked if isinstance(one, Apply))
        assert made.object["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}


async def test_a_gate_that_comes_back_lets_groups_be_made() -> None:
    bench = Bench.of(JOB, policies=POLICIES, resync_seconds=0.02)
    bench.gates.append(Capabilities())
    async with bench:
        await bench.actor.until(lambda: bench.actor.told() == ["NoGroupObjects"])
        bench.gates.append(Capabilities(group_objects=True))
        await bench.actor.until(lambda: bench.actor.applied() != [])


ORPHAN = pod_group("left").build()


async def test_an_orphan_is_collected_by_its_uid() -> None:
    async with Bench.of(ORPHAN, policies=POLICIES, closed=True) as bench:
        await bench.actor.until(lambda: any(isinstance(one, Delete) for one in bench.actor.asked))
        (deleted,) = [one for one in bench.actor.asked if isinstance(one, Delete)]
        assert (deleted.key.name, deleted.uid) == ("left", ORPHAN["metadata"]["uid"])


async def test_a_collection_that_fails_is_tried_again() -> None:
    bench = Bench.of(ORPHAN, policies=POLICIES, closed=True)
    bench.actor.failures.append(AWAY)
    async with bench:
        await bench.actor.until(lambda: len([one for one in bench.actor.asked if isinstance(one, Delete)]) == 2)


async def test_without_a_look_at_the_pods_nothing_is_collected() -> None:
    bench = Bench.of(ORPHAN, policies=POLICIES, closed=True)
    bench.feed.blind_to = "Pod"
    async with bench:
        for _ in range(5):
            await asyncio.sleep(0.01)
        assert bench.actor.asked == []
        bench.feed.blind_to = ""
        await bench.actor.until(lambda: bench.actor.asked != [])


async def test_an_object_that_breaks_the_collection_does_not_end_it() -> None:
    bench = Bench.of(ORPHAN | {"metadata": {**ORPHAN["metadata"], "creationTimestamp": "soon"}}, policies=POLICIES, closed=True)
    async with bench:
        await asyncio.sleep(0.03)
        bench.feed.put(stored(ORPHAN))
        await bench.actor.until(lambda: bench.actor.asked != [])


async def test_nothing_is_done_before_and_after_leading() -> None:
    bench = Bench.of(JOB, policies=POLICIES)
    await bench.settle()
    assert bench.actor.calls == 0
    async with bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP])
    bench.feed.put(attached(job("later")).build())
    await bench.settle()
    assert bench.actor.applied() == [GROUP]


async def test_lost_leadership_ends_every_task_also_one_in_the_middle_of_a_write() -> None:
    before = asyncio.all_tasks()
    jobs = [attached(job(f"j{index}")).build() for index in range(9)]
    bench = Bench.of(JOB, *jobs, policies=POLICIES, collect_seconds=3600)  # looking for orphans is a call as well
    bench.actor.hung = asyncio.Event()
    async with bench:
        await bench.settle()
        assert bench.actor.calls == 4
    assert asyncio.all_tasks() == before
    assert bench.actor.asked == []


async def test_who_leads_again_looks_at_everything_again() -> None:
    bench = Bench.of(JOB, policies=POLICIES)
    async with bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP])
    async with bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP] * 2)


async def test_every_workload_of_many_is_served() -> None:
    jobs = [attached(job(f"train-{index}")).at("metadata.uid", f"uid-{index}").build() for index in range(200)]
    async with Bench.of(*jobs, policies=POLICIES, closed=True) as bench:
        await bench.actor.until(lambda: len(set(bench.actor.applied("Workload"))) == 200)
        await bench.settle()
        assert len(bench.actor.applied()) == 200


SET = Built(grouped(job_set(), bound(sets())).object).at("metadata.uid", "set-uid").at("metadata.creationTimestamp", CREATED)
SETS_POLICY = PolicySet(workload=(bound(sets()),))


def child_of_the_set() -> Built:
    return job("train-worker-0").owned_by(SET.build(), controller=True).at("metadata.uid", "child-uid")


async def test_a_workload_of_another_kind_is_looked_after_as_well() -> None:
    async with Bench.of(SET.build(), policies=SETS_POLICY, owners={("jobset.x-k8s.io", "JobSet")}, closed=True) as bench:
        await bench.actor.until(lambda: bench.actor.applied() == [GROUP])
        owners = [obj["metadata"]["ownerReferences"][0] for obj in bench.feed.objects.values() if obj["kind"] == "PodGroup"]
        assert [(owner["kind"], owner["uid"]) for owner in owners] == [("JobSet", "set-uid")]


async def test_what_no_policy_groups_is_not_looked_after() -> None:
    async with Bench.of(SET.build(), JOB, policies=POLICIES) as bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP])
        assert {
            one.object["spec"]["controllerRef"]["kind"]
            for one in bench.actor.asked
            if isinstance(one, Apply) and one.object["kind"] == "Workload"
        } == {"Job"}


async def test_a_pod_far_below_its_workload_has_it_looked_at() -> None:
    """Its controller is a Job of the JobSet; what the group waits for is told on the JobSet."""
    child = child_of_the_set().build()
    async with Bench.of(
        SET.build(), child, policies=SETS_POLICY, owners={("jobset.x-k8s.io", "JobSet")}, closed=True, silent_wait_seconds=0
    ) as bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [GROUP])
        await bench.settle()
        bench.feed.put(pod("p", group=GROUP).owned_by(child, controller=True).at("metadata.creationTimestamp", CREATED).build())
        await bench.actor.until(lambda: "QuorumNotReached" in bench.actor.told())
        (told, *_) = [one for one in bench.actor.asked if isinstance(one, Tell)]
        assert told.about["kind"] == "JobSet"


async def test_without_the_policy_the_group_of_another_kind_is_no_guess() -> None:
    """Of a Job all pods are a good one; how many a JobSet has only its policy knew."""
    async with Bench.of(SET.build(), policies=POLICIES, owners={("jobset.x-k8s.io", "JobSet")}) as bench:
        await bench.actor.until(lambda: bench.actor.told() == ["GroupNotPlanned"])
        assert bench.actor.applied() == []


ON_PODS = (
    Built(grouped(job_set(), bound(on_pods())).object).at("metadata.uid", "set-uid").at("metadata.creationTimestamp", CREATED)
)


async def test_a_workload_whose_pods_are_stamped_one_by_one_gets_the_group_that_they_name() -> None:
    policies = PolicySet(workload=(bound(on_pods()),))
    name = name_for_pods(ON_PODS.build(), "workers")
    async with Bench.of(ON_PODS.build(), policies=policies, owners={("jobset.x-k8s.io", "JobSet")}, closed=True) as bench:
        await bench.actor.until(lambda: bench.actor.applied("Workload") == [name])
        assert bench.actor.applied() == [name]


async def test_without_its_policy_nobody_knows_the_group_of_such_a_workload() -> None:
    async with Bench.of(ON_PODS.build(), policies=PolicySet(), owners={("jobset.x-k8s.io", "JobSet")}) as bench:
        await bench.actor.until(lambda: bench.actor.told() == ["GroupNotPlanned"])
        (told,) = [one for one in bench.actor.asked if isinstance(one, Tell)]
        assert "restore it" in told.message
        assert bench.actor.applied() == []
