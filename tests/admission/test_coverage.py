"""What a rule came to is noted while the engine evaluates it, and what nothing brought about is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import job
from tests.library.asking import ask
from tests.policies.writing import (
    binding,
    exception,
    mutating,
    mutating_binding,
    validating,
    workload,
    workload_binding,
    yaml_of,
)
from webhook.admission import Ledger
from webhook.model.cases import Case, Expectation
from webhook.model.objects import Object
from webhook.model.policies import Origin
from webhook.model.verdicts import Verdict
from webhook.policies import load_policies

ANY = Expectation(verdict=Verdict.SKIP)
CONDITION = {"name": "many", "expression": "object.spec.parallelism > 1"}


def case(pods: int) -> Case:
    return Case(name=f"{pods} pods", origin=Origin("cases"), object=job("a").parallelism(pods).build(), expect=ANY)


def missing(folder: Path, documents: list[Object], *cases: Case) -> dict[str, tuple[str, ...]]:
    (folder / "policy.yaml").write_text(yaml_of(*documents))
    ledger = Ledger()
    policies = ledger.observe(load_policies([folder]))
    for one in cases:
        ask(one, policies)
    return {point.rule: point.missing for point in ledger.coverage()}


@pytest.mark.parametrize(
    ("pods", "wanted"),
    [
        ([], ("denied", "allowed")),
        ([2], ("denied",)),
        ([20], ("allowed",)),
        ([2, 20], ()),
    ],
)
def test_a_validation_is_to_be_denied_and_allowed(pods: list[int], wanted: tuple[str, ...], tmp_path: Path) -> None:
    assert missing(tmp_path, [validating(), binding()], *map(case, pods)) == {"validations[0]": wanted}


@pytest.mark.parametrize(("pods", "wanted"), [([1], ("true",)), ([2], ("false",)), ([1, 2], ())])
def test_a_match_condition_is_to_be_true_and_false(pods: list[int], wanted: tuple[str, ...], tmp_path: Path) -> None:
    documents = [validating(matchConditions=[CONDITION]), binding()]
    assert missing(tmp_path, documents, *map(case, pods))["matchConditions[0] (many)"] == wanted


def test_a_message_expression_is_to_be_composed(tmp_path: Path) -> None:
    rule = {"expression": "object.spec.parallelism <= 8", "messageExpression": "'no ' + string(object.spec.parallelism)"}
    documents = [validating(validations=[rule]), binding()]
    assert missing(tmp_path, documents, case(2))["validations[0].messageExpression"] == ("composed",)
    assert missing(tmp_path, documents, case(20))["validations[0].messageExpression"] == ()


def test_an_expression_that_fails_is_neither_denied_nor_allowed(tmp_path: Path) -> None:
    documents = [validating("sizes", "object.spec.nothing == 1"), binding()]
    assert missing(tmp_path, documents, case(2)) == {"validations[0]": ("denied", "allowed")}


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}", ()),
        ("Object{}", ("applied",)),
        ("[JSONPatch{op: 'add', path: '/spec/suspend', value: true}]", ()),
        ("[JSONPatch{op: 'add', path: '/spec/suspend', value: true}].filter(p, object.spec.parallelism > 5)", ("applied",)),
    ],
)
def test_a_mutation_is_to_change_something(expression: str, wanted: tuple[str, ...], tmp_path: Path) -> None:
    documents = [mutating("labels", expression), mutating_binding()]
    assert missing(tmp_path, documents, case(2)) == {"mutations[0]": wanted}


def test_the_expressions_of_a_group_are_to_be_evaluated(tmp_path: Path) -> None:
    gang: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCountExpression": "object.spec.parallelism - 1"}}}
    documents = [workload(group=gang, matchConditions=[CONDITION]), workload_binding()]
    assert missing(tmp_path, documents, case(1)) == {
        "matchConditions[0] (many)": ("true",),
        "podGroups[0].count": ("evaluated",),
        "podGroups[0].minCount": ("evaluated",),
    }
    assert set(missing(tmp_path, documents, case(1), case(3)).values()) == {()}


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ((validating(), binding()), "validations[0]"),
        ((mutating("sizes"), mutating_binding(policy="sizes")), "mutations[0]"),
        ((workload("sizes"), workload_binding(policy="sizes")), "podGroups"),
    ],
)
def test_the_conditions_of_an_exception_are_to_be_true_and_false(policy: tuple[Object, ...], rule: str, tmp_path: Path) -> None:
    kind = policy[0]["kind"]
    documents = [*policy, exception("some", rules=[{"rule": rule}], policyKind=kind, expires="2999-12-31")]
    elsewhere = replace(case(20), object=job("a", namespace="team-b").parallelism(20).build())
    name = "matchConditions[0] (team)"
    assert missing(tmp_path, documents, case(20))[name] == ("false",)
    assert missing(tmp_path, documents, case(20), elsewhere)[name] == ()


def test_an_audit_annotation_is_to_be_published(tmp_path: Path) -> None:
    noted = {"key": "pods", "valueExpression": "object.spec.parallelism > 5 ? string(object.spec.parallelism) : ''"}
    documents = [validating(auditAnnotations=[noted]), binding()]
    rule = "auditAnnotations[0] (pods)"
    assert missing(tmp_path, documents, case(2))[rule] == ("published",)
    assert missing(tmp_path, documents, case(6))[rule] == ()


def test_a_rule_in_two_sets_is_counted_once_and_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml_of(validating(), binding()))
    ledger = Ledger()
    first, second = (ledger.observe(load_policies([path])) for _ in range(2))
    ask(case(2), first)
    ask(case(20), second)
    (point,) = ledger.coverage()
    assert (point.policy, point.origin.path, point.origin.line, point.missing) == ("sizes", str(path), 2, ())
