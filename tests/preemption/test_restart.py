"""A restart, step by step: what is written, what is waited for, and who else may end it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.preemption.groups import NOW, Group, ago, at, loss
from webhook.model.actions import Delete, Evict, Resume, SetCondition, SetQuorum, Suspend, Write
from webhook.model.disruption import Intent, LossCause, Past, RestartOutcome, Step
from webhook.preemption import Begun, Rates, Seen, Turn, judge_health, plan_abandon, plan_restart, since_restart

RATES = Rates(
    per_namespace=5, per_owner=2, window_seconds=60, backoff_initial_seconds=10, backoff_limit_seconds=600, calm_seconds=600
)


def intent(step: Step, **more: Any) -> Intent:
    made = Intent(
        id="3f9a1c",
        step=step,
        owner_uid=Group().job["metadata"]["uid"],
        cause=LossCause.EVICTED,
        victim="train-0",
        began=ago(20),
        step_since=ago(10),
        suspended_by_us=step in (Step.AWAITING, Step.RESUMING, Step.FORMING),
    )
    return replace(made, **more)


def past(outcome: RestartOutcome = RestartOutcome.WHOLE, *, ended: float = 60, **more: Any) -> Past:
    return Past(intent=intent(Step.FORMING, **more), outcome=outcome, ended=ago(ended))


def seen(group: Group, *, at: Intent | None = None, **more: Any) -> Seen:
    facts = group.facts(intent=at)
    known: dict[str, Any] = {"past": None, "begun": Begun(), "rates": RATES, "fresh_id": "aaaaaa", "await_seconds": 120}
    return Seen(facts=facts, health=judge_health(since_restart(facts)), **known | more)


def plan(group: Group, *, at: Intent | None = None, **more: Any) -> Turn:
    return plan_restart(seen(group, at=at, **more))


def words(turn: Turn) -> list[str]:
    """What is written, in order."""
    return [_word(write) for write in turn.writes]


def _word(write: Write) -> str:
    match write:
        case SetCondition(type="DisruptionTarget", status=None):
            return "unmark"
        case SetCondition(type="DisruptionTarget"):
            return "mark"
        case SetCondition(status=None):
            return "forget"
        case SetCondition():
            return write.word
        case SetQuorum():
            return f"quorum {write.min_count}"
        case Delete(force=True):
            return f"force {write.key.name}"
        case Suspend() | Resume() | Evict() | Delete():
            return f"{type(write).__name__} {write.key.name}"
        case _:
            raise AssertionError(write)


def told(turn: Turn) -> set[str]:
    return {tell.reason for tell in turn.tells}


def lost() -> Group:
    return Group().run().doomed(0, "EvictionByEvictionAPI").deleted(0)


def suspended(group: Group, *, since: float = -60) -> Group:
    group.job["spec"]["suspend"] = True
    group.job_condition("Suspended", "JobSuspended").job["status"]["conditions"][-1]["lastTransitionTime"] = at(since)
    return group


def test_the_intent_is_written_before_the_workload_is_suspended() -> None:
    turn = plan(lost())
    assert words(turn) == ["mark", "Suspending", "Suspend train"]
    assert turn.intent is not None
    assert (turn.intent.step, turn.intent.attempt, turn.intent.total) == (Step.SUSPENDING, 1, 1)
    assert turn.began
    assert told(turn) == {"GroupRestarting"}


def test_a_whole_group_is_left_alone() -> None:
    turn = plan(Group().run())
    assert (turn.writes, turn.tells, turn.intent) == ((), (), None)


def test_a_mark_that_is_not_true_any_more_is_taken_away() -> None:
    assert words(plan(Group().run().condition("DisruptionTarget", "True", "Deleted"))) == ["unmark"]


def test_a_suspension_that_nobody_remembers_is_ended() -> None:
    """Somebody deleted the PodGroup in the middle; whether it was ours, the API server knows."""
    assert words(plan(suspended(Group()))) == ["Resume train"]


def test_one_that_has_just_begun_may_be_remembered_yet() -> None:
    turn = plan(suspended(Group(), since=-10))
    assert (words(turn), turn.again_seconds) == ([], 20)


def test_whether_it_is_ours_is_asked_once() -> None:
    assert words(plan(suspended(Group()), is_probed=True)) == []


def test_one_that_kueue_holds_is_left() -> None:
    assert words(plan(suspended(Group().with_job("metadata.labels.kueue~x-k8s~io/queue-name", "q")))) == []


def test_suspending_is_tried_again_by_the_next_leader() -> None:
    assert words(plan(lost(), at=intent(Step.SUSPENDING))) == ["Suspend train"]


def test_a_suspension_that_is_seen_is_waited_for() -> None:
    turn = plan(suspended(lost()), at=intent(Step.SUSPENDING))
    assert words(turn) == ["Awaiting"]
    assert turn.intent is not None
    assert turn.intent.suspended_by_us


def test_a_kind_that_prunes_the_field_is_evicted() -> None:
    turn = plan(lost(), at=intent(Step.SUSPENDING, step_since=ago(20)))
    assert words(turn) == ["Evicting", "Evict train-1", "Evict train-2", "Evict train-3"]


def test_a_leader_that_died_before_it_suspended_says_nothing_of_the_field() -> None:
    turn = plan(lost(), at=intent(Step.SUSPENDING, step_since=ago(20)), is_inherited=True)
    assert words(turn) == ["Suspend train"]
    assert turn.intent is not None
    assert words(plan(lost(), at=turn.intent)) == ["Suspend train"]


def test_a_suspension_that_was_set_back_before_it_was_looked_at_is_not_said_again() -> None:
    turn = plan(lost(), at=intent(Step.SUSPENDING, suspended_by_us=True))
    assert words(turn) == ["Abandoned", "unmark"]
    assert turn.past is not None
    assert turn.past.intent.note == "spec.suspend was set back before all members had ended"


def test_nothing_is_resumed_while_an_old_member_ends() -> None:
    turn = plan(suspended(lost()), at=intent(Step.AWAITING))
    assert words(turn) == []
    assert turn.intent == intent(Step.AWAITING)


def test_nothing_is_resumed_before_the_job_controller_has_seen_the_suspension() -> None:
    group = Group()
    group.job["spec"]["suspend"] = True
    assert words(plan(group, at=intent(Step.AWAITING))) == []


def test_a_long_wait_is_told_once_with_who_is_waited_for() -> None:
    late = intent(Step.AWAITING, step_since=ago(200))
    turn = plan(suspended(lost()), at=late)
    assert words(turn) == ["Awaiting"]
    assert told(turn) == {"GroupHeld"}
    assert turn.intent is not None
    assert "train-0 on node n0" in turn.intent.note
    again = plan(suspended(lost()), at=turn.intent)
    assert (words(again), told(again)) == ([], set())


def test_members_on_a_node_that_is_gone_are_ended_by_force() -> None:
    group = suspended(lost().without_node("n0", seen_missing=-60))
    assert words(plan(group, at=intent(Step.AWAITING))) == ["force train-0"]


def test_members_on_a_silent_node_are_waited_for() -> None:
    group = suspended(lost().node("n0", ready="Unknown", taint="node.kubernetes.io/unreachable"))
    assert words(plan(group, at=intent(Step.AWAITING))) == []


def test_an_operators_word_that_it_is_off_is_enough() -> None:
    group = suspended(lost().node("n0", ready="Unknown", taint="node.kubernetes.io/out-of-service"))
    assert words(plan(group, at=intent(Step.AWAITING))) == ["force train-0"]


def test_it_is_resumed_when_all_have_ended() -> None:
    turn = plan(suspended(Group().run().failed(0).failed(1).failed(2).failed(3)), at=intent(Step.AWAITING))
    assert words(turn) == ["Resuming", "Resume train", "Forming", "unmark"]


def test_the_quorum_is_what_is_still_to_be_done_before_it_is_resumed() -> None:
    group = Group().run().succeeded(0, 1).failed(2).failed(3)
    assert words(plan(suspended(group), at=intent(Step.AWAITING))) == [
        "Resuming",
        "quorum 2",
        "Resume train",
        "Forming",
        "unmark",
    ]


def test_a_leader_that_died_after_resuming_is_followed() -> None:
    assert words(plan(Group(), at=intent(Step.RESUMING))) == ["Forming", "unmark"]


@pytest.mark.parametrize("step", [Step.AWAITING, Step.FORMING])
def test_what_we_wrote_may_take_a_moment_to_come_back(step: Step) -> None:
    group = Group() if step is Step.AWAITING else suspended(Group())
    turn = plan(group, at=intent(step, step_since=ago(1)))
    assert (words(turn), turn.ended) == ([], None)


def test_somebody_who_sets_the_suspension_back_has_the_last_word() -> None:
    turn = plan(lost(), at=intent(Step.AWAITING))
    assert words(turn) == ["Abandoned", "unmark"]
    assert turn.ended == (LossCause.EVICTED, RestartOutcome.ABANDONED)
    assert told(turn) == {"GroupRestartAbandoned"}


def test_somebody_who_suspends_it_before_it_is_whole_has_the_last_word() -> None:
    assert words(plan(suspended(Group()), at=intent(Step.FORMING))) == ["Abandoned", "unmark"]


def test_kueue_that_takes_it_over_resumes_it_too() -> None:
    group = suspended(lost().with_job("metadata.labels.kueue~x-k8s~io/queue-name", "q"))
    assert words(plan(group, at=intent(Step.AWAITING))) == ["Abandoned", "unmark"]


def test_a_field_that_somebody_else_holds_ends_it() -> None:
    turn = plan_abandon(seen(suspended(Group()), at=intent(Step.RESUMING)), "spec.suspend is held by kubectl")
    assert words(turn) == ["Abandoned", "unmark"]
    assert any("held by kubectl" in tell.message for tell in turn.tells)


@pytest.mark.parametrize("step", Step)
def test_it_ends_when_there_is_nothing_left_to_restart(step: Step) -> None:
    turn = plan(lost().with_namespace("status.phase", "Terminating"), at=intent(step))
    assert turn.intent is None
    assert turn.ended == (LossCause.EVICTED, RestartOutcome.FINISHED)


def test_it_ends_when_all_run_again() -> None:
    turn = plan(Group().run(), at=intent(Step.FORMING))
    assert words(turn) == ["Restarted", "unmark"]
    assert told(turn) == {"GroupRestarted"}
    assert turn.past is not None
    assert turn.past.outcome is RestartOutcome.WHOLE


def test_members_that_were_taken_down_are_no_loss_of_the_new_ones() -> None:
    """Their objects stay while their index has no new pod, and two of four may be seen to run before the others."""
    group = Group().run().failed(0, ended=-12).failed(1, ended=-12).failed(2, ended=-12).failed(3, ended=-12)
    group.replaced(0, created=-5, node="n0").replaced(1, created=-5, node="n1").replaced(2, created=-5)
    turn = plan(group, at=intent(Step.FORMING))
    assert (words(turn), turn.ended) == ([], None)


def test_members_whose_objects_go_after_the_new_ones_were_made_are_none_either() -> None:
    """The Job controller takes its finalizer off when it has the time; then they are seen to go, and one new member is bound."""
    group = Group().replaced(0, created=-8, node="n0").replaced(1, created=-8).replaced(2, created=-8).replaced(3, created=-8)
    old = [loss(index, LossCause.DELETED, since=-7, created=ago(3600)) for index in (2, 3)]
    turn = plan(group.remembering(losses=old), at=intent(Step.FORMING))
    assert (words(turn), turn.ended) == ([], None)
    new = replace(old[0], pod="train-2-first", uid="train-2-first", created=ago(9))
    turn = plan(group.remembering(losses=[*old, new]), at=intent(Step.FORMING))
    assert turn.ended == (LossCause.EVICTED, RestartOutcome.FAILED)


def test_a_new_member_that_is_lost_begins_the_next_restart() -> None:
    group = Group()
    for index in range(4):
        group.replaced(index, created=-8, node=f"n{index}")
    group.pods["train-0-again"]["metadata"] |= {"deletionTimestamp": NOW.isoformat(), "deletionGracePeriodSeconds": 2}
    turn = plan(group.condition("PodGroupInitiallyScheduled", "True", "Scheduled"), at=intent(Step.FORMING))
    assert turn.ended == (LossCause.EVICTED, RestartOutcome.FAILED)
    assert turn.intent is not None
    assert (turn.intent.step, turn.intent.attempt) == (Step.HOLDING, 2)


def test_a_group_beside_others_of_its_workload_is_evicted_alone() -> None:
    turn = plan(lost(), is_shared=True)
    assert words(turn) == ["mark", "Evicting", "Evict train-1", "Evict train-2", "Evict train-3"]


def test_evictions_are_tried_again_and_at_last_the_rest_is_deleted() -> None:
    group = lost().with_spec(suspend_path="")
    assert words(plan(group, at=intent(Step.EVICTING))) == ["Evict train-1", "Evict train-2", "Evict train-3"]
    late = intent(Step.EVICTING, step_since=ago(70))
    assert words(plan(group, at=late)) == ["Delete train-1", "Delete train-2", "Delete train-3"]


def test_the_next_leader_tries_evictions_for_as_long_before_it_deletes() -> None:
    group = lost().with_spec(suspend_path="")
    turn = plan(group, at=intent(Step.EVICTING, step_since=ago(70)), is_inherited=True)
    assert words(turn) == ["Evict train-1", "Evict train-2", "Evict train-3"]
    assert turn.intent is not None
    assert words(plan(group, at=replace(turn.intent, step_since=ago(61)))) == [
        "Delete train-1",
        "Delete train-2",
        "Delete train-3",
    ]


def test_the_next_leader_does_not_count_those_that_the_restart_took_as_lost() -> None:
    group = lost().doomed(2, "PreemptionByScheduler", since=-30).deleted(2, since=-30).deleted(1, since=-5)
    turn = plan(group, at=intent(Step.EVICTING), is_inherited=True)
    begun = next(tell.message for tell in turn.tells if tell.reason == "GroupRestarting")
    assert begun.startswith("Pod train-2 ")
    assert "lost as well: train-0. " in begun


def test_new_members_are_not_evicted() -> None:
    group = Group().with_spec(suspend_path="").run().replaced(0, created=-5, node="n0")
    for index in range(4):
        group.deleted(index)
    assert words(plan(group, at=intent(Step.EVICTING))) == ["Forming", "unmark"]


BUDGET: dict[str, Any] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "most", "namespace": "team-a", "generation": 1},
    "spec": {"selector": {}, "minAvailable": 2},
    "status": {
        "disruptionsAllowed": 1,
        "expectedPods": 4,
        "desiredHealthy": 0,
        "observedGeneration": 1,
        "conditions": [{"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods"}],
    },
}


def guarded(**spec: Any) -> Group:
    group = lost().with_spec(**spec)
    group.budgets.append(BUDGET)
    return group


def test_a_budget_that_does_not_allow_all_holds_all() -> None:
    turn = plan(guarded())
    assert words(turn) == ["mark", "Holding"]
    assert told(turn) == {"GroupHeld"}
    assert turn.intent is not None
    assert "PodDisruptionBudget most allows 1 disruptions now, and 3" in turn.intent.note
    again = plan(guarded(), at=turn.intent)
    assert (words(again), told(again), again.intent) == ([], set(), turn.intent)


def test_the_next_leader_takes_the_word_of_the_last_for_how_the_member_was_lost() -> None:
    """The kubelet's last deletion is without grace, so its time is after the end: the pod looks as if it had failed by itself."""
    group = Group().run().failed(0, ended=-40, code=143).deleted(0, since=-30, grace=0)
    assert not seen(group).health.is_restart_due
    held = intent(Step.HOLDING, cause=LossCause.DELETED)
    assert words(plan(group, at=held, is_inherited=True)) == ["mark", "Suspending", "Suspend train"]
    assert words(plan(group, at=replace(held, victim="train-1"), is_inherited=True)) == ["forget", "unmark"]


def test_it_goes_on_when_the_budget_allows_it() -> None:
    assert words(plan(lost(), at=intent(Step.HOLDING))) == ["mark", "Suspending", "Suspend train"]


@pytest.mark.parametrize(
    "then, expected",
    [("Hold", ["mark", "Holding"]), ("Restart", ["mark", "Suspending", "Suspend train"])],
)
def test_what_follows_the_budgets_time_is_the_policys_choice(then: str, expected: list[str]) -> None:
    group = guarded(budget_timeout_seconds=10.0, on_budget_timeout=then)
    assert words(plan(group, at=intent(Step.HOLDING))) == expected


def test_a_held_group_that_is_whole_by_itself_is_let_go() -> None:
    turn = plan(Group().run(), at=intent(Step.HOLDING))
    assert words(turn) == ["forget", "unmark"]
    assert (turn.intent, turn.past, turn.ended) == (None, None, None)


def test_what_was_counted_before_still_counts() -> None:
    turn = plan(Group().run(), at=intent(Step.HOLDING, attempt=3, total=5))
    assert turn.past is not None
    assert (turn.past.intent.attempt, turn.past.intent.total) == (2, 4)


def test_restarts_are_counted_on() -> None:
    turn = plan(lost(), past=past(attempt=2, total=4, ended=60))
    assert turn.intent is not None
    assert (turn.intent.attempt, turn.intent.total) == (3, 5)


def test_a_calm_time_begins_the_row_anew_and_not_the_sum() -> None:
    turn = plan(lost(), past=past(attempt=2, total=4, ended=700))
    assert turn.intent is not None
    assert (turn.intent.attempt, turn.intent.total) == (1, 5)


@pytest.mark.parametrize(
    "more, because",
    [
        pytest.param({"past": past(total=10, ended=3600)}, "restarted 10 times already", id="the most its policy allows"),
        pytest.param({"past": past(attempt=3, ended=20)}, "40 s after the last", id="a pause that doubles"),
        pytest.param({"past": past(RestartOutcome.ABANDONED, ended=20)}, "80 s after the last", id="longer after a foreign hand"),
        pytest.param({"begun": Begun(of_owner=[ago(5), ago(9)])}, "2 groups of this workload", id="one workload"),
        pytest.param({"begun": Begun(in_namespace=[ago(n) for n in range(5)])}, "5 groups in this namespace", id="one namespace"),
    ],
)
def test_a_limit_holds_it_with_words(more: dict[str, Any], because: str) -> None:
    turn = plan(lost(), **more)
    assert words(turn) == ["mark", "Holding"]
    assert turn.intent is not None
    assert because in turn.intent.note


def test_no_restart_at_all_is_a_choice_too() -> None:
    turn = plan(lost().with_spec(max_restarts=0))
    assert turn.intent is not None
    assert "maxRestarts: 0" in turn.intent.note


def test_a_pause_is_over_some_time() -> None:
    turn = plan(lost(), past=past(attempt=3, ended=20))
    assert turn.again_seconds is not None
    held, later = turn.intent, NOW + timedelta(seconds=21)
    group = lost()
    facts = replace(group.facts(intent=held), now=later)
    known = seen(group, past=past(attempt=3, ended=20))
    assert plan_restart(replace(known, facts=facts)).began
