"""What half-running groups burn, second by second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import pod
from webhook.model.disruption import GroupState, Health, Loss, LossCause
from webhook.preemption.stranded import Burning, StrandedTime, burning

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def member(name: str, *, node: str = "n1", phase: str = "Running", cpu: str = "1500m", memory: str = "1Gi"):
    container = {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    made = pod(name, group="g", phase=phase).at("spec.containers", [container])
    return (made.at("spec.nodeName", node) if node else made).build()


def health(state: GroupState, *causes: LossCause) -> Health:
    losses = tuple(Loss(pod="train-3", uid="u", cause=cause, since=BEGAN, message="") for cause in causes)
    return Health(state=state, because="it is so", losses=losses)


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def test_bound_members_of_a_group_that_lost_one_burn_what_they_ask_for() -> None:
    found = burning(health(GroupState.LOST_A_MEMBER, LossCause.EVICTED), [member("a"), member("b")])
    amounts = {"cpu": 3.0, "memory": 2.0 * 1024**3, "pods": 2.0}
    assert found == Burning(cause="EvictionByEvictionAPI", state="lost-a-member", amounts=amounts)


def test_members_without_a_node_and_those_that_ended_burn_nothing() -> None:
    members = [member("a", node=""), member("b", phase="Succeeded"), member("c", phase="Failed")]
    assert burning(health(GroupState.LOST_A_MEMBER, LossCause.DELETED), members) is None


@pytest.mark.parametrize("state", [GroupState.FORMING, GroupState.WHOLE, GroupState.FINISHING])
def test_a_group_that_works_waits_or_ends_burns_nothing(state: GroupState) -> None:
    assert burning(health(state), [member("a")]) is None


@pytest.mark.parametrize("state", [GroupState.HELD, GroupState.STUCK, GroupState.RESTARTING])
def test_a_group_that_cannot_go_on_burns_whoever_is_to_act(state: GroupState) -> None:
    assert burning(health(state, LossCause.TAINTED), [member("a")]) is not None


def test_without_any_loss_the_state_is_the_cause() -> None:
    account = StrandedTime()
    account.look("g", burning(health(GroupState.STUCK), [member("a", memory="0")]), after(0))
    assert set(account.settle(after(1))) == {("cpu", "stuck"), ("pods", "stuck")}


def test_while_a_group_is_restarted_what_began_it_stays_the_cause() -> None:
    account = StrandedTime()
    account.look("g", burning(health(GroupState.LOST_A_MEMBER, LossCause.EVICTED), [member("a", memory="0")]), after(0))
    account.look("g", burning(health(GroupState.RESTARTING), [member("a", memory="0")]), after(1))
    account.look("g", burning(health(GroupState.RESTARTING), [member("a", memory="0")]), after(2))
    assert {cause for _, cause in account.settle(after(3))} == {"EvictionByEvictionAPI"}
    account.look("g", None, after(3))
    account.look("g", burning(health(GroupState.RESTARTING), [member("a", memory="0")]), after(4))
    assert {cause for _, cause in account.settle(after(5))} == {"EvictionByEvictionAPI", "restarting"}


def test_between_two_looks_it_counts_what_the_first_one_found() -> None:
    account = StrandedTime()
    account.look("g", Burning(cause="Deleted", amounts={"cpu": 3.0}), after(0))
    account.look("g", Burning(cause="Deleted", amounts={"cpu": 1.0}), after(10))
    account.look("g", None, after(15))
    account.look("g", None, after(100))
    assert account.totals == {("cpu", "Deleted"): 35.0}


def test_a_group_that_nobody_looks_at_is_counted_up_to_the_moment_of_the_question() -> None:
    account = StrandedTime()
    account.look("g", Burning(cause="Deleted", amounts={"cpu": 2.0}), after(0))
    assert account.settle(after(5)) == {("cpu", "Deleted"): 10.0}
    assert account.settle(after(6)) == {("cpu", "Deleted"): 12.0}


def test_groups_and_causes_are_told_apart() -> None:
    account = StrandedTime()
    account.look("g", Burning(cause="Deleted", amounts={"cpu": 1.0}), after(0))
    account.look("h", Burning(cause="NodeGone", amounts={"cpu": 1.0, "pods": 1.0}), after(5))
    assert account.settle(after(10)) == {("cpu", "Deleted"): 10.0, ("cpu", "NodeGone"): 5.0, ("pods", "NodeGone"): 5.0}


def test_a_clock_that_runs_backwards_takes_nothing_away() -> None:
    account = StrandedTime()
    account.look("g", Burning(cause="Deleted", amounts={"cpu": 1.0}), after(10))
    assert account.settle(after(3)) == {("cpu", "Deleted"): 0.0}
    assert account.settle(after(11)) == {("cpu", "Deleted"): 1.0}


def test_who_leads_no_longer_counts_no_further() -> None:
    account = StrandedTime()
    account.look("g", Burning(cause="Deleted", amounts={"cpu": 1.0}), after(0))
    account.settle(after(2))
    account.stop()
    assert account.settle(after(60)) == {("cpu", "Deleted"): 2.0}
