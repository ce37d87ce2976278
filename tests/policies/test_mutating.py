"""MutatingAdmissionPolicies among policy files: what an author is told, and what becomes of the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.policies.writing import RULES, binding, mutating, mutating_binding, validating, yaml_of
from webhook.admission import PolicySet, bind_unbound
from webhook.errors import PolicySetError
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy, PatchType
from webhook.policies import load_policies

Load = Callable[..., PolicySet]
OBJECT = {"expression": "Object{}"}
PATCH = {"expression": "[JSONPatch{op: 'remove', path: '/a'}]"}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.chdir(tmp_path)

    def write(*documents: Object) -> PolicySet:
        Path("p.yaml").write_text(yaml_of(*documents))
        return load_policies(["p.yaml"])

    return write


def complaints(load: Load, *documents: Object) -> list[tuple[int, str, str]]:
    with pytest.raises(PolicySetError) as raised:
        load(*documents)
    return [(error.line, error.field, str(error.args[0])) for error in raised.value.errors]


def test_a_policy_is_read_with_the_defaults_of_the_api_server(load: Load) -> None:
    ((policy, bindings),) = load(mutating("labels", "Object{}", PATCH["expression"]), mutating_binding()).mutating
    assert (policy.name, policy.source.head.failure_policy, policy.source.reinvoked) == ("labels", FailurePolicy.FAIL, False)
    assert [one.patch_type for one in policy.source.mutations] == [PatchType.APPLY_CONFIGURATION, PatchType.JSON_PATCH]
    assert [(one.name, one.policy_kind, one.actions) for one in bindings] == [("everywhere", "MutatingAdmissionPolicy", ())]


def test_if_needed_is_read(load: Load) -> None:
    assert load(mutating(reinvocationPolicy="IfNeeded"), mutating_binding()).mutating[0][0].source.reinvoked


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        pytest.param({"mutations": []}, "spec.mutations", "required: at least one item", id="no mutation"),
        pytest.param({"reinvocationPolicy": None}, "spec.reinvocationPolicy", "required", id="no reinvocationPolicy"),
        pytest.param(
            {"reinvocationPolicy": "Always"},
            "spec.reinvocationPolicy",
            '"Always" is not supported: use Never or IfNeeded',
            id="a reinvocationPolicy that is none",
        ),
        pytest.param(
            {"mutations": [{"applyConfiguration": OBJECT}]}, "spec.mutations[0].patchType", "required", id="no patchType"
        ),
        pytest.param(
            {"mutations": [{"patchType": "Merge"}]},
            "spec.mutations[0].patchType",
            '"Merge" is not supported: use ApplyConfiguration or JSONPatch',
            id="a patchType that is none",
        ),
        pytest.param(
            {"mutations": [{"patchType": "JSONPatch"}]},
            "spec.mutations[0].jsonPatch",
            "required with patchType JSONPatch",
            id="no jsonPatch",
        ),
        pytest.param(
            {"mutations": [{"patchType": "JSONPatch", "jsonPatch": PATCH, "applyConfiguration": OBJECT}]},
            "spec.mutations[0].applyConfiguration",
            "not allowed with patchType JSONPatch",
            id="both",
        ),
        pytest.param(
            {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": " "}}]},
            "spec.mutations[0].jsonPatch.expression",
            "required",
            id="a blank expression",
        ),
        pytest.param(
            {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {**PATCH, "path": "/a"}}]},
            "spec.mutations[0].jsonPatch.path",
            "unknown field",
            id="an unknown field",
        ),
        pytest.param(
            {"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": PATCH}]},
            "spec.mutations[0].applyConfiguration.expression",
            "must evaluate to Object, not to list(JSONPatch)",
            id="a patch for an object",
        ),
        pytest.param(
            {"mutations": [{"patchType": "JSONPatch", "jsonPatch": OBJECT}]},
            "spec.mutations[0].jsonPatch.expression",
            "must evaluate to list(JSONPatch), not to Object",
            id="an object for a patch",
        ),
        pytest.param(
            {"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "object"}}]},
            "spec.mutations[0].applyConfiguration.expression",
            "must evaluate to Object, not to dyn",
            id="any object",
        ),
        pytest.param(
            {"variables": [{"name": "o", "expression": "Object{}"}]},
            "spec.variables[0].expression",
            "undeclared reference to 'Object' (in container '')",
            id="an Object outside of a mutation",
        ),
        pytest.param(
            {"matchConstraints": {"resourceRules": [{**RULES[0], "operations": ["DELETE"]}]}},
            "spec.matchConstraints.resourceRules[0].operations[0]",
            '"DELETE" is not supported: a mutating policy takes CREATE, UPDATE, CONNECT or "*"',
            id="DELETE",
        ),
        pytest.param({"validations": []}, "spec.validations", 'unknown field; did you mean "mutations"?', id="validations"),
    ],
)
def test_a_policy_is_refused_for(load: Load, spec: Object, field: str, message: str) -> None:
    (found,) = complaints(load, mutating(**spec), mutating_binding())
    assert found[:2] == (2, field)
    assert message.removesuffix(" (in container '')") in found[2]


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"policyName": ""}, "spec.policyName", "required"),
        ({"validationActions": ["Deny"]}, "spec.validationActions", "unknown field"),
        ({"paramRef": {"name": "a"}}, "spec.paramRef.parameterNotFoundAction", "required"),
        (
            {"matchResources": {"resourceRules": [{**RULES[0], "operations": ["CREATE", "DELETE"]}]}},
            "spec.matchResources.resourceRules[0].operations[1]",
            '"DELETE" is not supported: a mutating policy takes CREATE, UPDATE, CONNECT or "*"',
        ),
    ],
)
def test_a_binding_is_refused_for(load: Load, spec: Object, field: str, message: str) -> None:
    assert complaints(load, mutating(), mutating_binding(**spec)) == [(4, field, message)]


def test_every_mistake_is_told_at_once(load: Load) -> None:
    found = complaints(load, mutating("labels", "Object{a: nope}", "[JSONPatch{op: 1}]"), mutating("b", "true"))
    assert [line for line, _, _ in found] == [2, 2, 4]


@pytest.mark.parametrize(
    ("documents", "warning"),
    [
        ([mutating()], "p.yaml:2: MutatingAdmissionPolicy 'labels' has no binding: in a cluster it does nothing"),
        (
            [mutating(), mutating_binding(), mutating_binding("b", "labls")],
            "p.yaml:6: binding 'b' names MutatingAdmissionPolicy 'labls', which is not among the files; did you mean \"labels\"?",
        ),
    ],
)
def test_what_has_no_effect_is_a_warning(load: Load, documents: list[Object], warning: str) -> None:
    assert load(*documents).warnings == (warning,)


def test_kinds_do_not_share_names(load: Load) -> None:
    found = load(mutating("x"), validating("x"), binding("b", "x"), mutating_binding("b", "x"))
    assert [[one.policy_kind for one in bindings] for _, bindings in (*found.validating, *found.mutating)] == [
        ["ValidatingAdmissionPolicy"],
        ["MutatingAdmissionPolicy"],
    ]
    assert 'MutatingAdmissionPolicy "x" is there twice' in complaints(load, mutating("x"), mutating("x"))[0][2]


def test_an_unbound_policy_is_bound_on_request(load: Load) -> None:
    ((_, bindings),) = bind_unbound(load(mutating())).mutating
    assert [one.name for one in bindings] == ["(none)"]


@pytest.mark.parametrize(
    ("text", "spec", "needs"),
    [
        ("Object{}", {}, set()),
        ("Object{metadata: Object.metadata{labels: namespaceObject.metadata.labels}}", {}, {("", "Namespace")}),
        ("Object{}", {"variables": [{"name": "g", "expression": "cluster.group('a')"}]}, {("scheduling.k8s.io", "PodGroup")}),
    ],
    ids=["nothing", "its namespace", "groups"],
)
def test_a_set_says_what_must_be_watched(load: Load, text: str, spec: dict[str, Any], needs: set[tuple[str, str]]) -> None:
    assert load(mutating("labels", text, **spec), mutating_binding()).needs == needs


def test_live_params_must_be_watched(load: Load) -> None:
    kind = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    bound = mutating_binding(paramRef={"name": "a", "parameterNotFoundAction": "Allow"})
    assert load(mutating(**kind), bound).needs == {("", "ConfigMap")}
