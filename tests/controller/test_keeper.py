"""The keeper at its Protocols: what it hands on, what it remembers of it, and that it acts only while it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.admission.attaching import bound
from tests.builders import pod
from tests.controller.fakes import QUICK, FakeFeed, Holder, Running
from tests.controller.test_upkeep import GROUP, JOB, NATIVE_JOB, OURS, native_pod_group
from tests.groups.building import compiled
from tests.rules.building import FakeWorld
from webhook.admission import PolicySet
from webhook.controller import Carried, Keeper, MemberIndex, Shortfall
from webhook.model.actions import PlannedAction, Resume, SetCondition, SetQuorum, Suspend, Tell
from webhook.model.disruption import INTENT_CONDITION, GroupState, Health, LossCause, RestartOutcome
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.policies import DisruptionSpec
from webhook.settings import DisruptionSettings

POLICIES = PolicySet(workload=(bound(),))
KEY = ObjectKey.of(OURS.build())
AWAY = Shortfall(because="the API server is away", is_refusal=False)
NO = Shortfall(because="jobs.batch is forbidden", is_refusal=True)


def member(index: int, *, owner: Object = JOB, group: str = GROUP, node: str = "", **meta: Any) -> Object:
    made = pod(f"p{index}", group=group, phase="Running").owned_by(owner, controller=True)
    made = made.at("metadata.uid", f"uid-{index}").at("metadata.creationTimestamp", "2026-01-01T00:00:00Z")
    made = made.label("batch.kubernetes.io/job-completion-index", str(index)).at("spec.nodeName", node or f"n{index}")
    built = made.build()
    built["metadata"] |= meta
    return built


def nodes(count: int = 4) -> tuple[Object, ...]:
    return tuple({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{index}"}} for index in range(count))


BUDGET: Object = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "else", "name": "b"}}
STARTED = OURS.at("status.conditions", [{"type": "PodGroupInitiallyScheduled", "status": "True"}]).build()
RUNNING = (JOB, STARTED, *nodes(), BUDGET, *(member(index) for index in range(4)))
DELETED = {"deletionTimestamp": "2026-01-01T00:10:00Z"}


@dataclass
class FakeHands:
    """Remembers what was handed on, and writes it into the feed as the API server would."""

    feed: FakeFeed
    is_heard: bool = True
    """What is written comes back as a change."""
    asked: list[PlannedAction] = field(default_factory=list)
    answers: list[Carried] = field(default_factory=list)
    """To the next calls with a write."""
    happened: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def carry_out(self, actions: Sequence[PlannedAction]) -> Carried:
        async with self.happened:
            self.asked += actions
            self.happened.notify_all()
        if self.answers and not all(isinstance(action, Tell) for action in actions):
            return self.answers.pop(0)
        for action in actions if self.is_heard else ():
            self._write(action)
        return Carried()

    def _write(self, action: PlannedAction) -> None:
        if isinstance(action, SetCondition):
            self._set_condition(action)
        elif isinstance(action, Suspend | Resume):
            found = self.feed.objects[action.key]
            self.feed.put(found | {"spec": found["spec"] | {"suspend": isinstance(action, Suspend)}})

    def _set_condition(self, action: SetCondition) -> None:
        found = self.feed.objects[action.key]
        kept = [one for one in found.get("status", {}).get("conditions", []) if one["type"] != action.type]
        if action.status is not None and action.since is not None:
            made = {"type": action.type, "status": str(action.status), "reason": action.word, "message": action.message}
            kept.append(made | {"lastTransitionTime": action.since.isoformat()})
        self.feed.put(found | {"status": {"conditions": kept}})

    def words(self) -> list[str]:
        """What was written, in order."""
        return [word for action in self.asked if (word := _word(action))]

    def told(self) -> set[str]:
        return {action.reason for action in self.asked if isinstance(action, Tell)}

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until a call has made something true."""
        async with asyncio.timeout(10), self.happened:
            await self.happened.wait_for(done)


def _word(action: PlannedAction) -> str:
    match action:
        case SetCondition(type="gangwarden.dev/Restart"):
            return action.word or "forget"
        case SetQuorum():
            return f"quorum {action.min_count} of {action.key.kind}"
        case Suspend() | Resume():
            return type(action).__name__
        case _:
            return ""


@dataclass
class Counted:
    """A recorder that remembers."""

    states: list[GroupState] = field(default_factory=list)
    left: list[ObjectKey] = field(default_factory=list)
    ended: list[tuple[LossCause, RestartOutcome]] = field(default_factory=list)

    def looked(self, pod_group: ObjectKey, health: Health, members: Iterable[Object]) -> None:
        self.states.append(health.state)

    def gone(self, pod_group: ObjectKey) -> None:
        self.left.append(pod_group)

    def restarted(self, cause: LossCause, outcome: RestartOutcome) -> None:
        self.ended.append((cause, outcome))

    def stopped(self) -> None:
        raise AssertionError("whoever leads says so")


class Bench(Running):
    """A keeper with fakes around it."""

    def __init__(self, *objects: Object, policies: PolicySet = POLICIES, pause: float = 0.01, **settings: Any) -> None:
        self.feed = FakeFeed()
        self.hands, self.counted = FakeHands(self.feed), Counted()
        self.keeper = Keeper(
            self.feed,
            self.hands,
            Holder(policies),
            lambda _: FakeWorld(),
            DisruptionSettings(settle_seconds=0.0, **settings),
            replace(QUICK, backoff_initial_seconds=pause, backoff_limit_seconds=max(pause, 0.04)),
            members=MemberIndex(self.feed),
            recorder=self.counted,
        )
        self.feed.put(*objects)

    def loops(self) -> Coroutine[Any, Any, None]:
        return self.keeper.run()

    def take_all_away(self) -> None:
        """What the Job controller does with a suspended Job."""
        for index in range(4):
            self.feed.remove(self.feed.objects[ObjectKey("", "Pod", "team-a", f"p{index}")])
        job = self.feed.objects[ObjectKey.of(JOB)]
        self.feed.put(job | {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}})

    def group(self) -> Object:
        return self.feed.objects[KEY]


async def test_a_group_that_lost_a_member_is_taken_down_and_up_again() -> None:
    async with Bench(*RUNNING) as bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Awaiting" in bench.hands.words())
        assert bench.hands.words() == ["Suspending", "Suspend", "Awaiting"]
        assert bench.hands.told() == {"GroupRestarting"}
        bench.take_all_away()
        await bench.hands.until(lambda: "Forming" in bench.hands.words())
        assert bench.hands.words()[3:] == ["Resuming", "Resume", "Forming"]
        bench.feed.put(*(member(index, creationTimestamp="2099-01-01T00:00:00Z") for index in range(4)))
        await bench.hands.until(lambda: "GroupRestarted" in bench.hands.told())
        assert bench.hands.words()[6:] == ["Restarted"]
        assert bench.counted.ended == [(LossCause.DELETED, RestartOutcome.WHOLE)]
        assert bench.counted.states[0] is GroupState.WHOLE
        assert GroupState.RESTARTING in bench.counted.states


async def test_nothing_is_done_while_another_leads() -> None:
    bench = Bench(*RUNNING)
    bench.feed.put(member(0, **DELETED))
    await bench.settle()
    assert bench.hands.asked == []


async def test_without_restarts_it_is_told_and_counted() -> None:
    async with Bench(*RUNNING, restarts=False) as bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: bool(bench.hands.told()))
        assert (bench.hands.words(), bench.hands.told()) == ([], {"GroupLostMember"})
        assert bench.counted.states[-1] is GroupState.LOST_A_MEMBER


async def test_without_restarts_what_is_under_way_is_brought_to_its_end() -> None:
    async with Bench(*RUNNING) as first:
        first.feed.put(member(0, **DELETED))
        await first.hands.until(lambda: "Awaiting" in first.hands.words())
    async with Bench(*first.feed.objects.values(), restarts=False) as second:
        second.take_all_away()
        await second.hands.until(lambda: "Resume" in second.hands.words())


async def test_what_was_seen_to_go_while_another_led_is_known() -> None:
    bench = Bench(*RUNNING)
    bench.feed.remove(bench.feed.objects[ObjectKey("", "Pod", "team-a", "p0")])
    async with bench:
        await bench.hands.until(lambda: "Suspend" in bench.hands.words())
        assert "Pod p0 (node n0) was deleted" in next(one.message for one in bench.hands.asked if isinstance(one, Tell))


async def test_a_snapshot_that_is_behind_begins_nothing_twice() -> None:
    bench = Bench(*RUNNING)
    bench.hands.is_heard = False
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Suspend" in bench.hands.words())
        bench.feed.put(member(1, **DELETED))
        await bench.settle()
        assert bench.hands.words().count("Suspending") == 1


async def test_a_workload_from_before_our_write_says_nothing_about_it() -> None:
    """The watch may lag behind by more than a moment; a Job that looks running is not somebody's who resumed it."""
    old = JOB | {"metadata": JOB["metadata"] | {"resourceVersion": "7"}}
    bench = Bench(old, *RUNNING[1:])
    bench.hands.answers = [Carried(version=9)]
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Suspend" in bench.hands.words())
        bench.feed.put(member(1, **DELETED))
        await bench.settle()
        assert bench.hands.words() == ["Suspending", "Suspend"]
        bench.feed.put(old | {"metadata": old["metadata"] | {"resourceVersion": "9"}, "spec": old["spec"] | {"suspend": True}})
        await bench.hands.until(lambda: "Awaiting" in bench.hands.words())


async def test_a_suspension_that_was_set_back_before_we_looked_again_is_not_said_twice() -> None:
    """As a GitOps tool does within a second; a kind without the field looks the same, but there nothing was kept."""
    bench = Bench(*RUNNING)
    bench.hands.answers = [Carried(version=9, is_suspended=True)]
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Suspend" in bench.hands.words())
        bench.feed.put(JOB | {"metadata": JOB["metadata"] | {"resourceVersion": "10"}})
        await bench.hands.until(lambda: "Abandoned" in bench.hands.words())
        assert bench.hands.words().count("Suspend") == 1


async def test_a_step_that_failed_is_done_again() -> None:
    bench = Bench(*RUNNING)
    bench.hands.answers = [Carried(shortfall=AWAY), Carried(shortfall=AWAY)]
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Awaiting" in bench.hands.words())
        assert bench.hands.words().count("Suspend") == 3
        assert bench.hands.told() == {"GroupRestarting"}


async def test_a_refusal_is_told() -> None:
    bench = Bench(*RUNNING)
    bench.hands.answers = [Carried(shortfall=NO)]
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "GroupHeld" in bench.hands.told())
        said = next(one.message for one in bench.hands.asked if isinstance(one, Tell) and one.reason == "GroupHeld")
        assert "jobs.batch is forbidden" in said


async def test_what_somebody_else_holds_is_let_go() -> None:
    bench = Bench(*RUNNING)
    bench.hands.answers = [Carried(foreign="spec.suspend is held by kubectl")]
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "GroupRestartAbandoned" in bench.hands.told())
        assert bench.hands.words()[:3] == ["Suspending", "Suspend", "Abandoned"]
        assert bench.counted.ended == [(LossCause.DELETED, RestartOutcome.ABANDONED)]


async def test_the_next_leader_goes_on_where_the_last_one_ended() -> None:
    async with Bench(*RUNNING) as first:
        first.feed.put(member(0, **DELETED))
        await first.hands.until(lambda: "Awaiting" in first.hands.words())
    restarts = [one for one in first.hands.asked if isinstance(one, SetCondition) and one.type == INTENT_CONDITION]
    (begun,) = {one.message.split()[0] for one in restarts}
    async with Bench(*first.feed.objects.values()) as second:
        second.take_all_away()
        await second.hands.until(lambda: "Forming" in second.hands.words())
        written = [one.message for one in second.hands.asked if isinstance(one, SetCondition) and one.type == INTENT_CONDITION]
        assert all(message.startswith(begun) for message in written)


async def test_a_group_made_anew_in_the_middle_carries_on() -> None:
    async with Bench(*RUNNING) as bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Awaiting" in bench.hands.words())
        bench.feed.put(OURS.at("metadata.uid", "another").build())
        bench.take_all_away()
        await bench.hands.until(lambda: "Forming" in bench.hands.words())
        last = next(one for one in reversed(bench.hands.asked) if isinstance(one, SetCondition))
        assert last.uid == "another"


async def test_groups_of_others_are_left() -> None:
    theirs = {**JOB, "metadata": {name: value for name, value in metadata_of(JOB).items() if name != "annotations"}}
    bench = Bench(theirs, *RUNNING[1:])
    async with bench:
        bench.feed.put(member(0, **DELETED))
        await bench.settle()
        assert bench.hands.asked == []
        assert KEY in bench.counted.left


async def test_a_group_that_is_gone_is_counted_no_more() -> None:
    async with Bench(*RUNNING) as bench:
        bench.feed.remove(bench.group())
        await asyncio.sleep(0.01)
        await bench.settle()
        assert bench.counted.left == [KEY]


async def test_a_suspended_workload_is_asked_about_once_for_each_version() -> None:
    """Whether we suspended it is known to the API server alone; a person's suspension lasts, and is not asked about for ever."""

    def asleep(version: str) -> Object:
        meta = JOB["metadata"] | {"resourceVersion": version}
        said = {"type": "Suspended", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        return JOB | {"metadata": meta, "spec": JOB["spec"] | {"suspend": True}, "status": {"conditions": [said]}}

    bench = Bench(asleep("7"), STARTED, *nodes(), BUDGET)
    bench.hands.is_heard = False
    async with bench:
        await bench.hands.until(lambda: bench.hands.words() == ["Resume"])
        bench.feed.put(STARTED)
        await asyncio.sleep(0.01)
        await bench.settle()
        assert bench.hands.words() == ["Resume"]
        bench.feed.put(asleep("8"))
        await bench.hands.until(lambda: bench.hands.words() == ["Resume", "Resume"])


async def test_a_state_is_told_once() -> None:
    ignoring = PolicySet(workload=(bound(compiled(disruption=DisruptionSpec(on_disruption="Ignore"))),))
    async with Bench(*RUNNING, policies=ignoring) as bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: bool(bench.hands.told()))
        count = len(bench.hands.asked)
        bench.feed.put(member(3) | {"status": {"phase": "Running", "message": "x"}})
        await bench.settle()
        assert bench.hands.told() == {"GroupLostMember"}
        assert len(bench.hands.asked) == count


async def test_the_quorum_of_a_job_that_kubernetes_groups_is_lowered_on_the_job() -> None:
    status = {"succeeded": 2, "active": 2}
    job = NATIVE_JOB | {"status": status}
    made = native_pod_group()
    pods = (member(index, owner=NATIVE_JOB, group="by-kubernetes") for index in (2, 3))
    async with Bench(job, made, *nodes(), BUDGET, *pods) as bench:
        await bench.hands.until(lambda: bool(bench.hands.words()))
        assert bench.hands.words() == ["quorum 2 of Job"]
        scheduling = {"schedulingPolicy": {"gang": {"minCount": 2}}}
        bench.feed.put(job | {"spec": job["spec"] | {"scheduling": scheduling}})
        await asyncio.sleep(0.01)
        await bench.settle()
        assert bench.hands.words().count("quorum 2 of Job") == 1


@pytest.mark.parametrize(
    ("set_to", "expected"),
    [("2", ["quorum 6 of Job"]), ("3", []), (None, [])],
    ids=["we lowered it", "its owner changed it since", "its owner said it"],
)
async def test_the_quorum_of_a_job_that_grew_is_raised_where_we_lowered_it(set_to: str | None, expected: list[str]) -> None:
    scheduling = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    meta, spec = NATIVE_JOB["metadata"], NATIVE_JOB["spec"]
    annotations = meta["annotations"] | ({"gangwarden.dev/quorum-set-to": set_to} if set_to else {})
    job = NATIVE_JOB | {
        "metadata": meta | {"annotations": annotations},
        "spec": spec | {"scheduling": scheduling, "parallelism": 8, "completions": 8, "completionMode": "Indexed"},
        "status": {"succeeded": 2, "active": 6},
    }
    made = native_pod_group()
    made["spec"]["schedulingPolicy"]["gang"]["minCount"] = 2
    pods = (member(index, owner=NATIVE_JOB, group="by-kubernetes") for index in range(2, 8))
    async with Bench(job, made, *nodes(), BUDGET, *pods) as bench:
        await bench.settle()
        assert bench.hands.words() == expected


async def test_a_bug_on_one_group_leaves_the_others_looked_after() -> None:
    """The two are of one workload, so the other is not suspended but evicted."""
    broken = OURS.at("metadata.name", "aaa").at("spec.schedulingPolicy", "nonsense").build()
    async with Bench(broken, *RUNNING, pause=60.0) as bench:
        bench.feed.put(member(0, **DELETED))
        await bench.hands.until(lambda: "Evicting" in bench.hands.words())
