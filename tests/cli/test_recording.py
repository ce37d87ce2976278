"""What the keeper sees and does, in the counters of its process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from tests.builders import pod
from webhook.cli.recording import GroupRecorder
from webhook.model.disruption import GroupState, Health, Loss, LossCause, RestartOutcome
from webhook.model.objects import ObjectKey

ONE, TWO = (ObjectKey("scheduling.k8s.io", "PodGroup", "team-a", name) for name in ("one", "two"))
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
MEMBER = (
    pod(group="one", phase="Running")
    .at("spec.nodeName", "n1")
    .at("spec.containers", [{"name": "main", "resources": {"requests": {"cpu": "2"}}}])
    .build()
)


@dataclass
class Clock:
    at: datetime = BEGAN

    def __call__(self) -> datetime:
        return self.at


def health(state: GroupState) -> Health:
    loss = Loss(pod="train-3", uid="u", cause=LossCause.TAINTED, since=BEGAN, message="")
    return Health(state=state, because="it is so", losses=() if state is GroupState.WHOLE else (loss,))


def states(registry: CollectorRegistry) -> dict[str, float]:
    found = {state.value: registry.get_sample_value("gangwarden_groups", {"state": state.value}) or 0 for state in GroupState}
    return {state: count for state, count in found.items() if count}


def cpu(registry: CollectorRegistry) -> float | None:
    return registry.get_sample_value(
        "gangwarden_stranded_resource_seconds_total", {"resource": "cpu", "cause": "DeletionByTaintManager"}
    )


def test_each_group_counts_under_the_state_of_its_last_look() -> None:
    registry = CollectorRegistry()
    recorder = GroupRecorder(registry, leads=lambda: True, clock=Clock())
    recorder.looked(ONE, health(GroupState.WHOLE), [])
    recorder.looked(TWO, health(GroupState.WHOLE), [])
    recorder.looked(TWO, health(GroupState.LOST_A_MEMBER), [])
    recorder.looked(TWO, health(GroupState.LOST_A_MEMBER), [])
    assert states(registry) == {"whole": 1, "lost-a-member": 1}
    recorder.gone(ONE)
    recorder.gone(ONE)
    assert states(registry) == {"lost-a-member": 1}
    recorder.stopped()
    assert states(registry) == {}


def test_what_a_group_burns_is_counted_from_the_look_that_finds_it_so_to_the_one_that_finds_it_whole() -> None:
    registry, clock = CollectorRegistry(), Clock()
    recorder = GroupRecorder(registry, leads=lambda: True, clock=clock)
    recorder.looked(ONE, health(GroupState.WHOLE), [MEMBER])
    clock.at += timedelta(seconds=100)
    recorder.looked(ONE, health(GroupState.LOST_A_MEMBER), [MEMBER])
    clock.at += timedelta(seconds=10)
    assert cpu(registry) == 20.0
    recorder.looked(ONE, health(GroupState.WHOLE), [MEMBER])
    clock.at += timedelta(seconds=100)
    assert cpu(registry) == 20.0


def test_a_leader_that_stops_has_counted_up_to_then() -> None:
    registry, clock = CollectorRegistry(), Clock()
    recorder = GroupRecorder(registry, leads=lambda: True, clock=clock)
    recorder.looked(ONE, health(GroupState.HELD), [MEMBER])
    clock.at += timedelta(seconds=5)
    recorder.stopped()
    clock.at += timedelta(seconds=100)
    assert cpu(registry) == 10.0


def test_restarts_are_counted() -> None:
    registry = CollectorRegistry()
    GroupRecorder(registry, leads=lambda: True).restarted(LossCause.DELETED, RestartOutcome.FAILED)
    assert registry.get_sample_value("gangwarden_group_restarts_total", {"cause": "Deleted", "outcome": "failed"}) == 1
