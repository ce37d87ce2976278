"""Where a pod may run."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.preemption.placement import Place, Placement, unmodelled

GPU_ONLY = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
PLACE = Place(name="n1", labels={"zone": "a", "cores": "64"})


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}}


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "pod_spec",
    [
        {},
        {"nodeName": "n1"},
        {"nodeSelector": {"zone": "a"}},
        affinity(term("zone", "In", "a", "b")),
        affinity(term("zone", "In", "b"), term("zone", "NotIn", "b")),
        affinity(term("rack", "NotIn", "r1")),
        affinity(term("zone", "Exists")),
        affinity(term("rack", "DoesNotExist")),
        affinity(term("cores", "Gt", "63")),
        affinity(term("cores", "Lt", "65")),
        affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}),
    ],
    ids=repr,
)
def test_a_pod_may_run_here(pod_spec: dict[str, Any]) -> None:
    assert Placement.of(pod_spec).obstacle(PLACE) == ""


@pytest.mark.parametrize(
    ("pod_spec", "obstacle"),
    [
        ({"nodeName": "n2"}, "of another name"),
        ({"nodeSelector": {"zone": "b"}}, "outside the nodeSelector"),
        ({"nodeSelector": {"rack": "r1"}}, "outside the nodeSelector"),
        (affinity(term("zone", "In", "b")), "outside the required nodeAffinity"),
        (affinity(term("zone", "NotIn", "a")), "outside the required nodeAffinity"),
        (affinity(term("rack", "Exists")), "outside the required nodeAffinity"),
        (affinity(term("zone", "DoesNotExist")), "outside the required nodeAffinity"),
        (affinity(term("cores", "Gt", "64")), "outside the required nodeAffinity"),
        (affinity(term("zone", "Gt", "1")), "outside the required nodeAffinity"),
        (affinity(term("zone", "Like", "a")), "outside the required nodeAffinity"),
        (affinity({}), "outside the required nodeAffinity"),
        (affinity({"matchExpressions": [{"key": "zone", "operator": "In", "values": 5}]}), "outside the required nodeAffinity"),
        (
            affinity({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": [[]]}]}),
            "outside the required nodeAffinity",
        ),
        (affinity(), "outside the required nodeAffinity"),
    ],
    ids=repr,
)
def test_a_pod_may_not_run_here(pod_spec: dict[str, Any], obstacle: str) -> None:
    assert Placement.of(pod_spec).obstacle(PLACE) == obstacle


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Equal", "value": "yes"}, False),
    ],
    ids=repr,
)
def test_a_taint_keeps_off_whom_it_is_not_tolerated_by(toleration: dict[str, str], tolerated: bool) -> None:
    tainted = Place(name="n1", labels={}, taints=(GPU_ONLY,))
    assert Placement.of({"tolerations": [toleration]}).obstacle(tainted) == (
        "" if tolerated else "with a taint that is not tolerated"
    )


def test_a_taint_that_only_prefers_keeps_nobody_off() -> None:
    assert Placement.of({}).obstacle(Place(name="n1", labels={}, taints=({**GPU_ONLY, "effect": "PreferNoSchedule"},))) == ""


def test_a_cordoned_node_is_for_those_who_tolerate_it() -> None:
    cordoned = Place(name="n1", labels={}, unschedulable=True)
    assert Placement.of({}).obstacle(cordoned) == "cordoned"
    assert (
        Placement.of({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}).obstacle(cordoned)
        == ""
    )


def test_what_is_not_looked_at_is_named() -> None:
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    assert unmodelled(
        {
            "affinity": {"podAntiAffinity": apart, "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            "containers": [{"name": "a", "ports": [{"hostPort": 80}]}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            "resourceClaims": [{"name": "gpu"}],
        }
    ) == ("podAntiAffinity", "resourceClaims", "hostPorts", "persistentVolumeClaims")
