"""Several groups out of one list of templates: which entry belongs to which, and what each is called."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import bound, denied, grouped, only
from tests.builders import Built, job_set
from tests.groups.building import group
from tests.groups.test_other_kinds import TEMPLATES, sets, templates
from tests.rules.building import binding, named, request, situation, text
from webhook.groups import CompiledWorkload, is_whole, plan_group, plan_recorded
from webhook.model.actions import Apply
from webhook.model.groups import POD_GROUP_ANNOTATION, GroupPlan
from webhook.model.objects import Object
from webhook.model.snapshot import snapshot_of

SIZE = "items.map(each, each.replicas * each.template.spec.parallelism).sum()"


def groups_of(obj: Object) -> list[str]:
    return [str((spec.get("schedulingGroup") or {}).get("podGroupName", ""))[:-11] for spec in templates(obj)]


def per(key: str = "", **parts: Any) -> CompiledWorkload:
    instances = {"instances": "Key", "instance_key": text(key)} if key else {}
    return sets(group(path=TEMPLATES, count=SIZE, **instances, **parts))


def test_each_entry_may_be_a_group_of_its_own() -> None:
    found = grouped(job_set(), bound(per(instances="PerItem")))
    assert groups_of(found.object) == ["train-workers-leader", "train-workers-worker"]
    record = found.object["metadata"]["annotations"][POD_GROUP_ANNOTATION]
    assert [pair.partition("=")[0] for pair in record.split(",")] == ["workers/leader", "workers/worker"]
    assert only(found).message == "1 pod in one PodGroup, 1 at once or none; 4 pods in one PodGroup, 4 at once or none"


def test_entries_that_share_a_key_are_one_group() -> None:
    obj = job_set(driver=1, left=2, right=3)
    found = grouped(obj, bound(per("item.name == 'driver' ? 'driver' : 'rest'")))
    assert groups_of(found.object) == ["train-workers-driver", "train-workers-rest", "train-workers-rest"]
    assert "5 pods in one PodGroup" in only(found).message


def test_an_empty_key_is_the_only_group() -> None:
    staged = sets(
        group(path=TEMPLATES, count=SIZE, instances="Key", instance_key=text("variables.staged ? item.name : ''")),
        variables=named(staged="has(object.spec.startupPolicy)"),
    )
    found = grouped(job_set(), bound(staged))
    assert groups_of(found.object) == ["train", "train"]
    found = grouped(job_set().at("spec.startupPolicy", {}), bound(staged))
    assert groups_of(found.object) == ["train-workers-leader", "train-workers-worker"]


def test_where_leaves_entries_out_and_two_entries_of_a_policy_share_a_list() -> None:
    policy = sets(
        group("driver", path=TEMPLATES, count=SIZE, where=text("item.name == 'driver'")),
        group("others", path=TEMPLATES, count=SIZE, where=text("item.name.startsWith('w')")),
    )
    found = grouped(job_set(driver=1, w1=2, spare=3), bound(policy))
    assert groups_of(found.object) == ["train-driver", "train-others", ""]


def test_a_role_that_is_not_there_has_no_group() -> None:
    policy = sets(
        group("driver", path=TEMPLATES, count=SIZE, where=text("item.name == 'driver'")),
        group("others", path=TEMPLATES, count=SIZE, where=text("item.name != 'driver'")),
    )
    assert groups_of(grouped(job_set(w=2), bound(policy)).object) == ["train-others"]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (sets(group(path=TEMPLATES, count="1", where=text("false"))), "none of its pod templates belongs to a group"),
        (
            sets(
                group("a", path=TEMPLATES, count="1", where=text("true")),
                group("b", path=TEMPLATES, count="1", where=text("true")),
            ),
            "belong to a and to b; a pod has one group",
        ),
        (per("'two words'"), "gave 'two words', which cannot be part of a name"),
        (per("item.nope"), "instances.keyExpression failed: no such key: nope"),
        (per("dyn(1)"), "instances.keyExpression gave 1, not a string"),
        (sets(group(path=TEMPLATES, count="1", where=text("dyn('x')"))), "members.where gave 'x', not true or false"),
    ],
    ids=["nobody", "both", "no name", "a missing field", "a number", "no bool"],
)
def test_it_is_refused(policy: CompiledWorkload, words: str) -> None:
    assert words in denied(job_set(), bound(policy)).message


def stored_set(policy: CompiledWorkload) -> Object:
    return Built(grouped(job_set(), bound(policy)).object).at("metadata.uid", "u").build()


def planned(policy: CompiledWorkload, owner: Object) -> GroupPlan:
    return plan_recorded(policy, binding(), situation(request(owner)))


def test_the_controller_makes_a_pod_group_for_each_from_one_template() -> None:
    policy = per(instances="PerItem")
    owner = stored_set(policy)
    plan = planned(policy, owner)
    assert is_whole(plan, owner)
    made = [action.object for action in plan_group(owner, plan, snapshot_of(())) if isinstance(action, Apply)]
    assert [obj["kind"] for obj in made] == ["PodGroup", "PodGroup", "Workload"]
    assert [obj["spec"]["schedulingPolicy"]["gang"]["minCount"] for obj in made[:2]] == [1, 4]
    assert {obj["spec"]["workloadRef"]["templateName"] for obj in made[:2]} == {"workers"}
    assert [each["name"] for each in made[2]["spec"]["podGroupTemplates"]] == ["workers"]


def test_an_entry_that_came_later_is_not_in_the_record_and_so_in_no_group() -> None:
    policy = per(instances="PerItem")
    owner = stored_set(policy)
    later = owner | {
        "spec": {"replicatedJobs": [*owner["spec"]["replicatedJobs"], *job_set(late=2).build()["spec"]["replicatedJobs"]]}
    }
    plan = planned(policy, later)
    assert [group.slot for group in plan.groups] == ["workers/leader", "workers/worker"]
