"""Where namespaces and params come from."""

from __future__ import annotations

import pytest

from tests.builders import namespace
from tests.rules.building import CONFIG_MAP, binding, config_map, policy, selector
from webhook.admission import ParamIndex, SnapshotWorld, bind_unbound
from webhook.admission.policyset import PolicySet
from webhook.model.objects import Object
from webhook.model.policies import Action, LabelSelector, ParamKind
from webhook.model.snapshot import snapshot_of
from webhook.rules import compile_policy

CUSTOM = ParamKind(api_version="example.com/v1", kind="Limits")


def custom(name: str, **meta: str) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "Limits", "metadata": {"name": name, **meta}}


def world(*live: Object, files: tuple[Object, ...] = (), offline: bool = False) -> SnapshotWorld:
    return SnapshotWorld(snapshot=snapshot_of(list(live)), files=ParamIndex.of(files), invents_namespaces=offline)


def test_a_namespace_nobody_described_exists_offline_only() -> None:
    assert world().namespace("team-a") is None
    assert world(namespace("team-a", env="prod")).namespace("team-a") == namespace("team-a", env="prod")
    invented = world(offline=True).namespace("team-a")
    assert invented is not None
    assert invented["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team-a"}


@pytest.mark.parametrize(
    ("name", "chosen", "found"),
    [("a", None, ["a"]), (None, None, ["a", "b", "c"]), (None, selector(t="1"), ["b"]), ("z", None, [])],
)
def test_params_come_by_name_or_selector_in_their_order(name: str | None, chosen: LabelSelector | None, found: list[str]) -> None:
    asked = world(config_map("c"), config_map("b", labels={"t": "1"}), config_map("x", namespace="x"), files=(config_map("a"),))
    params = asked.params(CONFIG_MAP, "team-a", name=name, selector=chosen)
    assert [obj["metadata"]["name"] for obj in params] == found


def test_a_file_wins_over_a_live_object() -> None:
    asked = world(config_map("a", most="1"), files=(config_map("a", most="2"),))
    assert [obj["data"] for obj in asked.params(CONFIG_MAP, "team-a", name="a", selector=None)] == [{"most": "2"}]


def test_live_params_carry_apiversion_and_kind_although_watches_leave_them_out() -> None:
    trimmed = snapshot_of([config_map("a")])
    del trimmed.buckets["", "ConfigMap"]["team-a"]["a"]["apiVersion"]
    (found,) = SnapshotWorld(snapshot=trimmed, files=ParamIndex()).params(CONFIG_MAP, "team-a", name="a", selector=None)
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")


@pytest.mark.parametrize(
    ("kind", "asked", "namespaced"),
    [
        (CONFIG_MAP, world(), True),
        (CUSTOM, world(), None),
        (CUSTOM, world(custom("a")), False),
        (CUSTOM, world(custom("a", namespace="x")), True),
        (CUSTOM, world(files=(custom("a"),)), False),
        (CUSTOM, world(files=(custom("a", namespace="x"),)), True),
    ],
    ids=["built in", "unknown", "live, of the cluster", "live, of a namespace", "filed, of the cluster", "filed, of a namespace"],
)
def test_objects_tell_whether_their_kind_has_namespaces(kind: ParamKind, asked: SnapshotWorld, namespaced: bool | None) -> None:
    assert asked.is_namespaced(kind) is namespaced


def test_a_policy_without_a_binding_gets_one_that_denies() -> None:
    bound = bind_unbound(
        PolicySet(
            validating=(
                (compile_policy(policy("true")), ()),
                (compile_policy(policy("params != null", param_kind=CONFIG_MAP)), ()),
                (compile_policy(policy("true")), (binding(name="own"),)),
            )
        )
    )
    assert [(b.name, b.actions, b.param_ref is not None) for _, bindings in bound.validating for b in bindings] == [
        ("(none)", (Action.DENY,), False), ("(none)", (Action.DENY,), True), ("own", (Action.DENY,), False),
    ]  # fmt: skip
