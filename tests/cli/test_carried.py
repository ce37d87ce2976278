"""What the keeper is told of a suspension: that the API server holds it, and not only that it took the write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from webhook.cli.controller_part import FencedActor
from webhook.cluster import Done
from webhook.model.actions import PlannedAction, Resume, Suspend
from webhook.model.objects import Object, ObjectKey

KEY = ObjectKey("example.com", "Train", "team-a", "train")
SUSPEND = Suspend(key=KEY, uid="u", path="spec.suspend", reason="its group lost a member")
RESUME = Resume(key=KEY, uid="u", path="spec.suspend", reason="all have ended")


@dataclass
class Executor:
    """Answers as an API server that stores what it stores."""

    stored: Object | None

    async def perform(self, actions: Sequence[PlannedAction]) -> tuple[Any, ...]:
        return tuple(Done(action, self.stored) for action in actions)


@pytest.mark.parametrize(
    ("action", "spec", "expected"),
    [(SUSPEND, {"suspend": True}, True), (SUSPEND, {}, False), (RESUME, {"suspend": False}, False)],
    ids=["it is kept", "the kind has no such field", "it is resumed"],
)
async def test_a_suspension_counts_when_it_is_kept(action: PlannedAction, spec: Object, expected: bool) -> None:
    actor = FencedActor(Executor({"metadata": {"resourceVersion": "9"}, "spec": spec}))  # type: ignore[arg-type]  # no API is asked
    carried = await actor.carry_out([action])
    assert (carried.version, carried.is_suspended) == (9, expected)
