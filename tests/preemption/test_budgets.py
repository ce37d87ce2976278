"""Whether a whole group may go by its disruption budgets, all together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.preemption.groups import Group
from webhook.model.objects import Object
from webhook.model.policies import DisruptionSpec
from webhook.preemption import BudgetsAllow, BudgetsHold, call_roll, judge_budgets

RESPECT = DisruptionSpec()
INDEX = "batch.kubernetes.io/job-completion-index"


def budget(
    name: str = "b", *, allowed: int = 0, expected: int = 10, desired: int = 2, selector: Any = None, **spec: Any
) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "team-a", "generation": 1},
        "spec": {"selector": {} if selector is None else selector, **(spec or {"minAvailable": desired})},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "desiredHealthy": desired,
            "conditions": [{"type": "DisruptionAllowed", "status": "True" if allowed else "False", "reason": "SufficientPods"}],
        },
    }


def of_index(*indexes: int) -> Object:
    return {"matchExpressions": [{"key": INDEX, "operator": "In", "values": [str(index) for index in indexes]}]}


def answer(*budgets: Object, group: Group | None = None, spec: DisruptionSpec = RESPECT) -> BudgetsAllow | BudgetsHold:
    facts = (group or Group().run()).facts()
    return judge_budgets(call_roll(facts).unfinished, {one["metadata"]["name"]: one for one in budgets}, spec)


ALLOWED: dict[str, tuple[list[Object], Callable[[Group], Group]]] = {
    "no budget in the namespace": ([], Group.run),
    "a budget that allows all four": ([budget(allowed=4)], Group.run),
    "a budget of other pods": ([budget(selector={"matchLabels": {"app": "web"}})], Group.run),
    "a budget without a selector selects nothing": ([{**budget(), "spec": {"minAvailable": 2}}], Group.run),
    "two budgets, each with its own pods": (
        [budget("a", allowed=2, selector=of_index(0, 1)), budget("b", allowed=2, selector=of_index(2, 3))],
        Group.run,
    ),
    "pods that have no node yet cost nothing": ([budget(allowed=1)], lambda g: g.run(1).waiting(3)),
    "nor do those that are on their way out": ([budget(allowed=2)], lambda g: g.run().deleted(0).deleted(1)),
    "nor those that have succeeded": ([budget(allowed=1)], lambda g: g.run().succeeded(0, 1, 2)),
    "an unready pod is free where the budget says so": (
        [budget(allowed=3, minAvailable=2, unhealthyPodEvictionPolicy="AlwaysAllow")],
        lambda g: g.run().with_pod(1, "status.conditions", [{"type": "Ready", "status": "False"}]),
    ),
    "a budget that is going away": (
        [{**budget(), "metadata": {"name": "b", "deletionTimestamp": "2026-01-01T00:00:00Z"}}],
        Group.run,
    ),
}


@pytest.mark.parametrize("case", ALLOWED.values(), ids=ALLOWED.keys())
def test_a_whole_group_may_go(case: tuple[list[Object], Callable[[Group], Group]]) -> None:
    budgets, befall = case
    assert isinstance(answer(*budgets, group=befall(Group())), BudgetsAllow)


def failing(message: str) -> Object:
    made = budget(allowed=9)
    made["status"]["conditions"] = [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": message}]
    return made


HELD: dict[str, tuple[list[Object], bool, str, str]] = {
    "one less than the group": (
        [budget(allowed=3)],
        False,
        "allows 3 disruptions now, and 4 of its pods would go",
        "asked again",
    ),
    "even at its best it never allows the group": (
        [budget(allowed=2, expected=4, desired=2)],
        True,
        "even with all its 4 pods healthy it would allow 2",
        "Lower minAvailable of PodDisruptionBudget b so that it allows 4",
    ),
    "maxUnavailable on pods of a Job": (
        [budget(maxUnavailable=1)],
        True,
        "maxUnavailable: 1, which cannot be computed for pods of a Job",
        "whole number as minAvailable",
    ),
    "a percentage on pods of a Job": ([budget(minAvailable="50%")], True, "minAvailable: 50%", "whole number"),
    "two budgets on one pod": (
        [budget("a", allowed=9), budget("b", allowed=9, selector=of_index(2))],
        True,
        "Pod train-2 is covered by PodDisruptionBudgets a and b",
        "Change the selectors of a and b",
    ),
    "a budget that could not be computed": ([failing("found no controllers for pod")], True, "found no controllers", "Mend"),
    "a status older than the budget": (
        [{**budget(allowed=9), "metadata": {"name": "b", "generation": 2}}],
        False,
        "was changed, and its status does not speak of that",
        "asked again",
    ),
    "what never ends is told before what may": (
        [budget("a", allowed=1, selector=of_index(0, 1)), budget("b", selector=of_index(2), maxUnavailable="20%")],
        True,
        "PodDisruptionBudget b says maxUnavailable: 20%",
        "PodDisruptionBudget b",
    ),
    "a new budget that nobody has computed": (
        [{**budget(), "status": {}}],
        False,
        "its status does not speak of that yet",
        "asked again",
    ),
}


@pytest.mark.parametrize("case", HELD.values(), ids=HELD.keys())
def test_a_group_is_held_whole(case: tuple[list[Object], bool, str, str]) -> None:
    budgets, can_never, because, way_out = case
    found = answer(*budgets)
    assert isinstance(found, BudgetsHold)
    assert (found.can_never, because in found.because, way_out in found.way_out) == (can_never, True, True), found


def test_a_policy_may_ignore_budgets() -> None:
    assert isinstance(answer(budget(maxUnavailable=0), spec=DisruptionSpec(budgets="Ignore")), BudgetsAllow)


def test_budgets_that_are_not_watched_allow_nothing() -> None:
    found = judge_budgets(call_roll(Group().run().facts()).unfinished, None, RESPECT)
    assert isinstance(found, BudgetsHold)
    assert "not watched" in found.because


def test_a_percentage_counts_where_the_pods_controller_has_a_scale() -> None:
    """A StatefulSet has one; the disruption controller computes the number then, and its status is believed."""
    pods = Group().run(2).facts().members
    sets = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s", "controller": True}]
    owned = [one | {"metadata": one["metadata"] | {"ownerReferences": sets}} for one in pods]
    assert isinstance(judge_budgets(owned, {"b": budget(allowed=2, minAvailable="50%")}, RESPECT), BudgetsAllow)


def test_budgets_of_other_namespaces_are_not_asked() -> None:
    group = Group().run()
    group.budgets.append({**budget(), "metadata": {"name": "b", "namespace": "elsewhere", "generation": 1}})
    facts = group.facts()
    assert isinstance(judge_budgets(facts.members, facts.budgets, RESPECT), BudgetsAllow)
