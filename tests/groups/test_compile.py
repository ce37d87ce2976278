"""What a WorkloadPolicy is refused for when it is loaded, with field and place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.groups.building import JOB_RULE, compiled, group, workload_policy
from tests.rules.building import CONFIG_MAP, constraints, named, rule, text
from webhook.errors import PolicySetError
from webhook.groups import compile_workload
from webhook.model.policies import WorkloadPolicy

DEPLOYMENTS = rule(operations=["CREATE"], api_groups=["apps"], api_versions=["v1"], resources=["deployments"])
GROUP = "spec.podGroups[0]"
COUNT = f"{GROUP}.members.countExpression"


def errors(policy: WorkloadPolicy) -> list[tuple[str, str]]:
    with pytest.raises(PolicySetError) as raised:
        compile_workload(policy)
    return [(error.field, str(error.args[0])) for error in raised.value.errors]


@pytest.mark.parametrize(
    ("policy", "field", "words"),
    [
        pytest.param(
            {"match_constraints": constraints(DEPLOYMENTS)},
            "spec.matchConstraints.resourceRules[0]",
            "replaces its pods one by one",
            id="what replaces its pods one by one",
        ),
        *(
            pytest.param(
                {"match_constraints": constraints(JOB_RULE, rule(operations=["CREATE"], **places))},
                "spec.matchConstraints.resourceRules[1]",
                words,
                id=name,
            )
            for name, places, words in (
                ("all of batch", {"api_groups": ["batch"], "resources": ["*"]}, "one by one, without *"),
                ("Jobs of any API group", {"api_groups": ["*"], "resources": ["jobs"]}, "one by one, without *"),
                ("a subresource", {"api_groups": ["batch"], "resources": ["jobs/status"]}, "without * and subresources"),
                ("CronJobs", {"api_groups": ["batch"], "resources": ["cronjobs"]}, "group the Jobs that it makes"),
                ("pods", {"api_groups": [""], "resources": ["pods"]}, "name the kind whose controller makes the pods"),
            )
        ),
        pytest.param(
            {"match_conditions": named(mine="object.spec.paralelism ==")},
            "spec.mine",
            "Syntax error",
            id="a condition that is no CEL",
        ),
        pytest.param(
            {"variables": named(a="request.name")}, "spec.a", "may not read request", id="a variable that reads the request"
        ),
        pytest.param(
            {"variables": named(a="oldObject")}, "spec.a", "may not read oldObject", id="a variable that reads oldObject"
        ),
    ],
)
def test_a_policy_is_refused_for(policy: dict[str, Any], field: str, words: str) -> None:
    ((found, message),) = errors(workload_policy(**policy))
    assert found == field
    assert words in message


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        pytest.param({"instances": "PerItem"}, f"{GROUP}.instances", "only with one path over one list", id="groups per item"),
        pytest.param(
            {"instances": "PerItem", "path": "spec.a[*].b[*].c"}, f"{GROUP}.instances", "only with one path", id="lists in lists"
        ),
        pytest.param(
            {"where": text("1 == 1"), "paths": ("spec.a[*]", "spec.b")}, f"{GROUP}.members.where", "only with", id="two places"
        ),
        pytest.param({"where": text("'yes'"), "path": "spec.a[*]"}, "spec", "to bool", id="a filter of text"),
        pytest.param(
            {"instances": "Key", "instance_key": text("1"), "path": "spec.a[*]"},
            "spec",
            "must evaluate to string, not to int",
            id="a number for a key",
        ),
        pytest.param({"count": "items.size()"}, COUNT, "undeclared reference to 'items'", id="entries of no list"),
        pytest.param(
            {"stamp": "Pod", "where": text("true"), "instances": "PerItem"},
            f"{GROUP}.instances",
            "use keyExpression",
            id="a group per pod",
        ),
        pytest.param(
            {"stamp": "Pod", "where": text("item.metadata.name == object.metadata.name")},
            "spec",
            "may read item only",
            id="a choice of pods that the API server cannot make",
        ),
        pytest.param(
            {"where": text("item.a")}, f"{GROUP}.members.where", "only with one path over one list", id="a filter over nothing"
        ),
        pytest.param({"count": "object.spec."}, COUNT, "Syntax error", id="a count that is no CEL"),
        pytest.param({"count": "'four'"}, COUNT, "must evaluate to int, not to string", id="a count that is text"),
        pytest.param({"count": "1.5"}, COUNT, "must evaluate to int, not to double", id="a count that is half a pod"),
        pytest.param({"count": "request.dryRun ? 1 : 2"}, COUNT, "may not read request", id="a count that reads the request"),
        pytest.param(
            {"count": "int(params.data.n)"}, COUNT, "only to a policy with spec.paramKind", id="params without a paramKind"
        ),
        pytest.param(
            {"min_count": "true"},
            f"{GROUP}.schedulingPolicy.gang.minCountExpression",
            "must evaluate to int",
            id="a quorum of truth",
        ),
        pytest.param(
            {"topology": "1"},
            f"{GROUP}.schedulingConstraints.topology[0].keyExpression",
            "must evaluate to string",
            id="a key of one",
        ),
        pytest.param(
            {"priority": "[]"},
            f"{GROUP}.priorityClassNameExpression",
            "must evaluate to string",
            id="a list for a priority class",
        ),
    ],
)
def test_a_group_is_refused_for(spec: dict[str, Any], field: str, words: str) -> None:
    ((found, message),) = errors(workload_policy(group(**spec)))
    assert found == field
    assert words in message


def test_a_pod_cannot_be_in_two_groups() -> None:
    ((field, message),) = errors(workload_policy(group("a"), group("b")))
    assert (field, message) == (
        "spec.podGroups[1].members.path",
        "spec.template belongs to another group already; a pod has one group",
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["spec.roles[*].template"], ["spec.roles.worker.template"]),
        (["spec.head", "spec.tail"], ["spec.other", "spec.tail"]),
    ],
    ids=["through a wildcard", "one path of several"],
)
def test_a_pod_cannot_be_in_two_groups_by_another_path(first: list[str], second: list[str]) -> None:
    ((field, message),) = errors(workload_policy(group("a", paths=tuple(first)), group("b", paths=tuple(second))))
    assert field == f"spec.podGroups[1].members.{'path' if len(second) == 1 else 'paths[1]'}"
    assert "belongs to another group already" in message


def test_other_kinds_may_be_grouped_but_not_natively() -> None:
    sets = constraints(
        rule(operations=["CREATE"], api_groups=["jobset.x-k8s.io"], api_versions=["v1alpha2"], resources=["jobsets"])
    )
    assert compiled(group(path="spec.replicatedJobs[*].template.spec.template"), match_constraints=sets).name == "gangs"
    ((field, message),) = errors(workload_policy(group(), match_constraints=sets, attach="Native"))
    assert (field, message) == (
        "spec.attach",
        "attach: Native is for Jobs of batch only, for no other controller makes their groups",
    )


def test_a_native_group_is_of_the_jobs_own_pods() -> None:
    ((field, message),) = errors(workload_policy(group(path="spec.other"), attach="Native"))
    assert (field, message[:60]) == ("spec.attach", "attach: Native makes one group, of the pods at spec.template")


def test_everything_wrong_is_said_at_once() -> None:
    found = errors(workload_policy(group(count="object.", min_count="'a'", instances="PerItem", path="spec.x"), attach="Native"))
    assert [field.removeprefix(f"{GROUP}.") for field, _ in found] == [
        "spec.attach", "instances", "members.countExpression", "schedulingPolicy.gang.minCountExpression",
    ]  # fmt: skip


def test_the_place_is_that_of_the_expression() -> None:
    with pytest.raises(PolicySetError) as raised:
        compile_workload(workload_policy(group(count="'four'")))
    assert (raised.value.path, raised.value.line) == ("policy.yaml", 7)


def test_conditions_may_read_the_request_and_what_only_runs_know_is_left_to_them() -> None:
    policy = compiled(
        group(count="int(params.data.n)", topology="params.data.key", min_count="variables.half"),
        match_conditions=named(mine="request.userInfo.username == 'alice' && oldObject == null"),
        variables=named(half="object.spec.parallelism / 2"),
        param_kind=CONFIG_MAP,
    )
    assert policy.name == "gangs"
    assert [named.name for named in policy.conditions.match_conditions] == ["mine"]
    assert [named.name for named in policy.head.variables] == ["half"]
