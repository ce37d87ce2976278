"""Each rule of advice on policies of a few lines: where it speaks, and where it keeps silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.admission.advice.linting import linted, marked
from tests.admission.advice.scenes import EXCEPTION, SCENES, Scene
from webhook.admission.advice import ADVICE
from webhook.cli.lint import lint
from webhook.model.diagnostics import Level

JOBS = "{resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}"


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_a_rule_speaks_where_it_should_and_nowhere_else(scene: Scene, tmp_path: Path) -> None:
    found = [one for one in linted(scene.fragment, tmp_path) if one.rule == scene.rule]
    if marked(scene.fragment):
        assert sorted({one.line for one in found}) == marked(scene.fragment), [one.message for one in found]
    else:
        assert bool(found) is scene.speaks, [one.message for one in found]
    assert all(scene.says in one.message for one in found)


def test_every_rule_has_a_scene_in_which_it_speaks_and_one_in_which_it_does_not() -> None:
    speaking = {scene.rule for scene in SCENES if marked(scene.fragment) or scene.speaks}
    silent = {scene.rule for scene in SCENES if not marked(scene.fragment) and not scene.speaks}
    assert speaking == ADVICE.keys()
    assert silent == ADVICE.keys()


def test_a_policy_that_nothing_is_wrong_with_is_not_spoken_of(tmp_path: Path) -> None:
    assert linted("failurePolicy: Fail", tmp_path) == ()


def test_a_finding_names_its_place_in_a_block_scalar(tmp_path: Path) -> None:
    fragment = """
        validations:
        - expression: >-
            object.spec.parallelism > 0
            && object.spec.completions > 1
          message: nope
    """
    (found,) = linted(fragment, tmp_path)
    assert (found.line, found.column, found.level) == (9, 21, Level.WARNING)
    line = (tmp_path / "policy.yaml").read_text().split("\n")[found.line - 1]
    assert line[found.column - 1 :].startswith(".completions")


def test_advice_is_left_out_where_the_policy_says_so(tmp_path: Path) -> None:
    text = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n"
        'metadata: {name: example, annotations: {gangwarden.dev/lint-ignore: "no-message, policy-without-binding"}}\n'
        "spec:\n"
        f"  matchConstraints: {JOBS}\n"
        "  validations: [{expression: object.spec.parallelism > 0}, {expression: object.spec.completions > 0, message: nope}]\n"
    )
    assert [one.rule for one in linted(text, tmp_path)] == ["absent-field"]


def test_errors_and_advice_of_several_policies_come_together(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: broken}\n"
        "spec:\n"
        f"  matchConstraints: {JOBS}\n"
        "  validations:\n  - expression: object.spec.parallelism >\n  - expression: objekt.spec == a\n    reason: Because\n"
    )
    (tmp_path / "good.yaml").write_text(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n"
        "spec: {policyName: broken, validationActions: [Deny]}\n"
    )
    found = lint([str(tmp_path)]).diagnostics
    assert [(one.rule, one.line, one.column) for one in found] == [
        ("refused", 7, 42),
        ("refused", 8, 17),
        ("refused", 8, 32),
        ("refused", 9, 5),
    ]


WIDE = " && ".join(f"has(object.spec.completions) && object.spec.completions > {number}" for number in range(300))
DEEP = "".join("(object.spec.a && (object.spec.b || " for _ in range(110)) + "true" + "))" * 110
LOOPS = "".join(f"object.spec.template.spec.containers.all(c{number}, " for number in range(40)) + "c1.image != ''" + ")" * 40
CHOICES = "".join(f"object.spec.completions == {number} ? true : " for number in range(200)) + "false"


@pytest.mark.parametrize(
    ("expression", "rules"),
    [(WIDE, set()), (DEEP, {"unknown-field"}), (LOOPS, {"missed-containers", "costly"}), (CHOICES, {"absent-field"})],
    ids=["wide", "deep", "loops", "choices"],
)
def test_large_expressions_are_read_to_their_end(expression: str, rules: set[str], tmp_path: Path) -> None:
    found = linted(f"validations: [{{expression: {json.dumps(expression)}, message: nope}}]", tmp_path)
    assert {one.rule for one in found} == rules


def test_variables_that_read_the_one_before_twice_are_looked_at_once(tmp_path: Path) -> None:
    more = [f"variables.v{n - 1} == null ? variables.v{n - 1} : variables.v{n - 1}" for n in range(1, 40)]
    variables = [{"name": f"v{number}", "expression": text} for number, text in enumerate(["object.spec", *more])]
    rules = [{"expression": "variables.v39.completions > 1", "message": "nope"}]
    found = linted(f"variables: {json.dumps(variables)}\nvalidations: {json.dumps(rules)}", tmp_path)
    assert [one.message.split()[0] for one in found] == ["object.spec.completions"]


@pytest.mark.parametrize(
    ("condition", "is_told"),
    [
        ("object.metadata.name.startsWith('train')", True),
        ("object.spec.parallelism <= 256", True),
        ("has(object.spec) && oldObject == null", True),
        ("object.metadata.namespace == 'team-a'", False),
        ("['team-a'].exists(name, object.metadata.?namespace.orValue('') == name)", False),
        ("request.namespace == 'team-a' && object.spec.parallelism <= 256", False),
        ("authorizer.requestResource.check('except').allowed()", False),
    ],
)
def test_an_exception_for_what_authors_decide_is_told(tmp_path: Path, condition: str, is_told: bool) -> None:
    text = EXCEPTION.format(expires="2027-03-31").replace("request.namespace == 'team-a'", condition)
    (tmp_path / "policy.yaml").write_text(text)
    found = [one for one in lint([str(tmp_path)]).diagnostics if one.rule == "tenant-decides"]
    assert bool(found) is is_told


@pytest.mark.parametrize(
    ("ignored", "told"),
    [
        ("", {"exception-expiry", "tenant-decides"}),
        ("exception-expiry", {"tenant-decides"}),
        ("tenant-decides, exception-expiry", set()),
        ("exception-expiri, tenant-decides", {"exception-expiry", "unknown-lint-rule"}),
    ],
)
def test_advice_about_an_exception_is_left_out_where_it_says_so(tmp_path: Path, ignored: str, told: set[str]) -> None:
    text = EXCEPTION.format(expires="2020-01-31").replace("request.namespace == 'team-a'", "object.spec.parallelism <= 256")
    head, kind, rest = text.partition("kind: PolicyException\n")
    rest = rest.replace("metadata: {name: ", f"metadata: {{annotations: {{gangwarden.dev/lint-ignore: '{ignored}'}}, name: ", 1)
    (tmp_path / "policy.yaml").write_text(head + kind + rest)
    assert {one.rule for one in lint([str(tmp_path)]).diagnostics if "PolicyException" in one.subject} == told
