"""What is seen once is remembered: how members went, which nodes are missing; and whom a change concerns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.builders import job, pod, pod_group
from webhook.controller.members import MemberIndex
from webhook.controller.sightings import MOST_LOSSES, Sightings
from webhook.model.disruption import LossCause
from webhook.model.objects import Object, ObjectKey

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
GROUP = ObjectKey("scheduling.k8s.io", "PodGroup", "team-a", "g")
OWNER = job("train").stored().build()


class World:
    """An index and what was seen, told of changes in that order."""

    def __init__(self, *waiting: ObjectKey) -> None:
        self.index = MemberIndex()
        self.seen = Sightings(self.index, waiting=lambda _: waiting, clock=lambda: NOW)

    def change(self, old: Object | None, new: Object | None) -> Any:
        key = ObjectKey.of(new or old or {})
        self.index.on_change(key, old, new)
        return self.seen.take(key, old, new)

    def causes(self) -> list[LossCause]:
        return [loss.cause for loss in self.seen.losses(GROUP)]


def member(name: str = "p0", *, node: str = "n0", phase: str = "Running", **meta: Any) -> Object:
    made = pod(name, group="g", phase=phase).at("metadata.uid", f"uid-{name}").at("spec.nodeName", node).build()
    made["metadata"] |= meta
    return made


DELETED = {"deletionTimestamp": "2026-03-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
FORCED = {"deletionTimestamp": "2026-03-01T12:00:20Z", "deletionGracePeriodSeconds": 0}
ENDED = {
    "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 143, "finishedAt": "2026-03-01T12:00:05Z"}}}]
}


def test_a_pod_that_was_deleted_stays_deleted_however_it_ends() -> None:
    """It fails by SIGTERM, its finalizer keeps it, and the last deletion without grace writes another time."""
    world = World()
    steps = [member(), member(**DELETED), member(phase="Failed", **DELETED), member(phase="Failed", **FORCED)]
    for step in steps[2:]:
        step["status"] |= ENDED
    for old, new in zip([None, *steps], [*steps, None], strict=True):
        world.change(old, new)
    assert world.causes() == [LossCause.DELETED]


def test_a_pod_that_failed_by_itself_was_not_deleted_when_its_object_goes() -> None:
    world = World()
    failed = member(phase="Failed")
    failed["status"] |= ENDED
    for old, new in ((None, member()), (member(), failed), (failed, failed | {"metadata": failed["metadata"] | FORCED})):
        world.change(old, new)
    assert world.causes() == [LossCause.FAILED]


def test_a_cause_that_is_written_later_is_better_than_none() -> None:
    world, target = World(), {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "m"}
    collected = member(phase="Failed", **DELETED)
    collected["status"]["conditions"] = [target]
    world.change(member(), member(**DELETED))
    world.change(collected, None)
    assert world.causes() == [LossCause.COLLECTED]


def test_pods_without_a_node_and_those_that_succeeded_are_no_loss() -> None:
    world = World()
    world.change(member(node=""), None)
    world.change(member("p1", phase="Succeeded"), None)
    assert world.causes() == []


def test_losses_are_kept_within_bounds_and_forgotten_with_the_group() -> None:
    world = World()
    for number in range(MOST_LOSSES + 5):
        world.change(member(f"p{number}"), None)
    assert len(world.causes()) == MOST_LOSSES
    world.change(pod_group("g", owner=OWNER).build(), None)
    assert world.causes() == []


def test_what_is_no_loss_any_more_is_forgotten() -> None:
    world = World()
    world.change(member("p0"), None)
    world.change(member("p1"), None)
    first, _ = world.seen.losses(GROUP)
    world.seen.keep(GROUP, [first])
    assert [loss.pod for loss in world.seen.losses(GROUP)] == ["p0"]
    world.seen.keep(GROUP, [])
    assert world.causes() == []


@pytest.mark.parametrize(
    "old, new, at_once",
    [
        pytest.param(None, member(), False, id="it is there"),
        pytest.param(member(), member(**DELETED), True, id="it is to go"),
        pytest.param(member(), member(phase="Failed"), True, id="it failed"),
        pytest.param(member(), None, True, id="it is gone"),
        pytest.param(member(**DELETED), None, False, id="it was to go before"),
        pytest.param(member(node=""), None, False, id="it had no node"),
    ],
)
def test_a_loss_is_looked_at_at_once(old: Object | None, new: Object | None, at_once: bool) -> None:
    concern = World().change(old, new)
    assert (list(concern.groups), concern.at_once) == ([GROUP], at_once)


def test_a_pod_of_no_group_concerns_nobody() -> None:
    assert list(World().change(None, pod("p").build()).groups) == []


def node(name: str = "n0", *, taint: str = "", ready: str = "True", beat: str = "") -> Object:
    status = {"conditions": [{"type": "Ready", "status": ready, "message": beat}]}
    spec = {"taints": [{"key": taint}]} if taint else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}


@pytest.mark.parametrize("new", [None, node(taint="t"), node(ready="Unknown")], ids=["gone", "tainted", "silent"])
def test_a_node_concerns_the_groups_that_have_pods_there(new: Object | None) -> None:
    world = World()
    world.change(None, member())
    assert list(world.change(node(), new).groups) == [GROUP]
    assert list(world.change(node("n1"), None).groups) == []


def test_a_heartbeat_concerns_nobody() -> None:
    world = World()
    world.change(None, member())
    assert list(world.change(node(), node(beat="again")).groups) == []


def test_a_missing_node_is_remembered_until_it_is_back_or_nobody_was_there() -> None:
    world = World()
    world.change(None, member())
    world.change(node(), None)
    world.change(node("n1"), None)
    assert world.seen.absent_nodes == {"n0": NOW, "n1": NOW}
    world.seen.forget_nodes()
    assert world.seen.absent_nodes == {"n0": NOW}
    world.change(None, node())
    assert world.seen.absent_nodes == {}


@pytest.mark.parametrize(
    "changed",
    [
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "team-a", "name": "b"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
    ],
    ids=["a budget", "a namespace"],
)
def test_what_a_restart_may_wait_for_concerns_those_under_way(changed: Object) -> None:
    assert list(World(GROUP).change(changed, changed).groups) == [GROUP]


def test_a_workload_concerns_its_groups() -> None:
    world = World()
    world.change(None, pod_group("g", owner=OWNER).build())
    assert list(world.change(OWNER, OWNER).groups) == [GROUP]
    world.change(pod_group("g", owner=OWNER).build(), None)
    assert list(world.change(OWNER, OWNER).groups) == []
