"""An update of a workload whose templates may change: its stamp and its record come back, and nothing else happens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import admitted, answer, bound, grouped, only
from tests.builders import Built, job, job_set
from tests.groups.building import group
from tests.groups.test_other_kinds import TEMPLATES, sets, templates
from tests.rules.building import named, text
from webhook.model.groups import GROUP_POLICY_ANNOTATION, GROUPED_AS_ANNOTATION, POD_GROUP_ANNOTATION
from webhook.model.objects import Object
from webhook.model.requests import Operation
from webhook.model.verdicts import Patched

UPDATE = Operation.UPDATE
POLICY = bound(sets())
OLD = grouped(job_set(), POLICY).object
NAME = "train-0000000000"


def updated(obj: Any, *policies: Any, old: Object = OLD) -> Patched:
    return grouped(obj, *(policies or (POLICY,)), operation=UPDATE, old_object=old)


def names(obj: Object) -> list[str]:
    return [spec.get("schedulingGroup", {}).get("podGroupName", "") for spec in templates(obj)]


def test_a_plain_manifest_gets_stamp_and_record_back() -> None:
    found = updated(job_set().annotate("mine", "yes"))
    assert names(found.object) == [NAME, NAME]
    assert found.object["metadata"]["annotations"] == {"mine": "yes"} | OLD["metadata"]["annotations"]
    assert {*found.object["metadata"]["annotations"]} == {
        "mine",
        POD_GROUP_ANNOTATION,
        GROUP_POLICY_ANNOTATION,
        GROUPED_AS_ANNOTATION,
    }
    assert only(found).message == "its templates stay in their group"


def test_a_template_that_is_added_joins_the_group() -> None:
    added = job_set(leader=1, worker=4, late=2).at("metadata", OLD["metadata"])
    assert names(updated(added).object) == [NAME] * 3


def test_a_group_that_somebody_writes_stays() -> None:
    obj = job_set().build()
    templates(obj)[0]["schedulingGroup"] = {"podGroupName": "mine"}
    assert names(updated(obj).object) == ["mine", NAME]


@pytest.mark.parametrize(
    ("obj", "old"),
    [
        pytest.param(OLD, OLD, id="nothing was lost"),
        pytest.param(job_set().build(), job_set().build(), id="it was never attached"),
        pytest.param(job_set().at("metadata.deletionTimestamp", "2026-01-01T00:00:00Z").build(), OLD, id="it is going away"),
        pytest.param(job_set().at("spec", {}).build(), job_set().build(), id="it has no templates"),
        pytest.param(job().build(), grouped(job()).object, id="a Job, whose template the API server keeps"),
    ],
)
def test_nothing_is_written_where(obj: Object, old: Object) -> None:
    assert admitted(obj, POLICY, operation=UPDATE, old_object=old).trail.findings == ()


def test_the_status_is_no_affair_of_ours() -> None:
    assert admitted(job_set(), POLICY, operation=UPDATE, old_object=OLD, sub_resource="status").trail.findings == ()


def test_a_policy_that_is_gone_cannot_tell() -> None:
    assert admitted(job_set(), bound(sets(name="another")), operation=UPDATE, old_object=OLD).trail.findings == ()


def test_where_it_cannot_be_told_it_is_said() -> None:
    broken = sets(
        group(path=TEMPLATES, count="1", where=text("variables.a")),
        variables=named(a="object.spec.nope"),
    )
    found = answer(job_set(), bound(broken), operation=UPDATE, old_object=Built(OLD).build())
    assert only(found).verdict.value == "warn"
    assert "for where it belongs cannot be told" in found.trail.warnings[0]


def test_each_entry_goes_back_into_its_own_group() -> None:
    policy = bound(sets(group(path=TEMPLATES, count="items.size()", instances="PerItem")))
    old = grouped(job_set(), policy).object
    assert names(updated(job_set(), policy, old=old).object) == names(old)
    assert len(set(names(old))) == 2
