"""Groups of controller authors, compared with Kubernetes' own library on the same questions."""

from __future__ import annotations

import json
import subprocess
from random import Random
from typing import Any

import pytest

from tests.controlplane import build
from webhook.groups import GroupItem, GroupProblem, Wrong, check_item, plan_item, pod_group_object, workload_object
from webhook.model.groups import GroupPlan, Route
from webhook.model.objects import Object

COUNT = 400
OWNER = {"apiVersion": "batch.example.dev/v1", "kind": "Train", "name": "llm", "uid": "u-1"}
OWNING = {
    "apiVersion": OWNER["apiVersion"],
    "kind": OWNER["kind"],
    "metadata": {"name": "llm", "uid": "u-1", "namespace": "team-a"},
}
NAMES = ("a", "b", "gpus", "x" * 63, "A_", "b.c", "x" * 64, "")
KEYS = ("rack", "rack", "zone", "topology.kubernetes.io/rack", "bad key", "", "a/b/c", "-x")


def question(random: Random) -> dict[str, Any]:
    def maybe(value: Any, chance: float = 0.7) -> Any:
        return value if random.random() < chance else None

    def some(members: dict[str, Any]) -> dict[str, Any]:
        """Return mostly one of them, as it should be, and sometimes none or all."""
        return dict(random.sample(sorted(members.items()), random.choice((1, 1, 1, 1, 1, 1, 0, 2))))

    gang = {} if random.random() < 0.5 else {"minCount": random.choice((1, 2, 3, 4, 9, 0, -2))}
    claims = [
        {
            "name": random.choice(NAMES),
            **some({"resourceClaimName": random.choice(NAMES[:6]), "resourceClaimTemplateName": "each"}),
        }
        for _ in range(random.randint(0, 3))
    ]
    asked = {
        "schedulingPolicy": maybe(some({"basic": {}, "gang": gang})),
        "schedulingConstraints": maybe({"topology": [{"key": random.choice(KEYS)} for _ in range(random.randint(0, 2))]}, 0.4),
        "disruptionMode": maybe(some({"single": {}, "all": {}}), 0.5),
        "resourceClaims": maybe(claims, 0.3),
    }
    default = {
        "schedulingPolicy": maybe(random.choice(({"gang": {}}, {"basic": {}}))),
        "disruptionMode": maybe(random.choice(({"all": {}}, {"single": {}}))),
    }
    return {
        "name": "workers",
        "asked": {key: value for key, value in asked.items() if value is not None},
        "default": {key: value for key, value in default.items() if value is not None},
        "priorityClassName": random.choice(("", "high")),
        "count": random.choice((0, 4, 4, 4)),
        "allowedPolicies": random.choice((["gang"], ["basic", "gang"], ["basic", "gang"], [])),
        "allowedModes": random.choice((["all"], ["single", "all"], ["single", "all"], [])),
        "owner": OWNER,
        "workload": "llm-0",
        "podGroup": "llm-0",
    }


def theirs(asked: list[dict[str, Any]]) -> list[Object]:
    program = build.ensure(["workloads"]) / "workloads"
    lines = "\n".join(map(json.dumps, asked))
    done = subprocess.run([program], input=lines, capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def item_of(asked: dict[str, Any]) -> GroupItem:
    return GroupItem(
        name=asked["name"],
        count=asked["count"],
        asked=asked["asked"],
        default=asked["default"],
        priority_class_name=asked["priorityClassName"],
    )


def ours(asked: dict[str, Any]) -> Object:
    item = item_of(asked)
    wrong = check_item(item, policies=asked["allowedPolicies"], modes=asked["allowedModes"])
    if wrong:
        return {"errors": sorted({(one.reason, one.field) for one in wrong})}
    try:
        group = plan_item(item, asked["podGroup"])
    except GroupProblem as problem:
        return {"errors": [("Build", str(problem))]}
    plan = GroupPlan(policy="", binding="", route=Route.MANAGED, groups=(group,))
    return {"workload": workload_object(OWNING, plan)["spec"], "podGroup": pod_group_object(OWNING, plan, group)["spec"]}


def comparable(answer: Object) -> Object:
    if "errors" in answer:
        return {"errors": sorted({(one["type"], one["field"] or one["detail"]) for one in answer["errors"]})}
    workload, group = answer["workload"]["spec"], answer["podGroup"]["spec"]
    (template,) = workload["podGroupTemplates"]
    said = {key: value for key, value in template.items() if value is not None}  # Go writes an empty pointer as null
    return {"workload": workload | {"podGroupTemplates": [said]}, "podGroup": group}


@pytest.mark.e2e
def test_the_library_of_kubernetes_builds_and_refuses_the_same() -> None:
    random = Random(20261130)
    asked = [question(random) for _ in range(COUNT)]
    answers = [comparable(answer) for answer in theirs(asked)]
    differences = [(one, answer, ours(one)) for one, answer in zip(asked, answers, strict=True) if answer != ours(one)]
    assert differences == []
    assert min(sum("errors" in answer for answer in answers), sum("workload" in answer for answer in answers)) >= COUNT // 8


def test_an_error_names_its_place_in_the_owners_own_api() -> None:
    item = GroupItem(name="workers", count=4, path="spec.gang", asked={"schedulingPolicy": {}})
    assert check_item(item) == (Wrong("FieldValueInvalid", "spec.gang.schedulingPolicy", "must specify one of: `basic`, `gang`"),)


@pytest.mark.parametrize(
    ("asked", "place", "message"),
    [
        ([], "spec.scheduling", "must be an object"),
        ({"schedulingPolicy": "gang"}, "spec.scheduling.schedulingPolicy", "must be an object"),
        ({"schedulingPolicy": []}, "spec.scheduling.schedulingPolicy", "must be an object"),
        ({"schedulingPolicy": {"gang": True}}, "spec.scheduling.schedulingPolicy.gang", "must be an object"),
        (
            {"schedulingPolicy": {"gang": {"minCount": "3"}}},
            "spec.scheduling.schedulingPolicy.gang.minCount",
            "must be a whole number",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": True}}},
            "spec.scheduling.schedulingPolicy.gang.minCount",
            "must be a whole number",
        ),
        (
            {"schedulingConstraints": {"topology": {"key": "a"}}},
            "spec.scheduling.schedulingConstraints.topology",
            "must be a list",
        ),
        (
            {"schedulingConstraints": {"topology": [None]}},
            "spec.scheduling.schedulingConstraints.topology[0]",
            "must be an object",
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": 5}]}},
            "spec.scheduling.schedulingConstraints.topology[0].key",
            "must be a text",
        ),
        ({"disruptionMode": "all"}, "spec.scheduling.disruptionMode", "must be an object"),
        ({"resourceClaims": [{"name": 5, "resourceClaimName": "a"}]}, "spec.scheduling.resourceClaims[0].name", "must be a text"),
    ],
)
def test_a_value_of_another_type_is_told_at_its_place(asked: Any, place: str, message: str) -> None:
    item = GroupItem(name="workers", count=4, asked=asked)
    assert check_item(item) == (Wrong("FieldValueTypeInvalid", place, message),)


def test_null_is_as_good_as_absent() -> None:
    asked = {"schedulingPolicy": {"basic": None, "gang": {"minCount": None}}, "resourceClaims": None, "disruptionMode": None}
    assert check_item(GroupItem(name="workers", count=4, asked=asked)) == ()
