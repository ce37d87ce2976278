"""What expressions see of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import pod_group
from webhook.cel import Declarations, EvaluationError, compile_expression
from webhook.model.groups import Capabilities
from webhook.model.objects import Object
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot, snapshot_of
from webhook.rules.cluster import CLUSTER_METHODS, NEEDED_KINDS, ClusterView

DECLARED = Declarations(variables=frozenset({"object"}), hosts={"cluster": CLUSTER_METHODS})


class Room:
    """A room of one rack."""

    def domains(self, key: str) -> list[Object]:
        return [{"name": f"{key}-1", "nodes": 2}]

    def fit(self, pod_spec: Object, count: int, key: str) -> Object:
        return {"fits": count <= 4, "domain": key, "asked": pod_spec}


def named(api_version: str, kind: str, name: str, namespace: str = "") -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "value": 7}


KNOWN = snapshot_of(
    [
        pod_group("train").build(),
        named("scheduling.k8s.io/v1", "PriorityClass", "high"),
        named("resource.k8s.io/v1", "ResourceClaim", "gpus", "team-a"),
        named("resource.k8s.io/v1", "ResourceClaim", "theirs", "team-b"),
        named("resource.k8s.io/v1", "ResourceClaimTemplate", "each", "team-a"),
        named("resource.k8s.io/v1", "DeviceClass", "gpu"),
        named("v1", "ResourceQuota", "small", "team-a"),
        named("v1", "ResourceQuota", "large", "team-a"),
        named("v1", "ResourceQuota", "theirs", "team-b"),
        named("v1", "Node", "n0"),
        named("v1", "Pod", "p0", "team-a"),
    ]
)


def value(expression: str, snapshot: Snapshot = KNOWN, **parts: Any) -> Any:
    default: dict[str, Any] = {"room": Room(), "capabilities": Capabilities(group_objects=True), "age_seconds": lambda: 1.5}
    view = ClusterView(snapshot, "team-a", **(default | parts))
    return compile_expression(expression, DECLARED).evaluate({"cluster": view, "object": {"spec": {"a": 1}}})


@pytest.mark.parametrize(
    "expression",
    [
        "cluster.group('train').hasValue()",
        "cluster.priorityClass('high').?value.orValue(0) == 7",
        "!cluster.priorityClass('low').hasValue()",
        "cluster.resourceClaim('gpus').hasValue()",
        "!cluster.resourceClaim('theirs').hasValue()",
        "cluster.resourceClaimTemplate('each').hasValue()",
        "cluster.deviceClass('gpu').hasValue()",
        "cluster.quotas().map(quota, quota.metadata.name) == ['large', 'small']",
        "cluster.topology('rack').map(domain, domain.name) == ['rack-1']",
        "cluster.fit(object.spec, 4).fits",
        "cluster.fit(object.spec, 4).domain == ''",
        "!cluster.fit(object.spec, 5, 'rack').fits",
        "cluster.fit({'b': 1}, 1, 'rack').domain == 'rack'",
        "cluster.capability('GenericWorkload') && !cluster.capability('WorkloadWithJob')",
        "cluster.ageSeconds() < 2.0",
        "cluster.controllers(object) == []",
        "cluster.controllers({'metadata': {'ownerReferences': [{'uid': dyn('a'), 'controller': dyn(true)}]}}) == ['a']",
    ],
)
def test_it_holds_that(expression: str) -> None:
    assert value(expression) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("cluster.group(1)", "no such overload: cluster.group"),
        ("cluster.fit(1, 1)", "no such overload: cluster.fit"),
        ("cluster.fit(object.spec, true)", "no such overload: cluster.fit"),
        ("cluster.fit(object.spec, 1.0)", "no such overload: cluster.fit"),
        ("cluster.fit(object.spec, 1, 1)", "no such overload: cluster.fit"),
        ("cluster.fit(object.spec, -1)", "cluster.fit: -1 pods; the count must be between 0 and 100000"),
        ("cluster.controllers('x')", "no such overload: cluster.controllers"),
        ("cluster.topology(null)", "no such overload: cluster.topology"),
        ("cluster.capability('Magic')", "cluster.capability: unknown capability Magic; known are GenericWorkload"),
    ],
)
def test_a_wrong_question_is_an_error(expression: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message.replace("(", r"\(")):
        value(expression)


@pytest.mark.parametrize("method", sorted(NEEDED_KINDS))
def test_what_the_snapshot_does_not_hold_is_undecided_and_not_absent(method: str) -> None:
    arguments = {"fit": "object.spec, 1", "quotas": ""}.get(method, "'x'")
    with pytest.raises(EvaluationError, match=f"cluster.{method}: .* are not in the snapshot") as told:
        value(f"cluster.{method}({arguments})", EMPTY_SNAPSHOT)
    assert told.value.kind == "undecided"


@pytest.mark.parametrize("expression", ["cluster.fit(object.spec, 1)", "cluster.capability('GenericWorkload')"])
def test_what_nobody_told_is_undecided(expression: str) -> None:
    with pytest.raises(EvaluationError) as told:
        value(expression, room=None, capabilities=None)
    assert told.value.kind == "undecided"
