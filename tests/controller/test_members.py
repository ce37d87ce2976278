"""The index of members says what the scheduler counts, through every change of a pod."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import job, pod
from webhook.controller.members import MemberIndex
from webhook.groups import members_of
from webhook.model.objects import Object, ObjectKey
from webhook.model.snapshot import snapshot_of

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["p0", "p1", "p2"]), st.sampled_from(["team-a", "team-b"]),
        st.sampled_from(["", "g", "h"]), st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "gone"]),
    )
)  # fmt: skip


def names(objects: list[Object]) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in objects)


@given(STEPS)
def test_after_any_changes_it_finds_what_a_search_of_all_pods_finds(steps: list[tuple[str, str, str, str]]) -> None:
    index, now = MemberIndex(), {}
    for name, space, group, phase in steps:
        made = pod(name, namespace=space, group=group, phase=phase).build()
        key = ObjectKey.of(made)
        old, new = now.get(key), None if phase == "gone" else made
        index.on_change(key, old, new)
        now = {**now, key: new} if new else {place: obj for place, obj in now.items() if place != key}
    snapshot = snapshot_of(list(now.values()))
    for space in ("team-a", "team-b"):
        for group in ("g", "h"):
            assert names(list(index.members(space, group, snapshot))) == names(list(members_of(group, space, snapshot)))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p0", "p1", "p2"]), st.sampled_from(["", "g", "h"]), st.sampled_from(["", "n0", "n1", "gone"])
        )
    )
)  # fmt: skip
def test_after_any_changes_it_knows_which_groups_are_on_a_node(steps: list[tuple[str, str, str]]) -> None:
    index = MemberIndex()
    now: dict[str, Object] = {}
    for name, group, node in steps:
        new = None if node == "gone" else pod(name, group=group).at("spec.nodeName", node).build()
        index.on_change(ObjectKey("", "Pod", "team-a", name), now.get(name), new)
        now = {**now, name: new} if new else {key: value for key, value in now.items() if key != name}
    for node in ("n0", "n1"):
        there = [one["spec"] for one in now.values() if one["spec"].get("nodeName") == node and "schedulingGroup" in one["spec"]]
        wanted = {spec["schedulingGroup"]["podGroupName"] for spec in there}
        assert {key.name for key in index.on_node(node)} == wanted


def test_only_pods_count() -> None:
    index, named = MemberIndex(), job().at("spec.schedulingGroup", {"podGroupName": "g"}).build()
    index.on_change(ObjectKey.of(named), None, named)
    assert list(index.members("team-a", "g", snapshot_of([named]))) == []


def test_nothing_is_kept_of_groups_that_have_no_pods_left() -> None:
    index, made = MemberIndex(), pod(group="g").build()
    index.on_change(ObjectKey.of(made), None, made)
    index.on_change(ObjectKey.of(made), made, None)
    assert not index._names
