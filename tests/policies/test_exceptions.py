"""What the owner of a policy is told of exceptions when they are loaded."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.policies.writing import (
    RULES,
    binding,
    exception,
    mutating,
    mutating_binding,
    validating,
    workload,
    workload_binding,
    yaml_of,
)
from webhook.admission import PolicySet, exceptions_of
from webhook.errors import PolicySetError
from webhook.model.objects import Object
from webhook.policies import load_policies

NOW = datetime(2026, 12, 1, tzinfo=UTC)
POLICY = (validating("sizes", "object.spec.parallelism <= 2", "has(object.metadata.labels)"), binding())


def load(folder: Path, *documents: Object, now: datetime = NOW) -> PolicySet:
    (folder / "p.yaml").write_text(yaml_of(*documents))
    return load_policies([folder / "p.yaml"], now=now)


def complaint(folder: Path, *documents: Object) -> tuple[int, str, str]:
    with pytest.raises(PolicySetError) as raised:
        load(folder, *documents)
    (error,) = raised.value.errors
    return error.line, error.field, str(error.args[0])


def test_an_exception_belongs_to_its_policy(tmp_path: Path) -> None:
    policies = load(tmp_path, exception("b"), *POLICY, exception("a"), validating("other"), binding("other", "other"))
    assert [[one.name for one in policy.exceptions] for policy, _ in policies.validating] == [[], ["a", "b"]]
    (first, _) = exceptions_of(policies)
    assert (first.source.owner, first.source.reason, first.until) == ("batch@example.com", "being split", "2027-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("kind", "rule", "documents"),
    [
        pytest.param(
            "MutatingAdmissionPolicy", "mutations[0]", (mutating("sizes"), mutating_binding("m", "sizes")), id="mutating"
        ),
        pytest.param("WorkloadPolicy", "podGroups", (workload("sizes"), workload_binding("w", "sizes")), id="workload"),
    ],
)
def test_every_kind_of_policy_takes_exceptions(tmp_path: Path, kind: str, rule: str, documents: tuple[Object, ...]) -> None:
    policies = load(tmp_path, *documents, exception(policyKind=kind, rules=[{"rule": rule}]))
    assert [one.name for one in exceptions_of(policies)] == ["import"]


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("2026-12-31", "2027-01-01T00:00:00Z"),
        ("2026-12-31T18:00:00Z", "2026-12-31T18:00:00Z"),
        ("2026-12-31T18:00:00+02:00", "2026-12-31T16:00:00Z"),
    ],
)
def test_a_day_is_taken_to_its_end_and_a_moment_as_it_is(tmp_path: Path, text: str, until: str) -> None:
    (found,) = exceptions_of(load(tmp_path, *POLICY, exception(expires=text)))
    assert found.until == until


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"rules": None}, "spec.rules", 'required: name each rule, such as {rule: "validations[0]"}; there is no wildcard'),
        ({"rules": []}, "spec.rules", 'required: name each rule, such as {rule: "validations[0]"}; there is no wildcard'),
        ({"rules": [{"rule": "*"}]}, "spec.rules[0].rule", '"*" is not a rule: write validations[0], mutations[0] or podGroups'),
        ({"rules": [{"rule": "validations[2]"}]}, "spec.rules[0]", 'has no rule "validations[2]": it has validations[0], valid'),
        (
            {"rules": [{"rule": "mutations[0]"}]},
            "spec.rules[0]",
            'has no rule "mutations[0]": it has validations[0], validations[1]',
        ),
        ({"rules": [{}]}, "spec.rules[0].rule", "required"),
        (
            {"rules": [{"rule": "validations[0]", "expression": "object.spec.parallelism <= 4"}]},
            "spec.rules[0]",
            "validations[0] of the policy is another expression by now: object.spec.parallelism <= 2",
        ),
        ({"rules": [{"rule": "validations[0]", "why": "x"}]}, "spec.rules[0].why", "unknown field"),
        ({"matchConditions": None}, "spec.matchConditions", "required: at least one condition that says for which objects"),
        ({"matchConditions": []}, "spec.matchConditions", "required: at least one condition that says for which objects"),
        (
            {"matchConditions": [{"name": "all", "expression": "request.namespace != 'prod'"}]},
            "spec.matchConditions[0].expression",
            "too wide: the conditions hold for any object",
        ),
        ({"owner": None}, "spec.owner", "required"),
        ({"owner": "  "}, "spec.owner", "must not be blank"),
        ({"reason": None}, "spec.reason", "required"),
        ({"reason": " \n"}, "spec.reason", "must not be blank"),
        ({"expires": None}, "spec.expires", "required: the last day on which it is needed, such as 2026-12-31"),
        ({"expires": "never"}, "spec.expires", '"never" is not a date: write 2026-12-31 (to the end of that day, UTC) or'),
        ({"expires": "2026-02-30"}, "spec.expires", '"2026-02-30" is not a date'),
        ({"expires": "2026-12-31T18:00:00"}, "spec.expires", '"2026-12-31T18:00:00" is not a date'),
        ({"expires": 20261231}, "spec.expires", "must be text, not a number"),
        ({"policyKind": "NetworkPolicy"}, "spec.policyKind", '"NetworkPolicy" is not supported: use ValidatingAdmissionPolicy'),
        ({"policyName": "size"}, "spec.policyName", 'no ValidatingAdmissionPolicy "size" among the files; did you mean "sizes"?'),
        ({"policyName": None}, "spec.policyName", "required"),
        ({"validationActions": ["Deny"]}, "spec.validationActions", "unknown field"),
    ],
)
def test_what_says_too_little_or_lets_too_much_pass_is_refused(
    tmp_path: Path, spec: dict[str, Any], field: str, message: str
) -> None:
    line, found, told = complaint(tmp_path, *POLICY, exception(**spec))
    assert (line, found) == (6, field)
    assert message in told


def test_one_mistake_makes_one_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        yaml_of(*POLICY)
        + """\
---
apiVersion: gangwarden.dev/v1alpha1
kind: PolicyException
metadata: {name: import}
spec:
  policyName: sizes
  rules: [{rule: "validations[0]"}]
  matchConditions:
  - name: team
    expression: request.namespace == team-a
  owner: batch@example.com
  reason: being split
  expires: 2026-12-31
"""
    )
    with pytest.raises(PolicySetError, match=r"p\.yaml:14:\d+: spec.matchConditions\[0\].expression: undeclared"):
        load_policies([tmp_path / "p.yaml"])


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    assert 'PolicyException "import" is there twice' in complaint(tmp_path, *POLICY, exception(), exception())[2]


def test_a_policy_that_the_api_server_decides_takes_none(tmp_path: Path) -> None:
    policy = validating()
    policy["metadata"]["labels"] = {"gangwarden.dev/install": "native"}
    assert "the API server itself decides it, and knows no exceptions" in complaint(tmp_path, policy, binding(), exception())[2]


def test_one_of_kyvernos_is_not_ours(tmp_path: Path) -> None:
    theirs = exception() | {"apiVersion": "policies.kyverno.io/v1"}
    assert list(exceptions_of(load(tmp_path, *POLICY, theirs))) == []


@pytest.mark.parametrize(
    ("expires", "told"),
    [
        ("2026-12-31", ""),
        ("2026-11-30", "has expired (2026-12-01 00:00 UTC) and does nothing"),
        ("2026-12-05", "expires soon (2026-12-06 00:00 UTC): take it away, or have it renewed by batch@example.com"),
        ("2099-12-31", "lasts for more than a year (2100-01-01): give it an earlier end"),
    ],
)
def test_an_end_that_is_past_near_or_far_is_a_warning_never_an_error(tmp_path: Path, expires: str, told: str) -> None:
    warnings = load(tmp_path, *POLICY, exception(expires=expires)).warnings
    assert len(warnings) == bool(told)
    assert told in "".join(warnings)
    assert all(f"{tmp_path}/p.yaml:6: PolicyException 'import'" in warning for warning in warnings)


def test_what_its_conditions_look_at_is_watched(tmp_path: Path) -> None:
    conditions = [{"name": "tier", "expression": "namespaceObject.metadata.labels.tier == 'import'"}]
    assert load(tmp_path, *POLICY, exception()).needs == frozenset()
    assert load(tmp_path, *POLICY, exception(matchConditions=conditions)).needs == {("", "Namespace")}


def test_the_rules_of_a_policy_about_every_operation_are_tried_on_a_stranger(tmp_path: Path) -> None:
    policy = validating(matchConstraints={"resourceRules": [{**RULES[0], "operations": ["*"]}]})
    conditions = [{"name": "gone", "expression": "request.operation == 'DELETE'"}]
    assert "too wide" in complaint(tmp_path, policy, binding(), exception(matchConditions=conditions))[2]
