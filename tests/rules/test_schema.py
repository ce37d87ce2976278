"""The table of schemas is whole, and says of each list how it is merged."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.controlplane import build
from webhook.model.objects import Kind
from webhook.rules import schema
from webhook.rules._schema_table import KINDS, TYPES
from webhook.rules.problems import RuleProblem
from webhook.rules.schema import DEDUCED, Anything, ListOf, MapOf, Scalar, Shape, Struct, fields_of, shape_of

TABLE = Path(schema.__file__).with_name("_schema_table.py")
NAMES = re.findall(r"(?:^|; ?|;\n)([\w.]+):", TYPES.strip())


def structs(shape: Shape) -> list[str]:
    match shape:
        case Struct():
            return [shape.name]
        case ListOf() | MapOf():
            return structs(shape.element)
        case _:
            return []


def test_every_type_that_a_field_names_is_there() -> None:
    found = {name for of in NAMES for shape in fields_of(Struct(of)).shapes.values() for name in structs(shape)}
    assert found <= set(NAMES)
    assert len(NAMES) > 300


@pytest.mark.parametrize("entry", [entry for entry in KINDS.split(";") if entry.strip()], ids=lambda entry: entry.split(":")[0])
def test_every_kind_has_metadata(entry: str) -> None:
    version, _, words = entry.partition(":")
    for word in words.split():
        shape = shape_of(Kind.parse(version.strip(), word.partition(":")[0]))
        assert isinstance(shape, Struct)
        assert fields_of(shape).shapes["metadata"] == Struct("ObjectMeta") or word == "ComponentStatus"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("containers", ListOf(Struct("Container"), keys=("name",))),
        ("containers.ports", ListOf(Struct("ContainerPort"), keys=("containerPort", "protocol"))),
        ("containers.args", ListOf(Scalar("text"), atomic=True)),
        ("containers.resources.limits", MapOf(Scalar("any"))),
        ("tolerations", ListOf(Struct("Toleration"), atomic=True)),
        ("nodeSelector", MapOf(Scalar("text"), atomic=True)),
        ("terminationGracePeriodSeconds", Scalar("number")),
        ("hostNetwork", Scalar("boolean")),
    ],
)
def test_a_field_of_a_pod_spec_is(path: str, expected: Shape) -> None:
    shape: Shape = Struct("PodSpec")
    for step in path.split("."):
        inner = shape.element if isinstance(shape, ListOf) else shape
        assert isinstance(inner, Struct)
        shape = fields_of(inner).shapes[step]
    assert shape == expected


def test_atomic_structs_and_defaults_of_keys_are_known() -> None:
    assert fields_of(Struct("OwnerReference")).atomic
    assert not fields_of(Struct("Container")).atomic
    assert fields_of(Struct("ContainerPort")).defaults == {"containerPort": 0, "protocol": "TCP"}
    assert fields_of(Struct("ObjectMeta")).shapes["finalizers"] == ListOf(Scalar("text"))


def test_of_kinds_that_are_not_built_in_nothing_is_known() -> None:
    assert shape_of(Kind("example.com", "v1", "Gang")) == DEDUCED == Anything()
    assert shape_of(Kind("jobset.x-k8s.io", "v1alpha2", "JobSet")) == DEDUCED


@pytest.mark.parametrize(
    "kind",
    [Kind("batch", "v2", "Job"), Kind("certificates.k8s.io", "v1", "CertificateSigningRequest"), Kind("", "v1", "Binding")],
)
def test_a_built_in_kind_without_a_schema_is_refused_rather_than_guessed(kind: Kind) -> None:
    with pytest.raises(RuleProblem, match="schema is not known here; use JSONPatch"):
        shape_of(kind)


@pytest.mark.e2e
@pytest.mark.timeout(1800)
def test_the_table_is_the_one_that_client_go_s_schema_gives() -> None:
    done = subprocess.run([build.ensure(["apischema"]) / "apischema"], capture_output=True, text=True, timeout=60, check=True)
    assert TABLE.read_text() == done.stdout
