"""What the API server's decoder would say of a manifest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import job, pod
from webhook.admission import has_regular_fields, unknown_fields, wrong_types

CONTAINER = {"name": "main", "image": "x"}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("spec.paralelism", 4, "unknown field spec.paralelism is dropped by the API server; did you mean parallelism?"),
        ("spec.qqqq", None, "unknown field spec.qqqq is dropped by the API server"),
        ("metadata.label", {}, "unknown field metadata.label is dropped by the API server; did you mean labels?"),
        (
            "spec.template.spec.containers",
            [CONTAINER, CONTAINER | {"imge": "x"}],
            "unknown field spec.template.spec.containers[1].imge is dropped by the API server; did you mean image?",
        ),
        ("qqqq", {}, "unknown field qqqq is dropped by the API server"),
    ],
)
def test_an_unknown_field_is_told_with_the_one_that_was_meant(path: str, value: Any, told: str) -> None:
    assert [str(unknown) for unknown in unknown_fields(job().at(path, value).build())] == [told]


def test_keys_that_users_choose_are_no_fields() -> None:
    labelled = job().label("any.thing/goes", "x").at("spec.template.spec.nodeSelector", {"a": "b"}).at("status.odd", 1)
    assert unknown_fields(labelled.build()) == ()


def test_fields_of_kinds_that_we_do_not_know_are_left_alone() -> None:
    assert unknown_fields({"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"a": 1}, "sepc": 1}) == ()


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("metadata.annotations", {"a.b/min": 4}, "metadata.annotations[a.b/min] must be text, not the number 4"),
        ("metadata.labels", {"a.b/gang": True}, "metadata.labels[a.b/gang] must be text, not true"),
        ("metadata.labels", ["a"], "metadata.labels must be a mapping, not a list"),
        ("metadata.ownerReferences", {"kind": "Job"}, "metadata.ownerReferences must be a list, not a mapping"),
        ("metadata.ownerReferences", [{"kind": []}], "metadata.ownerReferences[0].kind must be text, not a list"),
        ("metadata.ownerReferences", ["x"], "metadata.ownerReferences[0] must be a mapping, not text"),
        ("metadata", [], "metadata must be a mapping, not a list"),
        ("spec.template", "x", "spec.template must be a mapping, not text"),
        ("spec.template.spec.hostNetwork", "yes", "spec.template.spec.hostNetwork must be true or false, not text"),
        ("spec.parallelism", 4.5, "spec.parallelism must be a whole number of at most 64 bits, not the number 4.5"),
        ("spec.parallelism", 2**63, f"spec.parallelism must be a whole number of at most 64 bits, not the number {2**63}"),
        ("spec.parallelism", True, "spec.parallelism must be a whole number of at most 64 bits, not true"),
        ("spec.parallelism", float("nan"), "spec.parallelism must be a whole number of at most 64 bits, not the number nan"),
        ("spec.backoffLimit", "x", "spec.backoffLimit must be a whole number of at most 64 bits, not text"),
        ("spec.suspend", "yes", "spec.suspend must be true or false, not text"),
        ("spec.completionMode", 1, "spec.completionMode must be text, not the number 1"),
        (
            "spec.podFailurePolicy",
            {"rules": [{"onExitCodes": {"values": [1, 1.5]}}]},
            "spec.podFailurePolicy.rules[0].onExitCodes.values[1] must be a whole number of at most 64 bits, not the number 1.5",
        ),
        ("spec.template.spec.nodeSelector", {"a": 1.5}, "spec.template.spec.nodeSelector[a] must be text, not the number 1.5"),
        (
            "spec.template.spec.containers",
            [CONTAINER | {"env": [{"name": "PORT", "value": 8080}]}],
            "spec.template.spec.containers[0].env[0].value must be text, not the number 8080",
        ),
        (
            "spec.template.spec.containers",
            [CONTAINER | {"resources": {"limits": {"cpu": True}}}],
            "spec.template.spec.containers[0].resources.limits[cpu] must be a quantity, not true",
        ),
    ],
)  # fmt: skip
def test_a_value_of_another_type_than_its_field_is_told(path: str, value: Any, told: str) -> None:
    assert list(wrong_types(job().at(path, value).build())) == [told]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.annotations", None),
        ("metadata.labels", {"a": None}),
        ("spec.template.spec.containers", [CONTAINER | {"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]),
        ("spec.template.spec.containers", [CONTAINER | {"livenessProbe": {"httpGet": {"port": "http"}}}]),
        ("spec.template.spec.volumes", None),
        ("spec.parallelism", None),
        ("spec.parallelism", 4.0),
        ("spec.activeDeadlineSeconds", 2**63 - 1),
        ("spec.template.spec.securityContext", {"supplementalGroups": [1, None, 2.0], "runAsUser": -(2**63)}),
    ],
)
def test_null_is_as_good_as_absent_and_either_form_will_do(path: str, value: Any) -> None:
    assert list(wrong_types(job().at(path, value).build())) == []


def test_of_any_kind_the_metadata_is_looked_at() -> None:
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": 7}, "spec": [7]}
    assert list(wrong_types(thing)) == ["metadata.name must be text, not the number 7"]


def test_what_the_api_server_itself_writes_has_neither() -> None:
    written = pod().stored().at("metadata.managedFields", [{"manager": "x", "fieldsV1": {"f:spec": {}}}]).build()
    assert (unknown_fields(written), list(wrong_types(written))) == ((), [])


@pytest.mark.parametrize(
    ("path", "value", "regular"),
    [
        ("spec.template.spec.hostNetwork", True, True),
        ("spec.template.spec.hostNetwork", None, True),
        ("spec.template.spec.hostNetwork", 1, False),
        ("spec.sepc", 3, False),
        ("metadata.labels", {"a": 1}, False),
        ("metadata.labels", {"a": None}, True),
        ("metadata.labels", [], False),
        ("spec.template.spec.volumes", [{"name": 1}], False),
        ("spec.template.spec.volumes", [{"name": "data"}, None], True),
        ("spec.template.spec.volumes", {}, False),
        ("spec.parallelism", 4, True),
        ("spec.parallelism", 4.5, False),
        ("spec.parallelism", 2**63, False),
        ("spec.template.spec.securityContext.supplementalGroups", [1, None], True),
        ("spec.template.spec.securityContext.supplementalGroups", [2**63], False),
    ],
)
def test_the_quick_look_agrees_with_what_would_be_said(path: str, value: Any, regular: bool) -> None:
    looked_at = job().at(path, value).build()
    assert has_regular_fields(looked_at) is regular
    assert (not unknown_fields(looked_at) and not list(wrong_types(looked_at))) is regular


def test_of_a_kind_that_we_do_not_know_the_quick_look_says_nothing() -> None:
    assert not has_regular_fields({"apiVersion": "example.com/v1", "kind": "Thing"})


def test_the_types_of_a_group_are_known_too() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "spec": {"schedulingPolicy": {"gang": {"minCount": "4"}}},
    }
    told = "spec.schedulingPolicy.gang.minCount must be a whole number of at most 64 bits, not text"
    assert list(wrong_types(group)) == [told]
