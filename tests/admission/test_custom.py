"""Custom objects as the API server judges them; the same CRD is put to a real one in tests/e2e/test_custom_kinds.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.custom import CRD, OBJECTS, custom
from webhook.admission import CustomKinds, DefaultsFiller
from webhook.errors import InputError
from webhook.model.objects import Object


def with_schema(schema: Any) -> Object:
    return {**CRD, "spec": {**CRD["spec"], "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}


KINDS = CustomKinds.of([("crd.yaml#0", CRD)])


@pytest.mark.parametrize("given, wanted", OBJECTS.values(), ids=OBJECTS)
def test_an_object_is_completed(given: Any, wanted: Any) -> None:
    assert KINDS.complete(custom(given)) == custom(wanted)


@pytest.mark.parametrize("given, wanted", OBJECTS.values(), ids=OBJECTS)
def test_what_is_complete_stays_as_it_is(given: Any, wanted: Any) -> None:
    assert KINDS.complete(custom(wanted)) == custom(wanted)


def test_neither_the_object_nor_the_schema_is_changed() -> None:
    before = repr((CRD, given := custom({"pool": {}, "junk": 1})))
    completed = KINDS.complete(given)
    completed["spec"]["pool"]["labels"]["x"] = "y"
    assert repr((CRD, given)) == before


def test_fields_that_will_be_gone_are_told() -> None:
    given = custom({"junk": 1, "pool": {"sice": 2}, "steps": [{"name": "a"}, {"nmae": "b"}], "free": {"any": 1}, "mode": None})
    assert list(KINDS.dropped(given)) == ["spec.junk", "spec.pool.sice", "spec.steps[1].nmae"]


def test_an_object_of_another_kind_is_left_alone() -> None:
    other = {**custom({"junk": 1}), "apiVersion": "example.com/v2"}
    assert KINDS.complete(other) is other
    assert list(KINDS.dropped(other)) == []


def test_defaults_come_between_mutations_too() -> None:
    filler = DefaultsFiller(KINDS)
    before = filler.fill(custom({}))
    after = {**before, "spec": {**before["spec"], "steps": [{"name": "a"}], "junk": 1}}
    assert filler(before, after)["spec"]["steps"] == [{"name": "a", "retries": 3}]
    assert "junk" not in filler(before, after)["spec"]


@pytest.mark.parametrize(
    "crd, message",
    [
        ({**CRD, "apiVersion": "apiextensions.k8s.io/v1beta1"}, "Kubernetes 1.37 does not know; write v1"),
        ({**CRD, "spec": {}}, "must have spec.group"),
        ({**CRD, "spec": None}, "must have spec.group"),
        (with_schema("x"), "must have"),
        ({**CRD, "spec": {**CRD["spec"], "versions": [{"name": ["v1"], "schema": {"openAPIV3Schema": {}}}]}}, "must have"),
        (with_schema({"type": "object", "properties": "x"}), "must have"),
        (with_schema({"type": "object", "properties": {"spec": {"items": ["x"]}}}), "must have"),
        (with_schema({"type": "object", "additionalProperties": {"properties": []}}), "must have"),
    ],
)
def test_a_broken_crd_is_refused_with_its_place(crd: Object, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        CustomKinds.of([("crd.yaml#1", crd)])
    assert str(raised.value).startswith("crd.yaml#1: ")


def test_the_same_crd_may_come_twice_but_not_in_other_words() -> None:
    assert CustomKinds.of([("a", CRD), ("b", CRD)]) == KINDS
    with pytest.raises(InputError, match=r"a second CustomResourceDefinition of .* Pool, with another schema"):
        CustomKinds.of([("a", CRD), ("b", with_schema({"type": "object"}))])


def test_of_two_sets_the_second_counts() -> None:
    found = (KINDS | CustomKinds.of([("b", with_schema({"type": "object"}))])).complete(custom({"mode": "pack"}))
    assert "spec" not in found
