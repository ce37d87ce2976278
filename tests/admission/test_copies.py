"""Manifests that bring the record of another object along, and the second call for one request."""

from __future__ import annotations

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.admission.attaching import admitted, around, group_of, grouped, only
from tests.builders import Built, job, pod_group
from webhook.model.groups import (
    GROUPED_AS_ANNOTATION,
)
from webhook.model.objects import Object
from webhook.model.verdicts import Verdict


def copied(name: str = "train", **record: str) -> Built:
    first = grouped().object
    made = type(job())(first).at("metadata.name", name)
    for key, value in record.items():
        made = made.at(f"metadata.annotations.gangwarden~dev/{key.replace('_', '-')}", value)
    return made


def test_a_second_call_for_one_request_changes_nothing() -> None:
    found = admitted(copied(), surroundings=around())
    assert only(found).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("obj", "objects"),
    [
        pytest.param(copied("other"), (), id="under another name"),
        pytest.param(copied(grouped_as="run-"), (), id="of one that had a generated name"),
        pytest.param(copied(), (pod_group("train-0000000000", owner=job().stored().build()).build(),), id="under its own name"),
        pytest.param(copied(), (pod_group("train-0000000000").build(),), id="of one whose group lost its owner"),
    ],
)
def test_a_copy_gets_a_group_of_its_own(obj: Built, objects: tuple[Object, ...]) -> None:
    around_it = around(*objects)
    around_it.token()  # so that the new name differs from the copied one
    found = grouped(obj, surroundings=around_it)
    assert group_of(found.object).endswith("-0000000001")
    assert found.object["metadata"]["annotations"][GROUPED_AS_ANNOTATION] == obj.build()["metadata"]["name"]


def test_a_copy_into_another_namespace_keeps_its_name_there() -> None:
    others = pod_group("train-0000000000", namespace="team-b").build()
    assert only(admitted(copied(), surroundings=around(others))).verdict is Verdict.ALLOW


def test_a_copy_that_a_user_put_into_a_group_stays_there() -> None:
    own = copied("other").at("spec.template.spec.schedulingGroup", {"podGroupName": "mine"})
    assert "names a schedulingGroup" in only(admitted(own)).message


def test_a_copy_whose_group_was_taken_out_gets_one() -> None:
    bare = copied().build()
    del bare["spec"]["template"]["spec"]["schedulingGroup"]
    assert group_of(grouped(bare).object) == "train-0000000000"


NAMES = st.from_regex(r"[a-z]([a-z0-9.-]{0,60}[a-z0-9])?", fullmatch=True)


@given(
    name=NAMES,
    generated=st.booleans(),
    pods=st.integers(0, 1000),
    annotations=st.none() | st.dictionaries(st.sampled_from(["a", "example.com/b~c"]), st.text(max_size=5)),
)
def test_attaching_twice_is_attaching_once(name: str, generated: bool, pods: int, annotations: dict[str, str] | None) -> None:
    known = {"generateName": name} if generated else {"name": name}
    obj = job().parallelism(pods).at("metadata", {"namespace": "team-a", **known}).build()
    obj["metadata"] |= {} if annotations is None else {"annotations": annotations}
    first = grouped(obj)
    assert jsonpatch.apply_patch(obj, list(first.patch)) == first.object
    again = admitted(first.object)
    assert only(again).verdict is Verdict.ALLOW
