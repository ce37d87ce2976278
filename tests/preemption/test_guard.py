"""Whether a member of a group may be evicted: what is known decides, what is not known passes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import pod, pod_group
from tests.preemption.groups import NOW, Group
from webhook.model.disruption import Intent, LossCause, Step
from webhook.model.objects import Kind, Object, Resource
from webhook.model.policies import DisruptionSpec
from webhook.model.requests import AdmissionRequest, UserInfo
from webhook.model.snapshot import Snapshot
from webhook.model.verdicts import Admitted, Answer, Denied, Verdict
from webhook.preemption.gate import EvictionGate, Patience
from webhook.preemption.guard import Passes, Waits, is_dry_run, judge_eviction
from webhook.preemption.intent import write_intent
from webhook.settings import GuardSettings

CONTROLLER = GuardSettings().controller_user
HOLD = {"on_eviction": "Hold"}


def eviction(name: str = "train-0", *, user: str = "admin", options: Object | None = None, dry_run: bool = False):
    return AdmissionRequest(
        uid="r",
        kind=Kind("policy", "v1", "Eviction"),
        resource=Resource("", "v1", "pods"),
        sub_resource="eviction",
        name=name,
        namespace="team-a",
        user=UserInfo(username=user),
        object={"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options or {}},
        dry_run=dry_run,
    )


def judged(group: Group, request: AdmissionRequest | None = None, *, snapshot: Snapshot | None = None, ours: bool = True):
    def spec_of(owner: Object) -> tuple[str, DisruptionSpec] | None:
        return ("training-gang", group.spec) if ours and owner["metadata"]["name"] == "train" else None

    return judge_eviction(
        request or eviction(), snapshot or group.snapshot(), spec_of, now=NOW, longest_seconds=3600, ours=CONTROLLER
    )


def budget(allowed: int, **spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a", "namespace": "team-a", "generation": 1},
        "spec": {"selector": {}, "minAvailable": 0, **spec},
        "status": {"disruptionsAllowed": allowed, "observedGeneration": 1, "expectedPods": 4, "desiredHealthy": 0},
    }


def with_budget(group: Group, *budgets: Object) -> Group:
    group.budgets.extend(budgets)
    return group


def assert_passes(answer, because: str, *, known: bool = True) -> None:
    assert isinstance(answer, Passes), answer
    assert because in answer.because
    assert answer.is_known is known


def test_under_finish_a_member_may_go_when_no_budget_covers_the_group() -> None:
    assert_passes(judged(Group().run()), "no budget covers a member")


def test_under_finish_a_member_may_go_when_the_budget_lets_all_of_them_go() -> None:
    assert_passes(judged(with_budget(Group().run(), budget(4))), "budgets a allow it")


def test_a_budget_that_lets_only_some_of_them_go_holds_the_first() -> None:
    found = judged(with_budget(Group().run(), budget(2)))
    assert isinstance(found, Waits)
    assert found.because == (
        "evicting it takes all of group g of Job train down, and PodDisruptionBudget a allows 2 disruptions now, and 4 of its "
        "pods would go. It is asked again when its status changes"
    )
    assert found.limit_seconds == 3600


def test_a_policy_that_restarts_after_the_budgets_time_is_up_waits_no_longer_than_that() -> None:
    group = Group().run().with_spec(on_budget_timeout="Restart", budget_timeout_seconds=60.0)
    found = judged(with_budget(group, budget(2)))
    assert isinstance(found, Waits)
    assert found.limit_seconds == 60


@pytest.mark.parametrize("spec", [{"budgets": "Ignore"}, {"on_disruption": "Ignore"}])
def test_a_policy_that_does_not_care_leaves_evictions_alone(spec: dict[str, Any]) -> None:
    assert_passes(judged(with_budget(Group().run().with_spec(**spec), budget(2))), "leaves evictions alone")


def test_under_hold_a_member_of_a_working_group_waits() -> None:
    found = judged(Group().run().with_spec(**HOLD))
    assert isinstance(found, Waits)
    assert "group g of Job train works, and policy training-gang says onEviction: Hold" in found.because
    assert found.pod_group == Group().run().pod_group["metadata"]["uid"]


def test_hold_holds_also_where_nothing_would_be_restarted() -> None:
    assert isinstance(judged(Group().run().with_spec(**HOLD, on_disruption="Ignore")), Waits)


@pytest.mark.parametrize(
    ("group", "because"),
    [
        (Group().run().deleted(3).with_spec(**HOLD), "lost-a-member already"),
        (Group().run().failed(3).with_spec(**HOLD), "lost-a-member already"),
        (Group().run().with_job("metadata.deletionTimestamp", "2026-03-01T12:00:00Z").with_spec(**HOLD), "finishing already"),
        (Group().run().with_job("spec.suspend", True).with_spec(**HOLD), "forming already"),
    ],
    ids=["a member goes", "a member failed", "the Job is deleted", "the Job is suspended"],
)
def test_a_group_that_does_not_work_is_not_held(group: Group, because: str) -> None:
    assert_passes(judged(group), because)


def test_a_group_that_we_restart_is_not_held() -> None:
    group = Group().run().with_spec(**HOLD)
    intent = Intent(
        id="3f9a", step=Step.EVICTING, owner_uid="u", cause=LossCause.TAINTED, victim="train-3", began=NOW, step_since=NOW
    )
    write = write_intent(group.pod_group, intent)
    condition = {"type": write.type, "status": "True", "reason": write.word, "message": write.message}
    group.pod_group["status"]["conditions"].append(condition | {"lastTransitionTime": "2026-03-01T12:00:00Z"})
    assert_passes(judged(group), "restarting already")


def test_a_pod_that_a_group_can_do_without_may_go() -> None:
    assert_passes(judged(Group(quorum=3).run().with_spec(**HOLD)), "its quorum runs on without the pod")


def test_a_basic_group_is_not_held() -> None:
    group = Group().run().with_spec(**HOLD).with_group("spec.schedulingPolicy", {"basic": {}})
    assert_passes(judged(group), "its quorum runs on")


@pytest.mark.parametrize(
    "change",
    [
        lambda group: group.deleted(0),
        lambda group: group.failed(0),
        lambda group: group.succeeded(0),
    ],
    ids=["it is on its way out", "it failed", "it succeeded"],
)
def test_a_pod_that_takes_nothing_down_passes(change) -> None:
    assert_passes(judged(change(Group().run().with_spec(**HOLD))), "no node, has ended or is on its way out")


def test_a_pod_without_a_node_passes() -> None:
    assert_passes(judged(Group().waiting().with_spec(**HOLD)), "has no node")


def test_the_controllers_own_evictions_pass() -> None:
    assert_passes(judged(Group().run().with_spec(**HOLD), eviction(user=CONTROLLER)), "the controller's own")


def test_without_a_name_for_the_controller_nobody_passes_for_it() -> None:
    answer = judge_eviction(
        eviction(user=""),
        Group().run().snapshot(),
        lambda _: ("p", DisruptionSpec(on_eviction="Hold")),
        now=NOW,
        longest_seconds=1,
    )
    assert isinstance(answer, Waits)


def test_pods_of_no_group_and_of_groups_of_others_pass() -> None:
    bound = pod("alone").at("spec.nodeName", "n0").build()
    theirs = pod("theirs", group="other").at("spec.nodeName", "n0").build()
    group = Group().run().with_spec(**HOLD)
    group.others += [bound, theirs, pod_group("other").build()]
    assert_passes(judged(group, eviction("alone")), "in no group")
    assert_passes(judged(group, eviction("theirs")), "belongs to no workload")
    assert_passes(judged(group, ours=False), "not Gangwarden's")


def test_what_is_not_known_passes_and_says_so() -> None:
    group = Group().run().with_spec(**HOLD)
    lost = pod("lost", group="nowhere").at("spec.nodeName", "n0").build()
    stranger = pod("stranger", group="g").at("spec.nodeName", "n0").build()
    group.others += [lost, stranger]
    assert_passes(judged(group, eviction("unheard-of")), "unheard-of is not known", known=False)
    assert_passes(judged(group, eviction("lost")), "PodGroup nowhere is not known", known=False)
    assert_passes(judged(group, eviction("stranger")), "not proved to be its member", known=False)
    group.with_job("metadata.uid", "another")
    assert_passes(judged(group), "the workload of PodGroup g is not known", known=False)


def test_dry_runs_are_recognised_in_the_body_and_in_the_request() -> None:
    assert is_dry_run(eviction(options={"dryRun": ["All"]}))
    assert is_dry_run(eviction(dry_run=True))
    assert not is_dry_run(eviction(options={"dryRun": []}))
    assert not is_dry_run(eviction())


def answered(gate: EvictionGate, group: Group, seconds: float, request: AdmissionRequest | None = None) -> Answer:
    return gate.answer(
        request or eviction(), group.snapshot(), lambda _: ("training-gang", group.spec), NOW + timedelta(seconds=seconds)
    )


def test_a_refusal_is_429_with_the_reason_and_the_end_of_the_wait() -> None:
    gate, group = EvictionGate(GuardSettings(longest_hold_seconds=100)), Group().run().with_spec(**HOLD)
    found = answered(gate, group, 0)
    assert isinstance(found, Denied)
    assert (found.code, found.reason) == (429, "TooManyRequests")
    assert found.message.endswith("suspend or delete its workload. In 100 s it passes whatever happens.")
    assert [(one.policy, one.verdict) for one in found.trail.findings] == [("training-gang", Verdict.DENY)]


def test_after_the_limit_it_passes_whatever_the_policy_says() -> None:
    gate, group = EvictionGate(GuardSettings(longest_hold_seconds=100)), Group().run().with_spec(**HOLD)
    found = [answered(gate, group, seconds) for seconds in (0, 50, 99, 100, 120)]
    assert [isinstance(one, Denied) for one in found] == [True, True, True, False, False]


def test_every_member_of_a_group_shares_its_wait() -> None:
    gate, group = EvictionGate(GuardSettings(longest_hold_seconds=100)), Group().run().with_spec(**HOLD)
    answered(gate, group, 0)
    assert isinstance(answered(gate, group, 100, eviction("train-1")), Admitted)


def test_a_try_starts_no_clock() -> None:
    gate, group = EvictionGate(GuardSettings(longest_hold_seconds=100)), Group().run().with_spec(**HOLD)
    assert isinstance(answered(gate, group, 0, eviction(options={"dryRun": ["All"]})), Denied)
    answered(gate, group, 90)
    assert isinstance(answered(gate, group, 150), Denied)


def test_a_group_that_was_taken_apart_meanwhile_is_waited_for_anew() -> None:
    gate, group = EvictionGate(GuardSettings(longest_hold_seconds=100)), Group().run().with_spec(**HOLD)
    answered(gate, group, 0)
    assert isinstance(answered(gate, Group().run().with_spec(**HOLD).deleted(3), 50), Admitted)
    assert isinstance(answered(gate, group, 110), Denied)


def test_what_nobody_could_judge_is_counted_as_an_error() -> None:
    found = answered(EvictionGate(GuardSettings()), Group().run().with_spec(**HOLD), 0, eviction("unheard-of"))
    assert isinstance(found, Admitted)
    assert [(one.policy, one.verdict) for one in found.trail.findings] == [("eviction-guard", Verdict.ERROR)]


def test_what_is_no_eviction_passes() -> None:
    request = AdmissionRequest(uid="r", kind=Kind("", "v1", "Pod"), resource=Resource("", "v1", "pods"), object={})
    assert isinstance(answered(EvictionGate(GuardSettings()), Group().run(), 0, request), Admitted)


def test_a_long_silence_begins_the_wait_anew() -> None:
    patience = Patience(forget_seconds=60)
    assert [patience.waited("g", NOW + timedelta(seconds=at), is_try=False) for at in (0, 50, 110, 171)] == [0, 50, 110, 0]


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    patience = Patience(most=2)
    for name in ("a", "b", "c"):
        patience.waited(name, NOW, is_try=False)
    later = NOW + timedelta(seconds=10)
    assert [patience.waited(name, later, is_try=True) for name in ("a", "b", "c")] == [0, 10, 10]


def test_pods_come_from_an_index_where_there_is_one() -> None:
    asked = []
    group = Group().run().with_spec(**HOLD)

    def pods(namespace: str, name: str, _: Snapshot) -> list[Object]:
        asked.append((namespace, name))
        return list(group.pods.values())

    gate = EvictionGate(GuardSettings(), pods)
    found = gate.answer(eviction(), group.snapshot(), lambda _: ("training-gang", group.spec), NOW)
    assert isinstance(found, Denied)
    assert asked == [("team-a", "g")]
