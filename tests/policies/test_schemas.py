"""The schemas know what the strict readers know: the same fields in the same places, and nothing else."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.builders import job
from webhook.cluster.files import load_snapshot
from webhook.errors import InputError
from webhook.model.objects import Object
from webhook.policies import SCHEMA_KINDS, Manifest, schema_of, schema_of_all
from webhook.policies.cases import load_cases
from webhook.policies.cursor import Cursor
from webhook.policies.kinds import _KINDS, Contents, Treatment, read_document
from webhook.policies.nodes import read_documents

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = list(yaml.safe_load_all(Path(__file__).with_name("everything.yaml").read_text()))
SHIPPED = sorted(
    path.relative_to(ROOT)
    for folder in ("policies", "policies-optional", "examples", "docs/tutorial", "certs")
    for path in (ROOT / folder).rglob("*.yaml")
)
ALL = jsonschema.Draft7Validator(schema_of_all())


def is_valid(document: Object) -> bool:
    """Tell whether an editor would leave a document alone."""
    return ALL.is_valid(document)


def refusals(document: Object, folder: Path) -> list[str]:
    """Return what the strict reader of a document's kind says against its shape."""
    path = folder / "document.yaml"
    (folder / "job.yaml").write_text(yaml.safe_dump(job().build()))
    path.write_text(yaml.safe_dump(document))
    if document["kind"] == "Capabilities":
        try:
            load_snapshot([Manifest(document, "x#0", 1)])
        except InputError as error:
            return [str(error)]
        return []
    if document["kind"] == "PolicyTest":
        try:
            load_cases(path)
        except Exception as error:  # noqa: BLE001 - whatever it says
            return [str(error)]
        return []
    contents = Contents()
    for read in read_documents(path.read_bytes(), str(path)):
        read_document(read, contents)
    return [str(error) for error in contents.errors]


def test_every_kind_that_is_read_strictly_has_a_schema() -> None:
    read = {kind for kind, (_, treatment) in _KINDS.items() if treatment not in {Treatment.PLAIN, Treatment.LATER}}
    assert set(SCHEMA_KINDS) == read


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_a_schema_is_one(kind: str) -> None:
    jsonschema.Draft7Validator.check_schema(schema_of(kind))
    jsonschema.Draft7Validator.check_schema(schema_of_all())


@pytest.mark.parametrize("path", SHIPPED, ids=str)
def test_everything_that_is_shipped_is_valid(path: Path) -> None:
    for document in yaml.safe_load_all((ROOT / path).read_text()):
        if document.get("kind"):
            assert [error.message for error in ALL.iter_errors(document)] == []


@pytest.mark.parametrize("index", range(len(EVERYTHING)), ids=lambda index: f"{index} {EVERYTHING[index]['kind']}")
def test_a_document_with_every_field_is_valid_and_loads(index: int, tmp_path: Path) -> None:
    document = EVERYTHING[index]
    assert [error.message for error in ALL.iter_errors(document)] == []
    assert jsonschema.Draft7Validator(schema_of(document["kind"])).is_valid(document)
    assert refusals(document, tmp_path) == []


def known_by_readers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[tuple[str, str], set[str]]:
    """Return which fields the readers asked for at which place, by kind."""
    known: dict[tuple[str, str], set[str]] = defaultdict(set)
    only = Cursor.only
    kind = ""

    def noted(self: Cursor, *names: str) -> Cursor:
        known[kind, re.sub(r"\[\d+\]", "[]", self.field)] |= set(names)
        return only(self, *names)

    monkeypatch.setattr(Cursor, "only", noted)
    for document in (*EVERYTHING, *map(filled, EVERYTHING)):
        kind = document["kind"]
        assert refusals(document, folder) == []
    return known


SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
RULES = [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}]
MATCH = {
    "resourceRules": RULES,
    "excludeResourceRules": RULES,
    "namespaceSelector": SELECTOR,
    "objectSelector": SELECTOR,
}


def filled(document: Object) -> Object:
    """Return a document that says everything that it can say of what it matches and of its params."""
    spec = dict(document["spec"])
    spec |= {name: MATCH for name in ("matchConstraints", "matchResources") if name in spec}
    if "paramRef" in spec:
        spec["paramRef"] = {"selector": SELECTOR, "parameterNotFoundAction": "Deny"}
    return {**document, "spec": spec}


def known_by_schemas() -> dict[tuple[str, str], set[str]]:
    known: dict[tuple[str, str], set[str]] = {}
    for kind in SCHEMA_KINDS:
        for place, schema in mappings(schema_of(kind), ""):
            known[kind, place] = set(schema["properties"])
    return known


def mappings(schema: Object, place: str) -> Iterator[tuple[str, Object]]:
    """Yield every mapping whose fields are all known."""
    if schema.get("additionalProperties") is False:
        yield place, schema
    for name, inner in schema.get("properties", {}).items():
        yield from mappings(inner, f"{place}.{name}" if place else name)
    if "items" in schema:
        yield from mappings(schema["items"], f"{place}[]")
    for inner in schema.get("anyOf", ()):
        yield from mappings(inner, place)


def test_schemas_and_readers_know_the_same_fields_in_the_same_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read, told = known_by_readers(monkeypatch, tmp_path), known_by_schemas()
    told = {place: names for place, names in told.items() if place[0] != "Capabilities"}  # made of the reader's own fields
    for place, names in read.items():
        if place[1] == "metadata":
            names.remove("namespace")  # known, and refused with the reason
    assert told == dict(read)


@pytest.mark.parametrize("document", EVERYTHING, ids=lambda document: document["kind"])
def test_an_unknown_field_is_refused_by_both_wherever_it_stands(document: Object, tmp_path: Path) -> None:
    places = [place for kind, place in known_by_schemas() if kind == document["kind"]]
    tried = 0
    for place in places:
        for broken in with_unknown(document, place):
            tried += 1
            assert not is_valid(broken), place
            assert any("nonesuch" in said for said in refusals(broken, tmp_path)), place
    assert tried >= 3


def with_unknown(document: Object, place: str) -> Iterator[Object]:
    """Yield the document with a field that nobody knows, once for each mapping at a place."""
    steps = [step for step in re.split(r"\.|(?=\[\])", place) if step]
    for path in paths(document, steps, ()):
        broken = copy.deepcopy(document)
        target = broken
        for step in path:
            target = target[step]
        target["nonesuch"] = 1
        yield broken


def paths(value: Any, steps: list[str], path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if not steps:
        if isinstance(value, dict):
            yield path
    elif steps[0] == "[]":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from paths(item, steps[1:], (*path, index))
    elif isinstance(value, dict) and steps[0] in value:
        yield from paths(value[steps[0]], steps[1:], (*path, steps[0]))


BROKEN = [
    ("ValidatingAdmissionPolicy", "spec.failurePolicy", "Maybe"),
    ("ValidatingAdmissionPolicy", "spec.matchConstraints.matchPolicy", "Loose"),
    ("ValidatingAdmissionPolicy", "spec.matchConstraints.resourceRules", []),
    ("ValidatingAdmissionPolicy", "spec.matchConstraints.resourceRules[0].scope", "All"),
    ("ValidatingAdmissionPolicy", "spec.matchConstraints.resourceRules[0].operations", ["PATCH"]),
    ("ValidatingAdmissionPolicy", "spec.matchConstraints.resourceRules[0].resources", "jobs"),
    ("ValidatingAdmissionPolicy", "spec.matchConstraints.objectSelector.matchExpressions[0].operator", "Is"),
    ("ValidatingAdmissionPolicy", "spec.validations[0].reason", "Because"),
    ("ValidatingAdmissionPolicy", "spec.validations[0].expression", True),
    ("ValidatingAdmissionPolicy", "spec.auditAnnotations[0].key", ""),
    ("ValidatingAdmissionPolicyBinding", "spec.validationActions", ["Refuse"]),
    ("ValidatingAdmissionPolicyBinding", "spec.validationActions", []),
    ("ValidatingAdmissionPolicyBinding", "spec.paramRef.parameterNotFoundAction", "Ask"),
    ("ValidatingAdmissionPolicyBinding", "spec.paramRef.selector", {}),
    ("ValidatingAdmissionPolicyBinding", "spec.policyName", 5),
    ("MutatingAdmissionPolicy", "spec.reinvocationPolicy", "Always"),
    ("MutatingAdmissionPolicy", "spec.mutations", []),
    ("MutatingAdmissionPolicy", "spec.mutations[0].patchType", "JSONPatch"),
    ("MutatingAdmissionPolicy", "spec.mutations[0].jsonPatch", {"expression": "[]"}),
    ("WorkloadPolicy", "spec.attach", "Sometimes"),
    ("WorkloadPolicy", "spec.precedence", "high"),
    ("WorkloadPolicy", "spec.podGroups", []),
    ("WorkloadPolicy", "spec.podGroups[0].members.path", "spec..template"),
    ("WorkloadPolicy", "spec.podGroups[0].members.count", 0),
    ("WorkloadPolicy", "spec.podGroups[0].members.countExpression", "1"),
    ("WorkloadPolicy", "spec.podGroups[0].instances", "Many"),
    ("WorkloadPolicy", "spec.podGroups[0].schedulingPolicy", {"gang": {}, "basic": {}}),
    ("WorkloadPolicy", "spec.podGroups[0].disruptionMode", {}),
    ("WorkloadPolicy", "spec.podGroups[0].resourceClaims[0].resourceClaimTemplateName", "both"),
    ("WorkloadPolicy", "spec.disruption.budgetTimeout", "soon"),
    ("WorkloadPolicy", "spec.disruption.maxRestarts", -1),
    ("WorkloadPolicy", "spec.disruption.fastRestart", "yes"),
    ("WorkloadPolicy", "spec.disruption.restart.evict", {}),
    ("WorkloadPolicy", "spec.overrides.allow", ["gangwarden.dev/everything"]),
    ("PolicyException", "spec.rules", []),
    ("PolicyException", "spec.rules[0].rule", "*"),
    ("PolicyException", "spec.matchConditions", []),
    ("PolicyException", "spec.expires", "soon"),
    ("PolicyException", "spec.owner", " "),
    ("PolicyException", "spec.policyKind", "ClusterPolicy"),
    ("PolicyTest", "spec.cases", []),
    ("PolicyTest", "spec.cases[0].operation", "PATCH"),
    ("PolicyTest", "spec.cases[0].expect.verdict", "denied"),
    ("PolicyTest", "spec.cases[0].object", "job.yaml"),
    ("PolicyTest", "metadata.name", ""),
]


@pytest.mark.parametrize(("kind", "place", "value"), BROKEN, ids=str)
def test_a_wrong_value_is_refused_by_both(kind: str, place: str, value: Any, tmp_path: Path) -> None:
    document = copy.deepcopy(next(document for document in EVERYTHING if document["kind"] == kind))
    *steps, last = [int(step) if step.isdecimal() else step for step in re.findall(r"[^.\[\]]+", place)]
    target = document
    for step in steps:
        target = target[step]
    target[last] = value
    assert not is_valid(document)
    assert refusals(document, tmp_path)


@pytest.mark.parametrize("index", range(len(EVERYTHING)), ids=lambda index: f"{index} {EVERYTHING[index]['kind']}")
def test_what_the_schema_requires_the_reader_requires_too(index: int, tmp_path: Path) -> None:
    whole = EVERYTHING[index]
    for place, schema in mappings(schema_of(whole["kind"]), ""):
        steps = [step for step in re.split(r"\.|(?=\[\])", place) if step]
        for path in paths(whole, steps, ()):
            for name in set(schema.get("required", ())) - ({"apiVersion", "kind"} if not path else set()):
                document = copy.deepcopy(whole)
                target = document
                for step in path:
                    target = target[step]
                if target.pop(name, None) is not None:
                    assert refusals(document, tmp_path), (place, name)


CAPABILITIES = {"apiVersion": "gangwarden.dev/v1alpha1", "kind": "Capabilities", "metadata": {"name": "cluster"}}


@pytest.mark.parametrize(
    ("said", "good"),
    [
        ({"groupObjects": True, "nativeJobs": False, "topology": True, "sharedClaims": False}, True),
        ({}, True),
        ({"groupobjects": True}, False),
        ({"topology": "yes"}, False),
    ],
)
def test_capabilities_are_what_a_snapshot_takes(said: Object, good: bool, tmp_path: Path) -> None:
    document = CAPABILITIES | said
    assert is_valid(document) is good
    assert (refusals(document, tmp_path) == []) is good


def test_other_kinds_are_left_alone() -> None:
    assert is_valid({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}})
    assert not is_valid({"kind": "ConfigMap"})
