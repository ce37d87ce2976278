"""Room that follows the cluster is the room of the cluster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.preemption.nodes import node, running
from webhook.model.objects import Object, ObjectKey
from webhook.model.snapshot import snapshot_of
from webhook.preemption import Capacity, NodeRoomView

RACKS = ("", "r0", "r1")
changes = st.lists(
    st.one_of(
        st.builds(node, st.sampled_from(["n0", "n1", "n2"]), st.sampled_from(RACKS), cpu=st.integers(1, 4)),
        st.builds(
            running,
            st.sampled_from(["p0", "p1", "p2"]),
            st.sampled_from(["n0", "n1", "n2", ""]),
            phase=st.sampled_from(["Running", "Succeeded"]),
            cpu=st.integers(0, 3),
        ),
        st.tuples(st.sampled_from(["Node", "Pod"]), st.sampled_from(["n0", "n1", "p0", "p1"])),
    ),
    max_size=20,
)


@given(changes, st.integers(0, 20))
def test_following_changes_leads_to_what_counting_afresh_finds(
    given_changes: list[Object | tuple[str, str]], asked_at: int
) -> None:
    """Whenever domains are first asked for: their sums are kept from then on."""
    live, objects = Capacity(), dict[ObjectKey, Object]()
    for index, change in enumerate(given_changes):
        if index == asked_at:
            described(live)
        gone = isinstance(change, tuple)
        key = ObjectKey("", change[0], "team-a" if change[0] == "Pod" else "", change[1]) if gone else ObjectKey.of(change)
        old = objects.pop(key, None)
        if not gone:
            objects[key] = change
        live.change(key, old, objects.get(key))
    assert described(live) == described(Capacity.of(snapshot_of(list(objects.values()))))


def described(capacity: Capacity) -> list[list[Object]]:
    view = NodeRoomView(lambda: capacity)
    return [[_without_zeros(domain) for domain in view.domains(key)] for key in ("rack", "")]


def _without_zeros(domain: Object) -> Object:
    return domain | {"free": {name: amount for name, amount in domain["free"].items() if amount != "0"}}


def test_other_kinds_change_nothing() -> None:
    capacity = Capacity()
    capacity.change(ObjectKey("", "Secret", "team-a", "n0"), None, node("n0"))
    assert capacity.domains("") == {}


def test_a_pod_of_a_node_that_comes_later_is_counted() -> None:
    room = Capacity.of(snapshot_of([running("p", "late", cpu=3)]))
    room.change(ObjectKey("", "Node", "", "late"), None, node("late", cpu=8))
    assert NodeRoomView(lambda: room).domains("")[0]["free"]["cpu"] == "5"
