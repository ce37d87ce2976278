"""Which requests a policy speaks about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import job, namespace
from tests.rules.building import JOBS, FakeWorld, constraints, request, rule, selector
from webhook.model.objects import Kind, Object, Resource
from webhook.model.policies import MatchResources, Requirement
from webhook.model.requests import AdmissionRequest, Operation
from webhook.rules import RuleProblem, match

NODE: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
PROD = selector(env="prod")
OLD_PODS = Resource("example.com", "v1alpha1", "jobs")


@pytest.mark.parametrize(
    ("rules", "matches"),
    [
        pytest.param({"api_groups": ["batch"]}, True, id="its own group"),
        pytest.param({"api_groups": ["apps"]}, False, id="another group"),
        pytest.param({"api_versions": ["v1"]}, True, id="its own version"),
        pytest.param({"api_versions": ["v2"]}, False, id="another version"),
        pytest.param({"operations": ["UPDATE", "CREATE"]}, True, id="one of two operations"),
        pytest.param({"operations": ["DELETE"]}, False, id="another operation"),
        pytest.param({"resources": ["jobs"]}, True, id="its own resource"),
        pytest.param({"resources": ["*"]}, True, id="every resource"),
        pytest.param({"resources": ["jobs/status"]}, False, id="only a subresource"),
        pytest.param({"resources": ["jobs/*"]}, True, id="the resource with all its subresources"),
        pytest.param({"resources": ["*/status"]}, False, id="a subresource of everything"),
        pytest.param({"scope": "Namespaced"}, True, id="namespaced objects"),
        pytest.param({"scope": "Cluster"}, False, id="cluster-scoped objects"),
        pytest.param({"resource_names": ["train"]}, True, id="its own name"),
        pytest.param({"resource_names": ["other"]}, False, id="another name"),
    ],
)
def test_a_rule_for(rules: dict[str, Any], matches: bool) -> None:
    assert match(constraints(rule(**rules)), request(), FakeWorld()) == (JOBS if matches else None)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("jobs", False),
        ("jobs/status", True),
        ("*/status", True),
        ("jobs/*", True),
        ("*", False),
        ("*/*", True),
        ("jobs/scale", False),
    ],
)
def test_a_status_update_is_matched_by_resources(text: str, matches: bool) -> None:
    asked = request(sub_resource="status", operation=Operation.UPDATE)
    assert (match(constraints(rule(resources=[text])), asked, FakeWorld()) is not None) == matches


@pytest.mark.parametrize(
    ("excluded", "matches"),
    [
        pytest.param({}, False, id="everything"),
        pytest.param({"operations": ["DELETE"]}, True, id="another operation"),
        pytest.param({"resource_names": ["train"]}, False, id="this name"),
        pytest.param({"resource_names": ["other"]}, True, id="another name"),
    ],
)
def test_an_exclusion_of(excluded: dict[str, Any], matches: bool) -> None:
    found = match(constraints(exclude_resource_rules=(rule(**excluded),)), request(), FakeWorld())
    assert (found is not None) == matches


@pytest.mark.parametrize(
    ("operation", "old", "new", "matches"),
    [
        pytest.param("CREATE", None, {"env": "prod"}, True, id="created with the label"),
        pytest.param("CREATE", None, {}, False, id="created without it"),
        pytest.param("UPDATE", {"env": "prod"}, {}, True, id="losing it, for the old object counts as well"),
        pytest.param("UPDATE", {}, {"env": "prod"}, True, id="getting it"),
        pytest.param("UPDATE", {}, {}, False, id="never having it"),
        pytest.param("DELETE", {"env": "prod"}, None, True, id="deleted with it"),
    ],
)
def test_an_object_selector_on_an_object(
    operation: str, old: dict[str, str] | None, new: dict[str, str] | None, matches: bool
) -> None:
    def labelled(labels: dict[str, str] | None) -> Object | None:
        return None if labels is None else job().at("metadata.labels", labels).build()

    asked = request(labelled(new), old_object=labelled(old), operation=Operation(operation))
    assert (match(constraints(object_selector=PROD), asked, FakeWorld()) is not None) == matches


@pytest.mark.parametrize(
    ("asked", "matches"),
    [
        pytest.param(request(), True, id="an object in a labelled namespace"),
        pytest.param(request(job(namespace="team-b").build()), False, id="an object in another namespace"),
        pytest.param(request(NODE), True, id="a cluster-scoped object, which is never selected away"),
        pytest.param(request(namespace("new", env="prod"), namespace="new"), True, id="a Namespace being created with the label"),
        pytest.param(request(namespace("team-a"), namespace="team-a"), False, id="a Namespace being created without it"),
        pytest.param(
            request(None, old_object=namespace("team-a"), namespace="team-a"), True, id="a Namespace going, by its stored labels"
        ),
    ],
)
def test_a_namespace_selector_on(asked: AdmissionRequest, matches: bool) -> None:
    world = FakeWorld(namespaces=(namespace("team-a", env="prod"), namespace("team-b")))
    assert (match(constraints(namespace_selector=PROD), asked, world) is not None) == matches


def test_a_namespace_that_is_not_known_is_a_problem_of_those_that_match() -> None:
    nowhere, world = constraints(namespace_selector=PROD), FakeWorld(namespaces=())
    with pytest.raises(RuleProblem, match='namespaces "team-a" not found'):
        match(nowhere, request(), world)
    other = constraints(rule(resources=["pods"]), namespace_selector=PROD)
    assert match(other, request(), world) is None


def test_a_namespace_is_cluster_scoped_although_it_is_said_to_be_in_itself() -> None:
    asked = request(namespace("team-a"), namespace="team-a")
    assert match(constraints(rule(scope="Cluster")), asked, FakeWorld()) is not None
    assert match(constraints(rule(scope="Namespaced")), asked, FakeWorld()) is None


HPA = request(
    {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a", "namespace": "team-a"}}
)
CONVERTED = request(request_kind=Kind("batch", "v1beta1", "Job"), request_resource=Resource("batch", "v1beta1", "jobs"))
"""The client sent v1beta1; the API server converted it to the v1 that the webhook asks for."""


@pytest.mark.parametrize(
    ("asked", "version", "policy", "found"),
    [
        pytest.param(HPA, "v2", "Equivalent", Resource("autoscaling", "v2", "horizontalpodautoscalers"), id="its other version"),
        pytest.param(HPA, "v2", "Exact", None, id="its other version, exactly"),
        pytest.param(HPA, "v1", "Exact", Resource("autoscaling", "v1", "horizontalpodautoscalers"), id="the version asked for"),
        pytest.param(CONVERTED, "v1", "Equivalent", JOBS, id="the version it was converted to"),
        pytest.param(CONVERTED, "v1", "Exact", None, id="the version it was converted to, exactly"),
        pytest.param(CONVERTED, "v1beta1", "Exact", Resource("batch", "v1beta1", "jobs"), id="the version the client used"),
    ],
)
def test_a_rule_names(asked: AdmissionRequest, version: str, policy: str, found: Resource | None) -> None:
    wanted = MatchResources(resource_rules=(rule(api_versions=[version]),), match_policy=policy)
    assert match(wanted, asked, FakeWorld()) == found


@pytest.mark.parametrize(
    ("operator", "values", "labels", "matches"),
    [
        ("In", ("a", "b"), {"team": "a"}, True),
        ("In", ("a", "b"), {"team": "c"}, False),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {"team": "c"}, True),
        ("NotIn", ("a",), {"team": "a"}, False),
        ("NotIn", ("a",), {}, True),
        ("Exists", (), {"team": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {}, True),
        ("DoesNotExist", (), {"team": "a"}, False),
    ],
)
def test_a_requirement_on_a_label(operator: str, values: tuple[str, ...], labels: dict[str, str], matches: bool) -> None:
    chosen = selector(Requirement(key="team", operator=operator, values=values))
    asked = request(job().at("metadata.labels", labels).build())
    assert (match(constraints(object_selector=chosen), asked, FakeWorld()) is not None) == matches


def test_what_rules_said_of_one_request_is_said_only_of_requests_of_its_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(match.__globals__, "SORTS", 2)  # the module has the name of its function
    rules = constraints(rule(operations=("CREATE",)))
    for operation in (*Operation, *Operation):
        found = match(rules, request(job().build(), operation=operation), FakeWorld())
        assert (found is not None) == (operation is Operation.CREATE)
        assert len(rules.found) <= 2


def test_a_rule_about_named_objects_is_asked_anew_for_each() -> None:
    rules = constraints(rule(resource_names=("known",)))
    names = ("other", "known", "other", "known")
    found = [match(rules, request(job(name).build()), FakeWorld()) is not None for name in names]
    assert found == [False, True, False, True]
