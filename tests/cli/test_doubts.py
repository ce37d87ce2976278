"""Who notices that the cluster did otherwise than it was seen to do: a validating review, and what the controller tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.builders import Built, job, review
from webhook.admission import PolicySet
from webhook.cli.controller_part import FencedActor
from webhook.cli.reviewer import LiveReviewer
from webhook.model.actions import PlannedAction, Tell
from webhook.model.groups import GROUPED_AS_ANNOTATION, POD_GROUP_ANNOTATION, ROUTE_ANNOTATION, Capabilities
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.policies import PolicyStore
from webhook.settings import EvaluationSettings

RECORDED = job("train").annotate(GROUPED_AS_ANNOTATION, "train")
NATIVE = RECORDED.annotate(ROUTE_ANNOTATION, "Native")
MANAGED = RECORDED.annotate(POD_GROUP_ANNOTATION, "workers=train-0000000000")


@pytest.mark.parametrize(
    ("stored", "phase", "expected"),
    [
        pytest.param(NATIVE, Phase.VALIDATE, 1, id="a native wish that was dropped"),
        pytest.param(MANAGED, Phase.VALIDATE, 1, id="a stamp that was dropped"),
        pytest.param(NATIVE.at("spec.scheduling", {"schedulingPolicy": {"gang": {}}}), Phase.VALIDATE, 0, id="a kept wish"),
        pytest.param(
            MANAGED.at("spec.template.spec.schedulingGroup", {"podGroupName": "train-0000000000"}),
            Phase.VALIDATE,
            0,
            id="a stamp that was kept",
        ),
        pytest.param(NATIVE, Phase.MUTATE, 0, id="one that was not stored yet, so nothing was dropped"),
        pytest.param(NATIVE.at("metadata.name", "copy"), Phase.VALIDATE, 0, id="a record of another Job"),
        pytest.param(job(), Phase.VALIDATE, 0, id="one without a record"),
    ],
)
def test_a_review_of_a_job_that_lost_its_group_raises_a_doubt(stored: Built, phase: Phase, expected: int) -> None:
    doubts: list[str] = []
    reviewer = LiveReviewer(
        PolicyStore(PolicySet()),
        lambda: EMPTY_SNAPSHOT,
        Capabilities,
        limits=EvaluationSettings(),
        doubt=lambda: doubts.append("doubt"),
    )
    reviewer.review(review(stored.build()), phase=phase, failure_policy=FailurePolicy.FAIL, expired=lambda: False)
    assert len(doubts) == expected


class Executor:
    """Performs nothing."""

    async def perform(self, actions: Sequence[PlannedAction]) -> tuple[Any, ...]:
        return ()


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("NativeGroupMissing", 1), ("GroupNotAttached", 1), ("GroupFieldDropped", 1), ("GroupUnschedulable", 0)],
)
async def test_what_a_gate_brings_about_is_doubted_when_it_is_told(reason: str, expected: int) -> None:
    doubts: list[str] = []
    actor = FencedActor(Executor(), lambda: doubts.append("doubt"))  # type: ignore[arg-type]  # the API is not asked
    await actor.perform_all([Tell(about=job().build(), reason=reason, message="so it is")])
    assert len(doubts) == expected
