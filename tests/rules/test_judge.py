"""What comes of a policy: findings, failurePolicy, actions, params. Texts are compared in tests/policies/test_recorded.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import job, pod_group
from tests.rules.building import (
    CONFIG_MAP,
    FakeWorld,
    ask,
    binding,
    by_name,
    config_map,
    constraints,
    ignoring,
    named,
    policy,
    request,
    rule,
    situation,
    text,
)
from webhook.model.objects import Kind, Resource
from webhook.model.policies import Action, LabelSelector, ParamRef, ValidatingPolicy, Validation
from webhook.model.requests import Operation
from webhook.model.snapshot import EMPTY_SNAPSHOT, snapshot_of
from webhook.model.verdicts import Admitted, Denied, Finding, Verdict
from webhook.rules import ClusterView, Situation, compile_policy, judge
from webhook.settings import EvaluationSettings

LIMITED = policy("object.spec.parallelism <= int(params.data.most)", param_kind=CONFIG_MAP)
TEN = "[0,1,2,3,4,5,6,7,8,9]"
SLOW = f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, a + b + c + d >= 0))))"
"""Costs more than 11,000 units."""


def verdicts(answer: Admitted | Denied) -> list[tuple[str, str]]:
    return [(finding.verdict.value, finding.rule) for finding in answer.trail.findings]


def test_a_policy_that_passes_leaves_one_finding() -> None:
    answer = ask(policy("true", "object.spec.parallelism == 4"))
    assert answer == Admitted(trail=answer.trail)
    assert answer.trail.findings == (Finding(policy="sizes", binding="everywhere", verdict=Verdict.ALLOW),)


def test_every_failed_validation_leaves_a_finding_and_the_first_is_told() -> None:
    answer = ask(policy("true", Validation(expression=text("false"), message="two", reason="Forbidden"), "1 > 2"))
    assert isinstance(answer, Denied)
    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert answer.message.endswith("denied request: two")
    assert verdicts(answer) == [("deny", "validations[1]"), ("deny", "validations[2]")]


def test_a_policy_that_does_not_match_leaves_nothing() -> None:
    assert ask(policy("false", match_constraints=constraints(rule(resources=["pods"])))) == Admitted()
    assert ask(policy("false", match_conditions=named(never="false"))) == Admitted()


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("object.spec.parallelism > 8", "spec.parallelism"),
        ("has(object.spec.template.spec.tolerations)", "spec.template.spec.tolerations"),
        ("object.?spec.suspend.orValue(true) == false", "spec.suspend"),
        ("object.metadata.name.startsWith('object.spec.x')", "metadata.name"),
        ("object.spec.parallelism > object.spec.completions", ""),
        ("1 > 2", ""),
    ],
)
def test_a_finding_names_the_one_field_that_a_rule_reads(expression: str, field: str) -> None:
    assert ask(policy(expression)).trail.findings[0].field == field


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"validations": ("object.spec.nope == 1",)}, id="a missing key"),
        pytest.param({"validations": ("variables.v == 1",), "variables": named(v="object.spec.nope")}, id="a variable"),
        pytest.param({"validations": ("true",), "match_conditions": named(c="object.nope == 1")}, id="a match condition"),
        pytest.param({"validations": ("[1/0, 1] == [1]",)}, id="a division by zero"),
        pytest.param({"validations": (), "audit_annotations": named(k="string(object.nope)")}, id="an audit annotation"),
        pytest.param(
            {"validations": ("true",), "param_kind": CONFIG_MAP, "ref": by_name("gone")}, id="params that are not there"
        ),
    ],
)
class TestWhatCannotBeEvaluated:
    """It is never admitted unsaid."""

    def ask(self, build: Any, broken: dict[str, Any]) -> Admitted | Denied:
        parts = dict(broken)
        reference = parts.pop("ref", None)
        return ask(build(*parts.pop("validations"), **parts), binding(param_ref=reference))

    def test_is_denied_under_fail(self, broken: dict[str, Any]) -> None:
        answer = self.ask(policy, broken)
        assert isinstance(answer, Denied)
        assert "ValidatingAdmissionPolicy 'sizes' with binding 'everywhere' denied request: " in answer.message
        assert answer.trail.findings[-1].verdict is Verdict.DENY

    def test_is_admitted_with_an_error_under_ignore(self, broken: dict[str, Any]) -> None:
        answer = self.ask(ignoring, broken)
        assert isinstance(answer, Admitted)
        assert [f.verdict for f in answer.trail.findings if f.verdict is not Verdict.ALLOW] == [Verdict.ERROR]


@pytest.mark.parametrize(
    ("actions", "verdict", "denied", "warnings", "audited"),
    [
        ((Action.DENY,), Verdict.DENY, True, 0, False),
        ((Action.WARN,), Verdict.WARN, False, 1, False),
        ((Action.AUDIT,), Verdict.AUDIT, False, 0, True),
        ((Action.DENY, Action.AUDIT), Verdict.DENY, True, 0, True),
        ((Action.AUDIT, Action.WARN), Verdict.WARN, False, 1, True),
    ],
)
def test_actions_say_what_a_failure_does(
    actions: tuple[Action, ...], verdict: Verdict, denied: bool, warnings: int, audited: bool
) -> None:
    answer = ask(policy("false"), binding(*actions))
    assert [finding.verdict for finding in answer.trail.findings] == [verdict]
    assert (isinstance(answer, Denied), len(answer.trail.warnings), bool(answer.trail.audit_annotations)) == (
        denied,
        warnings,
        audited,
    )


@pytest.mark.parametrize(
    ("reference", "verdict"),
    [
        pytest.param(by_name("limits"), "deny", id="by name in the request's namespace"),
        pytest.param(by_name("limits", namespace="other"), "allow", id="by name in a namespace that the binding names"),
        pytest.param(by_name("elsewhere"), "deny", id="which stands in another namespace only, and so is not found"),
        pytest.param(by_name("elsewhere", parameter_not_found_action="Allow"), "", id="not found, and that is allowed"),
        pytest.param(ParamRef(selector=LabelSelector(match_labels=(("for", "jobs"),))), "allow", id="by selector"),
    ],
)
def test_a_binding_uses_params(reference: ParamRef, verdict: str) -> None:
    world = FakeWorld(
        objects=(
            config_map("limits", most="2"),
            config_map("jobs", labels={"for": "jobs"}, most="9"),
            config_map("limits", namespace="other", most="9"),
            config_map("elsewhere", namespace="other", most="1"),
        )
    )
    answer = ask(LIMITED, binding(param_ref=reference), world=world)
    assert [finding.verdict.value for finding in answer.trail.findings] == ([verdict] if verdict else [])


def test_a_kind_of_params_that_nobody_knows_is_not_found() -> None:
    answer = ask(LIMITED, binding(param_ref=by_name("limits")), world=FakeWorld(namespaced=None))
    assert "no params found" in answer.trail.findings[0].message


@pytest.mark.parametrize("build", [policy, ignoring])
def test_a_deadline_that_has_passed_is_an_error_of_the_rule(build: Any) -> None:
    answer = ask(build("true"), expired=lambda: True)
    assert "deadline exceeded" in answer.trail.findings[0].message
    assert isinstance(answer, Denied) == (build is policy)


def test_an_expression_stops_at_its_own_limit_and_the_next_one_runs() -> None:
    answer = ask(policy(SLOW, "true"), limits=EvaluationSettings(cost_per_expression=2_000))
    assert verdicts(answer) == [("deny", "validations[0]")]
    assert "cost limit exceeded" in answer.trail.findings[0].message


def test_a_policy_stops_as_a_whole_when_all_its_steps_are_spent() -> None:
    answer = ask(policy(SLOW, SLOW, SLOW), limits=EvaluationSettings(cost_per_policy=20_000))
    assert verdicts(answer) == [("deny", "")]
    assert "running out of cost budget" in answer.trail.findings[0].message


def test_a_namespace_that_is_missing_fails_only_the_rules_that_read_it() -> None:
    reading = policy("object != null", "namespaceObject.metadata.name == 'team-a'")
    assert verdicts(ask(reading, world=FakeWorld(namespaces=()))) == [("deny", "validations[1]")]


@pytest.mark.parametrize(
    ("asked", "expression"),
    [
        (request(old_object=job().build()), "object == null && oldObject.metadata.name == 'train'"),
        (request(), "oldObject == null && object != null"),
        (
            request({"apiVersion": "v1", "kind": "PodExecOptions"}, operation=Operation.CONNECT, name="web"),
            "request.name == 'web'",
        ),
    ],
    ids=["DELETE", "CREATE", "CONNECT"],
)
def test_objects_that_an_operation_does_not_have_are_null(asked: Any, expression: str) -> None:
    assert isinstance(ask(policy(expression), asked=asked), Admitted)


@pytest.mark.parametrize(
    "resource",
    [
        Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
        Resource("authorization.k8s.io", "v1", "subjectaccessreviews"),
    ],
)
def test_what_would_lock_a_cluster_is_never_judged(resource: Resource) -> None:
    assert ask(policy("false"), asked=request(resource=resource)) == Admitted()


def test_an_object_that_came_in_another_version_than_the_rule_asks_for_cannot_be_judged() -> None:
    hpa = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a", "namespace": "team-a"}}
    answer = ask(policy("true", match_constraints=constraints(rule(api_versions=["v2"]))), asked=request(hpa))
    assert isinstance(answer, Denied)
    assert "failed to convert object version" in answer.message


def test_match_conditions_see_the_resource_that_the_client_asked_for() -> None:
    asked = request(request_kind=Kind("batch", "v1beta1", "Job"), request_resource=Resource("batch", "v1beta1", "jobs"))
    conditions = named(old="request.resource.version == 'v1beta1'")
    assert verdicts(ask(policy("request.resource.version == 'v1'", match_conditions=conditions), asked=asked)) == [("allow", "")]


GROUPED: ValidatingPolicy = policy("cluster.group('mine').hasValue()", "!cluster.group('theirs').hasValue()")


def clustered(view: ClusterView, **parts: Any) -> Situation:
    return situation(cluster=view, **parts)


def test_cluster_shows_the_groups_of_the_requests_own_namespace() -> None:
    known = snapshot_of([pod_group("mine").build(), pod_group("theirs", namespace="team-b").build()])
    answer = judge([(compile_policy(GROUPED), (binding(),))], clustered(ClusterView(known, "team-a")))
    assert verdicts(answer) == [("allow", "")]


def test_a_rule_without_a_snapshot_is_skipped_loudly_offline() -> None:
    blind = clustered(ClusterView(EMPTY_SNAPSHOT, "team-a"), skip_undecided=True)
    answer = judge([(compile_policy(GROUPED), (binding(),))], blind)
    assert verdicts(answer) == [("skip", "validations[0]"), ("skip", "validations[1]")]
    assert "was skipped" in answer.trail.warnings[0]


def test_a_rule_without_a_snapshot_follows_the_failure_policy_in_a_cluster() -> None:
    blind = clustered(ClusterView(EMPTY_SNAPSHOT, "team-a"))
    assert isinstance(judge([(compile_policy(GROUPED), (binding(),))], blind), Denied)
