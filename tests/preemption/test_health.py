"""The state of a group, by name: what is seen, and what it means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.preemption.groups import Group
from webhook.model.disruption import GroupState
from webhook.preemption import judge_health

STATES: dict[str, tuple[Callable[[Group], Group], GroupState, bool]] = {
    "pods that wait for a node form a group": (lambda g: g.waiting(), GroupState.FORMING, False),
    "pods that all run are whole": (lambda g: g.run(), GroupState.WHOLE, False),
    "a condition alone takes nobody": (lambda g: g.run().doomed(1, "PreemptionByScheduler"), GroupState.WHOLE, False),
    "an evicted member breaks it": (
        lambda g: g.run().doomed(1, "EvictionByEvictionAPI").deleted(1),
        GroupState.LOST_A_MEMBER,
        True,
    ),
}


@pytest.mark.parametrize("case", STATES.values(), ids=STATES.keys())
def test_state(case: tuple[Callable[[Group], Group], GroupState, bool]) -> None:
    befall, state, is_due = case
    found = judge_health(befall(Group()).facts())
    assert (found.state, found.is_restart_due) == (state, is_due), found.because
