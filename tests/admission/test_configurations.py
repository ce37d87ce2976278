"""The webhook configurations of a set of policies: what is sent to us, and what never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.admission.attaching import bound
from tests.builders import Built, job, namespace, pod
from tests.groups.building import compiled
from tests.rules.building import FakeWorld, binding, constraints, named, policy, request, rule, selector, situation, text
from webhook.admission import BoundWorkload, Endpoint, NamespaceScope, PolicySet, plan_configurations, webhook_needs
from webhook.admission.conditions import condition_text
from webhook.admission.configurations import CONDITION_NAME
from webhook.model.groups import PROBE_LABEL
from webhook.model.objects import Object, Resource
from webhook.model.policies import Action, Binding, DisruptionSpec, FailurePolicy, MatchResources, Requirement
from webhook.model.requests import AdmissionRequest, Operation
from webhook.policies import load_policies
from webhook.rules import ADMISSION_ROOTS, Invocation, Run, compile_head, compile_policy, conditions_hold, invocations
from webhook.rules.compile import compile_one
from webhook.rules.declare import declare

ROOT = Path(__file__).resolve().parents[2]
URL = Endpoint(url="https://localhost:9443/")
JOBS = rule(operations=["CREATE"], api_groups=["batch"], api_versions=["v1"], resources=["jobs"])
EVICTIONS = rule(operations=["CREATE"], api_groups=[""], api_versions=["v1"], resources=["pods/eviction"])


def holding(*policies: Any, bindings: tuple[Binding, ...] = (binding(),)) -> PolicySet:
    return PolicySet(validating=tuple((compile_policy(one), bindings) for one in policies))


def webhooks(policies: PolicySet, endpoint: Endpoint = URL) -> dict[str, Object]:
    planned = plan_configurations(webhook_needs(policies), endpoint, ca_bundle="Q0E=", scope=NamespaceScope())
    assert [one["kind"] for one in planned] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    return {webhook["name"]: webhook for one in planned for webhook in one["webhooks"]}


def condition(webhook: Object) -> str:
    return next((one["expression"] for one in webhook["matchConditions"] if one["name"] == CONDITION_NAME), "")


def holds(expression: str, asked: AdmissionRequest) -> bool:
    """Evaluate a match condition as the API server does."""
    head = compile_head(policy("true").head)
    program = compile_one(text(expression), declare(ADMISSION_ROOTS, has_params=False))
    value = Run.of_conditions(head, situation(asked), None).evaluate(program)
    assert isinstance(value, bool)
    return value


def test_each_failure_policy_has_its_path_and_no_other() -> None:
    found = webhooks(
        PolicySet(
            validating=holding(policy("true"), policy("true", failure_policy=FailurePolicy.IGNORE)).validating,
            workload=(bound(),),
        )
    )
    assert {(name, one["failurePolicy"], one["clientConfig"]["url"]) for name, one in found.items()} == {
        ("ignore.mutate.gangwarden.dev", "Ignore", "https://localhost:9443/mutate/ignore"),
        ("fail.validate.gangwarden.dev", "Fail", "https://localhost:9443/validate/fail"),
        ("ignore.validate.gangwarden.dev", "Ignore", "https://localhost:9443/validate/ignore"),
        ("evictions.gangwarden.dev", "Ignore", "https://localhost:9443/evictions"),
    }
    assert {one["clientConfig"]["caBundle"] for one in found.values()} == {"Q0E="}


def test_evictions_are_sent_and_nothing_else_about_pods_where_a_policy_speaks_of_them() -> None:
    found = webhooks(PolicySet(workload=(bound(),)))["evictions.gangwarden.dev"]
    (rule_,) = found["rules"]
    assert (rule_["operations"], rule_["resources"]) == (["CREATE"], ["pods/eviction"])
    assert (found["failurePolicy"], found["sideEffects"]) == ("Ignore", "NoneOnDryRun")
    (selected,) = found["namespaceSelector"]["matchExpressions"]
    assert selected["values"] == ["gangwarden-system", "kube-system"]


@pytest.mark.parametrize(
    ("disruption", "sent"),
    [
        (DisruptionSpec(), True),
        (DisruptionSpec(budgets="Ignore"), False),
        (DisruptionSpec(budgets="Ignore", on_eviction="Hold"), True),
        (DisruptionSpec(on_disruption="Ignore"), False),
        (DisruptionSpec(on_disruption="Ignore", on_eviction="Hold"), True),
    ],
)
def test_evictions_are_sent_only_where_a_bound_policy_has_something_to_say(disruption: DisruptionSpec, sent: bool) -> None:
    grouping = compiled(disruption=disruption)
    assert ("evictions.gangwarden.dev" in webhooks(PolicySet(workload=(bound(grouping),)))) is sent
    assert webhooks(PolicySet(workload=(BoundWorkload(policy=grouping, bindings=()),))) == {}


def test_what_nobody_asks_for_is_not_registered() -> None:
    native = policy("true", labels={"gangwarden.dev/install": "native"})
    assert webhooks(PolicySet()) == {}
    assert webhooks(holding(policy("true"), bindings=())) == {}
    assert webhooks(holding(native)) == {}


def test_a_service_is_called_by_its_name() -> None:
    (found,) = webhooks(holding(policy("true")), Endpoint(service_namespace="ns", service_name="gw", service_port=8443)).values()
    assert found["clientConfig"]["service"] == {"namespace": "ns", "name": "gw", "path": "/validate/fail", "port": 8443}


def test_no_label_of_the_callers_hides_an_object() -> None:
    for found in webhooks(PolicySet(validating=holding(policy("true")).validating, workload=(bound(),))).values():
        assert found["objectSelector"] == {"matchExpressions": []}
        assert found["namespaceSelector"]["matchExpressions"][0]["key"] == "kubernetes.io/metadata.name"


PROBE = job().label(PROBE_LABEL, "true").build()


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        pytest.param(request(PROBE, dry_run=True), False, id="our probe"),
        pytest.param(request(PROBE), True, id="an object that carries the probe's label and is stored"),
        pytest.param(request(job().build(), dry_run=True), True, id="another dry run"),
        pytest.param(request(None, old_object=PROBE, dry_run=True), True, id="a deletion"),
    ],
)
def test_only_a_dry_run_with_the_probes_label_stays_away(asked: AdmissionRequest, sent: bool) -> None:
    (found,) = webhooks(holding(policy("true"))).values()
    assert holds(found["matchConditions"][0]["expression"], asked) is sent


LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "node-1", "namespace": "kube-node-lease"}}


@pytest.mark.parametrize(
    ("groups", "resources"),
    [
        (["*"], ["*"]),
        (["*"], ["*/*"]),
        (["coordination.k8s.io"], ["leases"]),
        (["batch", "coordination.k8s.io"], ["jobs", "leases"]),
    ],
)
def test_leases_are_never_sent_whatever_a_policy_matches(groups: list[str], resources: list[str]) -> None:
    everything = rule(api_groups=groups, resources=resources)
    for failure in FailurePolicy:
        found = webhooks(holding(policy("true", match_constraints=constraints(everything), failure_policy=failure)))
        (hook,) = found.values()
        (said,) = [one["expression"] for one in hook["matchConditions"] if one["name"] == "no-leases"]
        assert not holds(said, request(LEASE, resource=Resource("coordination.k8s.io", "v1", "leases")))
        assert holds(said, request(job().build(), resource=Resource("batch", "v1", "jobs")))


def test_where_no_rule_reaches_leases_nothing_is_said_of_them() -> None:
    found = webhooks(
        PolicySet(validating=holding(policy("true", match_constraints=constraints(JOBS))).validating, workload=(bound(),))
    )
    assert [one["name"] for hook in found.values() for one in hook["matchConditions"] if one["name"] == "no-leases"] == []


def test_the_plan_does_not_depend_on_the_order_of_the_policies() -> None:
    first = policy("true", match_constraints=constraints(JOBS, EVICTIONS))
    second = policy("1 == 1", match_constraints=constraints(rule(api_groups=["batch"], resources=["cronjobs", "jobs"])))
    assert [hook["rules"] for hook in webhooks(holding(first, second)).values()] == [
        hook["rules"] for hook in webhooks(holding(second, first)).values()
    ]


def test_the_same_rules_become_one() -> None:
    twice = holding(policy("true", match_constraints=constraints(JOBS)), policy("1 == 1", match_constraints=constraints(JOBS)))
    (found,) = webhooks(twice).values()
    assert found["rules"] == [
        {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"], "scope": "*"}
    ]


def test_a_policy_for_everything_leaves_no_condition() -> None:
    (found,) = webhooks(holding(policy("true"))).values()
    assert condition(found) == ""


LABELLED = [
    pytest.param(selector(team="a"), job().label("team", "a"), True, id="equal"),
    pytest.param(selector(team="a"), job().label("team", "b"), False, id="another value"),
    pytest.param(selector(team="a"), job(), False, id="no label"),
    pytest.param(selector(Requirement(key="t/x", operator="In", values=("a", "b"))), job().label("t/x", "b"), True, id="in"),
    pytest.param(selector(Requirement(key="t", operator="In", values=("a",))), job(), False, id="not in"),
    pytest.param(
        selector(Requirement(key="t", operator="NotIn", values=("a",))), job().label("t", "a"), False, id="not in, but is"
    ),
    pytest.param(selector(Requirement(key="t", operator="NotIn", values=("a",))), job(), True, id="not in, without the label"),
    pytest.param(selector(Requirement(key="t", operator="Exists")), job().label("t", ""), True, id="exists"),
    pytest.param(
        selector(Requirement(key="t", operator="DoesNotExist")), job().label("t", ""), False, id="does not exist, but does"
    ),
]


@pytest.mark.parametrize(("chosen", "obj", "expected"), LABELLED)
def test_a_selector_is_said_in_cel(chosen: Any, obj: Built, expected: bool) -> None:
    head = policy("true", match_constraints=constraints(JOBS, object_selector=chosen)).head
    assert holds(condition_text([(head, ())]), request(obj.build())) is expected


def test_the_old_object_is_looked_at_as_well() -> None:
    updates = rule(operations=["UPDATE"], api_groups=["batch"], api_versions=["v1"], resources=["jobs"])
    head = policy("true", match_constraints=constraints(updates, object_selector=selector(t="a"))).head
    dropped = request(job().build(), operation=Operation.UPDATE, old_object=job().label("t", "a").build())
    assert holds(condition_text([(head, ())]), dropped)


def condition_of(*policies: Any, bindings: tuple[Binding, ...] = (binding(),)) -> str:
    (found,) = webhooks(holding(*policies, bindings=bindings)).values()
    return condition(found)


MINE = named(mine="object.spec.parallelism > 2 // a comment")
FEW = {"match_constraints": constraints(JOBS), "match_conditions": MINE}


def test_a_policys_own_conditions_are_said_for_it() -> None:
    found = condition_of(policy("true", **FEW))
    assert holds(found, request(job().parallelism(3).build()))
    assert not holds(found, request(job().parallelism(1).build()))


@pytest.mark.parametrize(
    ("parts", "bound_by"),
    [
        pytest.param({}, binding(match_resources=MatchResources()), id="a binding that is not everywhere"),
        pytest.param({}, binding(Action.AUDIT), id="a binding that does not deny"),
        pytest.param(
            {"match_constraints": constraints(JOBS, namespace_selector=selector(a="b"))}, binding(), id="some namespaces"
        ),
        pytest.param(
            {"match_constraints": constraints(JOBS, exclude_resource_rules=(JOBS,))}, binding(), id="rules that exclude"
        ),
        pytest.param(
            {"match_constraints": constraints(rule(api_groups=["batch"], resources=["jobs"], resource_names=["a"]))},
            binding(),
            id="names",
        ),
    ],
)
def test_a_condition_that_may_refuse_more_than_its_policy_stays_here(parts: dict[str, Any], bound_by: Binding) -> None:
    """Where it fails, the API server refuses without asking us: also for a namespace in which the policy says nothing."""
    assert "parallelism" not in condition_of(policy("true", **FEW | parts), bindings=(bound_by,))


def test_under_ignore_every_condition_may_be_told() -> None:
    ignoring = policy("true", failure_policy=FailurePolicy.IGNORE, **FEW)
    assert "parallelism" in condition_of(ignoring, bindings=(binding(Action.AUDIT, match_resources=MatchResources()),))


@pytest.mark.parametrize(("failure", "told"), [(FailurePolicy.FAIL, False), (FailurePolicy.IGNORE, True)])
def test_the_mutating_webhook_ignores_so_only_such_conditions_are_told(failure: FailurePolicy, told: bool) -> None:
    grouping = compiled(match_conditions=MINE, failure_policy=failure)
    found = webhooks(PolicySet(workload=(bound(grouping),)))["ignore.mutate.gangwarden.dev"]
    assert ("parallelism" in condition(found)) is told


def test_a_condition_that_reads_more_than_a_webhook_knows_stays_here() -> None:
    asking = named(mine="object.spec.parallelism > 2", ns="namespaceObject.metadata.name == 'a'")
    found = condition_of(policy("true", match_constraints=constraints(JOBS), match_conditions=asking))
    assert "parallelism" in found
    assert "namespaceObject" not in found


def test_a_condition_is_not_asked_of_other_resources_of_the_same_path() -> None:
    """An expression about an eviction fails on a pod, and under Fail that would refuse the pod."""
    evictions = policy("true", match_constraints=constraints(EVICTIONS), match_conditions=named(a="object.deleteOptions.x == 1"))
    found = condition_of(evictions, policy("true", **FEW))
    assert not holds(found, request(pod().build()))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": {"x": 1}}
    assert holds(found, request(eviction, resource=Resource("", "v1", "pods"), sub_resource="eviction"))


def test_needs_without_conditions_still_keep_the_probe_out() -> None:
    needs = webhook_needs(holding(policy("true", **FEW))).without_conditions()
    planned = plan_configurations(needs, URL, ca_bundle="", scope=NamespaceScope())
    (found,) = planned[1]["webhooks"]
    assert [one["name"] for one in found["matchConditions"]] == ["no-probe-of-our-own"]
    assert "caBundle" not in found["clientConfig"]


GROUPED = job().gang(4).at("spec.template.spec.schedulingGroup", {"podGroupName": "g"})
ASKED = [
    request(job().build()),
    request(job().gang().build()),
    request(GROUPED.build()),
    request(job().gang().build(), operation=Operation.UPDATE, old_object=job().gang().build()),
    request(GROUPED.build(), operation=Operation.UPDATE, old_object=job().build()),
    request(None, old_object=job().gang().build()),
    request(pod().build()),
    request(pod(group="g").build()),
    request(pod(group="g").label("gangwarden.dev/gang", "true").build()),
    request(job().at("kind", "CronJob").at("spec", {"jobTemplate": {"spec": GROUPED.build()["spec"]}}).gang().build()),
]


@pytest.mark.parametrize("asked", ASKED, ids=range(len(ASKED)))
def test_nothing_is_held_back_that_a_shipped_policy_speaks_about(asked: AdmissionRequest) -> None:
    policies = load_policies([ROOT / "policies"])
    needs = webhook_needs(policies)
    about = situation(asked, world=FakeWorld(namespaces=(namespace(),)))
    for compiled_policy, bindings in policies.validating:
        head = compiled_policy.head
        if head.source.labels.get("gangwarden.dev/install") == "native":
            continue
        steps = [step for step in invocations(head.source, bindings, about) if isinstance(step, Invocation)]
        if any(conditions_hold(head, about, step.params) for step in steps):
            expression = needs.validating[head.source.failure_policy].condition
            assert not expression or holds(expression, asked), head.source.name
