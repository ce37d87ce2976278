"""The mutating round: policies first, then attachment, one patch for both; on which path, and what check shows of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import around, bound
from tests.builders import Built, job
from tests.groups.building import compiled
from tests.rules.building import binding, constraints, named, request, rule, situation, text
from tests.rules.building import policy as validating
from tests.rules.mutating import label, policy
from webhook.admission import (
    Checker,
    Endpoint,
    NamespaceScope,
    PolicySet,
    Round,
    apply_defaults,
    decide,
    plan_configurations,
    served_policies,
    webhook_needs,
)
from webhook.admission.conditions import may_fail_early
from webhook.admission.diff import diff
from webhook.admission.policyset import INSTALL_LABEL, NATIVE
from webhook.model.groups import GANG_LABEL
from webhook.model.objects import Object
from webhook.model.policies import Binding, FailurePolicy, Validation
from webhook.model.requests import Phase
from webhook.model.results import Result
from webhook.model.verdicts import Admitted, Answer, Denied, Patched, Trail
from webhook.rules import BoundMutating, compile_policy

FAIL, IGNORE = FailurePolicy.FAIL, FailurePolicy.IGNORE
GANG = label(GANG_LABEL, "'true'")
GANGS_ONLY = bound(compiled(match_conditions=named(gang=f"object.?metadata.?labels[?'{GANG_LABEL}'].orValue('') == 'true'")))
BROKEN = "[JSONPatch{op: 'remove', path: '/nope'}]"
BINDING = Binding(name="b", policy_kind="MutatingAdmissionPolicy", policy_name="a", origin=binding().origin)


def holding(*mutating: BoundMutating, **parts: Any) -> PolicySet:
    return PolicySet(mutating=mutating, **parts)


def asked(failure: FailurePolicy, policies: PolicySet, obj: Built | None = None) -> Answer:
    about = situation(request((obj or job()).build()))
    return decide(Round(phase=Phase.MUTATE, failure_policy=failure), policies, about, around())


def labels(answer: Answer) -> Object:
    assert isinstance(answer, Patched)
    found: Object = answer.object["metadata"].get("labels", {})
    return found


def checked(obj: Built, policies: PolicySet) -> tuple[Result, ...]:
    checker = Checker(policies=policies, surroundings=around(), situation=situation)
    return checker.check(request(obj.build()), source="job.yaml#0")


def test_each_mutating_path_answers_for_its_own_failure_policy() -> None:
    policies = holding(policy("a", label("a"), failure_policy=IGNORE), policy("b", label("b"), failure_policy=FAIL))
    assert labels(asked(FAIL, policies)) == {"b": "yes"}
    assert labels(asked(IGNORE, policies)) == {"a": "yes"}


def test_what_is_installed_natively_is_the_api_servers_to_mutate() -> None:
    native = holding(policy("a", label("a"), labels={INSTALL_LABEL: NATIVE}))
    assert asked(FAIL, native) == Admitted()
    assert served_policies(native).mutating == ()
    assert webhook_needs(native).mutating[FAIL].rules == ()


def test_attachment_sees_what_policies_made_of_the_object() -> None:
    policies = holding(policy("a", GANG, failure_policy=IGNORE), workload=(GANGS_ONLY,))
    found = asked(IGNORE, policies)
    assert isinstance(found, Patched)
    assert "schedulingGroup" in found.object["spec"]["template"]["spec"]
    assert asked(IGNORE, holding(workload=(GANGS_ONLY,))) == Admitted()


def test_one_patch_leads_from_the_object_as_it_came_to_the_last_one() -> None:
    found = asked(IGNORE, holding(policy("a", label("a"), failure_policy=IGNORE), workload=(bound(),)))
    assert isinstance(found, Patched)
    assert found.patch == diff(job().build(), found.object)
    assert [(one.policy, one.verdict.value) for one in found.trail.findings] == [("a", "allow"), ("gangs", "allow")]


def test_what_a_policy_takes_back_is_no_patch() -> None:
    policies = holding(policy("a", label("a"), "[JSONPatch{op: 'remove', path: '/metadata/labels'}]"))
    assert isinstance(asked(FAIL, policies), Admitted)


def test_a_second_call_for_the_same_object_changes_nothing_more() -> None:
    policies = holding(policy("a", label("a"), failure_policy=IGNORE), workload=(bound(),))
    first = asked(IGNORE, policies)
    assert isinstance(first, Patched)
    assert isinstance(asked(IGNORE, policies, Built(first.object)), Admitted)


def test_a_denial_leaves_attachment_unasked() -> None:
    found = asked(IGNORE, holding(policy("a", BROKEN, failure_policy=IGNORE), workload=(bound(),)))
    assert isinstance(found, Patched)
    (result,) = checked(job(), holding(policy("a", label("a"), BROKEN), workload=(bound(),)))[:1]
    assert (result.finding.policy, result.finding.verdict.value, result.patch) == ("a", "deny", None)
    refused = asked(FAIL, holding(policy("a", BROKEN)))
    assert isinstance(refused, Denied)
    assert (refused.code, refused.reason) == (403, "Invalid")
    assert refused.message.startswith("policy 'a' with binding 'everywhere' denied request: ")


def test_check_shows_patch_and_object_of_each_policy() -> None:
    first, second, group = checked(job(), holding(policy("a", label("a")), policy("b", label("b")), workload=(bound(),)))
    assert first.patch == ({"op": "add", "path": "/metadata/labels", "value": {"a": "yes"}},)
    assert second.patch == ({"op": "add", "path": "/metadata/labels/b", "value": "yes"},)
    assert (second.patched or {})["metadata"]["labels"] == {"a": "yes", "b": "yes"}
    assert group.patched
    assert group.patched["metadata"]["labels"] == {"a": "yes", "b": "yes"}
    assert [obj["kind"] for obj in group.creates or ()] == ["Workload", "PodGroup"]


def test_what_is_validated_is_what_policies_made_of_it() -> None:
    labelled = compile_policy(validating(Validation(expression=text("has(object.metadata.labels.a)"))))
    policies = holding(policy("a", label("a")), validating=((labelled, (binding(),)),))
    assert [result.finding.verdict.value for result in checked(job(), policies)] == ["allow", "allow"]


def test_a_policy_without_effect_shows_no_patch() -> None:
    (result,) = checked(job(), holding(policy("a", "Object{}")))
    assert (result.finding.message, result.patch, result.patched) == ("nothing to change", None, None)


CONTAINER = (
    "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
    "containers: [Object.spec.template.spec.containers{name: 'log', image: 'log:1'}]}}}}"
)
EMPTIED = "[JSONPatch{op: 'add', path: '/spec/suspend', value: null}]"


def containers(obj: Object, *expressions: str) -> list[Object]:
    about = situation(request(obj))
    answer = decide(Round(phase=Phase.MUTATE, failure_policy=FAIL), holding(policy("a", *expressions)), about, around())
    assert isinstance(answer, Patched)
    found: list[Object] = answer.object["spec"]["template"]["spec"]["containers"]
    return found


def test_what_a_mutation_adds_gets_its_defaults() -> None:
    assert containers(apply_defaults(job().build()), CONTAINER)[1]["imagePullPolicy"] == "IfNotPresent"


def test_an_object_that_came_without_defaults_stays_without() -> None:
    assert containers(job().build(), CONTAINER)[1] == {"name": "log", "image": "log:1"}


def test_fields_that_we_do_not_know_stay() -> None:
    newer = apply_defaults(job().build())
    newer["spec"]["fieldOf139"] = 1
    answer = asked(FAIL, holding(policy("a", CONTAINER)), Built(newer))
    assert isinstance(answer, Patched)
    assert answer.object["spec"]["fieldOf139"] == 1
    assert answer.object["spec"]["template"]["spec"]["containers"][1]["imagePullPolicy"] == "IfNotPresent"


def test_null_is_absent_for_the_next_mutation() -> None:
    given = situation(request(apply_defaults(job().build())))
    policies = holding(policy("a", EMPTIED, label("suspended", "string(object.spec.suspend)")))
    answer = decide(Round(phase=Phase.MUTATE, failure_policy=FAIL), policies, given, around())
    assert labels(answer) == {"suspended": "false"}


JOBS = rule(operations=["CREATE"], api_groups=["batch"], api_versions=["v1"], resources=["jobs"])


def test_each_failure_policy_has_a_mutating_webhook_and_fail_comes_first() -> None:
    policies = holding(policy("a", label("a"), failure_policy=IGNORE), policy("b", label("b"), failure_policy=FAIL))
    mutating, _ = plan_configurations(
        webhook_needs(policies), Endpoint(url="https://localhost"), ca_bundle="", scope=NamespaceScope()
    )
    assert [(one["name"], one["failurePolicy"], one["reinvocationPolicy"]) for one in mutating["webhooks"]] == [
        ("fail.mutate.gangwarden.dev", "Fail", "IfNeeded"),
        ("ignore.mutate.gangwarden.dev", "Ignore", "IfNeeded"),
    ]


def test_a_policy_without_a_binding_asks_for_nothing() -> None:
    assert webhook_needs(holding(policy("a", label("a"), bindings=()))).mutating[FAIL].rules == ()


def test_workload_policies_are_on_the_path_of_ignore_together_with_mutating_ones() -> None:
    policies = holding(policy("a", label("a"), failure_policy=IGNORE, match_constraints=constraints(JOBS)), workload=(bound(),))
    needs = webhook_needs(policies).mutating
    assert (needs[FAIL].rules, len(needs[IGNORE].rules)) == ((), 2)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, True),
        ({"match_constraints": constraints(JOBS, exclude_resource_rules=(JOBS,))}, False),
        ({"failure_policy": IGNORE}, True),
    ],
    ids=["for all", "with exceptions", "under Ignore"],
)
def test_match_conditions_are_told_where_failing_means_the_same(parts: dict[str, Any], told: bool) -> None:
    head = policy("a", label("a"), **parts)[0].source.head
    assert may_fail_early(head, [BINDING]) is told


def test_warnings_and_findings_of_both_parts_are_joined() -> None:
    found = asked(IGNORE, holding(policy("a", BROKEN, failure_policy=IGNORE), workload=(bound(),)))
    assert found.trail == Trail(findings=found.trail.findings)
    assert [one.verdict.value for one in found.trail.findings] == ["error", "allow"]
