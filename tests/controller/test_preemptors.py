"""Who preempted a member: asked of a witness, a few times at most, and remembered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tests.builders import pod_group
from tests.controller.test_keeper import RUNNING, Bench, member
from webhook.controller.preemptors import _TRIES, Preemptors, nobody_saw
from webhook.model.actions import Tell
from webhook.model.disruption import GroupState, Health, Loss, LossCause
from webhook.model.objects import Object

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Witness:
    """Answers in turn; in the end always the last."""

    answers: list[str]
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, namespace: str, pod_uid: str) -> str:
        self.asked.append((namespace, pod_uid))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def health(*uids: str, cause: LossCause = LossCause.PREEMPTED, by: str = "") -> Health:
    losses = tuple(Loss(pod=f"pod-{uid}", uid=uid, cause=cause, since=BEGAN, message="", by=by) for uid in uids)
    return Health(state=GroupState.FORMING, because="it is so", losses=losses)


async def test_the_first_victim_is_asked_about_and_all_have_its_preemptor() -> None:
    witness = Witness(["taker"])
    found = await Preemptors(witness).named(health("a", "b"), "team-a")
    assert [loss.by for loss in found.losses] == ["taker", "taker"]
    assert witness.asked == [("team-a", "a")]


async def test_an_answer_is_remembered() -> None:
    witness = Witness(["taker"])
    preemptors = Preemptors(witness)
    for _ in range(3):
        assert (await preemptors.named(health("a"), "team-a")).losses[0].by == "taker"
    assert len(witness.asked) == 1


async def test_an_event_that_is_not_there_yet_is_asked_for_again_but_not_for_ever() -> None:
    witness = Witness([""])
    preemptors = Preemptors(witness)
    assert not preemptors.is_open(health("a"))
    opened = []
    for _ in range(_TRIES + 2):
        found = await preemptors.named(health("a"), "team-a")
        opened.append(preemptors.is_open(found))
    assert opened == [True] * (_TRIES - 1) + [False] * 3
    assert len(witness.asked) == _TRIES


async def test_an_event_that_comes_late_is_found() -> None:
    preemptors = Preemptors(Witness(["", "taker"]))
    assert (await preemptors.named(health("a"), "team-a")).losses[0].by == ""
    found = await preemptors.named(health("a"), "team-a")
    assert found.losses[0].by == "taker"
    assert not preemptors.is_open(found)


@pytest.mark.parametrize("given", [health("a", cause=LossCause.EVICTED), health("a", by="known"), health()])
async def test_nobody_is_asked_where_there_is_nothing_to_find_out(given: Health) -> None:
    witness = Witness(["taker"])
    assert await Preemptors(witness).named(given, "team-a") == given
    assert witness.asked == []


async def test_other_losses_beside_it_keep_their_own() -> None:
    mixed = Health(
        state=GroupState.FORMING,
        because="it is so",
        losses=(*health("a", cause=LossCause.DELETED).losses, *health("b").losses),
    )
    found = await Preemptors(Witness(["taker"])).named(mixed, "team-a")
    assert [loss.by for loss in found.losses] == ["", "taker"]


async def test_without_a_witness_nothing_is_known() -> None:
    assert (await Preemptors(nobody_saw).named(health("a"), "team-a")).losses[0].by == ""


def taken(index: int) -> Object:
    """A member that the scheduler has asked to go and that holds its node no more."""
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempting"}
    found = member(index, deletionTimestamp="2026-01-01T00:10:00Z")
    return found | {"status": {"phase": "Failed", "conditions": [target | {"lastTransitionTime": "2026-01-01T00:09:30Z"}]}}


async def test_a_group_that_was_taken_as_a_whole_is_told_once_its_preemptor_is_known() -> None:
    bench = Bench(*RUNNING, pod_group("serving", namespace="team-b").at("metadata.uid", "taker").build())
    bench.keeper._preemptors = Preemptors(Witness(["", "taker"]))
    bench.feed.put(*(taken(index) for index in range(4)))
    async with bench:
        assert bench.hands.told() == set()
        bench.feed.put(taken(0))
        await bench.hands.until(lambda: "GroupTaken" in bench.hands.told())
        (tell, _) = [action for action in bench.hands.asked if isinstance(action, Tell)]
        assert (
            "was preempted by the scheduler for a PodGroup of another namespace (UID taker) at 2026-01-01T00:09:30Z"
            in tell.message
        )
        assert bench.hands.words() == []
