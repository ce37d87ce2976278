"""The types of built-in kinds, as the controller that checks policies has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.controlplane import build
from webhook.cel import Declarations, inspect_expression
from webhook.model.objects import Kind
from webhook.rules import _field_types_table
from webhook.rules.field_types import object_type

DEPLOYMENT = Kind("apps", "v1", "Deployment")


def complaints(expression: str, kind: Kind = DEPLOYMENT, *, exact: bool = True) -> list[str]:
    declared = object_type(kind, exact=exact)
    assert declared
    return [error.message for error in inspect_expression(expression, Declarations(types={"object": declared})).errors]


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1 && object.spec.template.spec.containers.all(c, c.image.startsWith('registry/'))",
        "object.spec.strategy.rollingUpdate.maxSurge == '10%'",
        "object.metadata.creationTimestamp > timestamp('2026-01-01T00:00:00Z')",
        "object.metadata.labels.team == 'a' && object.metadata.__namespace__ == object.metadata.namespace",
        "object == null || object.status.conditions.exists(c, c.type == 'Available')",
    ],
)
def test_fields_of_a_kind_have_their_types(expression: str) -> None:
    assert complaints(expression) == []


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("object.spec.replicaz > 1", "undefined field 'replicaz'; did you mean 'replicas'?"),
        ("object.spec.replicas == 'three'", "found no matching overload for '_==_' applied to '(int, string)'"),
        (
            "object.spec.selector == object.spec.template",
            "found no matching overload for '_==_' applied to '(Deployment.spec.selector, Deployment.spec.template)'",
        ),
    ],
)
def test_mistakes_are_found(expression: str, complaint: str) -> None:
    assert complaints(expression) == [complaint]


def test_every_mistake_of_an_expression_is_found() -> None:
    found = complaints("object.spec.a == 1 || object.spec.template.spec.containers.exists(c, c.b == 1)")
    assert found == ["undefined field 'a'", "undefined field 'b'"]


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("has(object.spec.overhead)", "undefined field 'overhead'"),
        (
            "object.metadata.creationTimestamp.startsWith('2026')",
            "found no matching overload for 'startsWith' applied to 'timestamp.(string)'",
        ),
    ],
)
def test_a_quirk_of_the_checker_is_kept_and_told_from_a_mistake(expression: str, complaint: str) -> None:
    assert complaints(expression, Kind("", "v1", "Pod")) == [complaint]
    assert complaints(expression, Kind("", "v1", "Pod"), exact=False) == []


def test_other_kinds_have_no_types() -> None:
    assert object_type(Kind("example.org", "v1", "Car")) is None
    assert object_type(Kind("batch", "v2", "Job")) is None


@pytest.mark.e2e
@pytest.mark.timeout(1800)
def test_the_table_is_the_one_that_the_api_server_s_own_code_gives() -> None:
    program = build.ensure(["apischema"]) / "apischema"
    done = subprocess.run([program, "types"], capture_output=True, text=True, timeout=60, check=True)
    assert Path(_field_types_table.__file__).read_text() == done.stdout
