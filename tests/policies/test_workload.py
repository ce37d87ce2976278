"""WorkloadPolicy: the example of the design in every field, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.policies.writing import workload
from webhook.errors import PolicySetError
from webhook.model.objects import Object
from webhook.model.policies import DisruptionSpec, WorkloadPolicy
from webhook.policies import load_policies


def loaded(tmp_path: Path, document: Object) -> WorkloadPolicy:
    (tmp_path / "p.json").write_text(json.dumps(document))
    return load_policies([tmp_path]).workload[0].policy.source


def errors(tmp_path: Path, document: Object) -> list[tuple[str, str]]:
    with pytest.raises(PolicySetError) as raised:
        loaded(tmp_path, document)
    return [(error.field, str(error.args[0])) for error in raised.value.errors]


FULL = workload(
    precedence=3,
    attach="Auto",
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    variables=[{"name": "pods", "expression": "object.spec.parallelism"}],
    group={
        "members": {"path": "spec.template", "where": "", "countExpression": "variables.pods"},
        "instances": "One",
        "stamp": "Template",
        "schedulingPolicy": {"gang": {"minCountExpression": ""}},
        "disruptionMode": {"all": {}},
        "schedulingConstraints": {"topology": [{"keyExpression": "params.data.rackKey"}]},
        "priorityClassNameExpression": "",
        "resourceClaims": [{"name": "shared", "resourceClaimTemplateName": "gpus"}],
    },
    disruption={
        "onDisruption": "IfNotReplaced",
        "onMemberFailure": "Restart",
        "replacementGracePeriod": "90s",
        "onEviction": "Hold",
        "budgets": "Ignore",
        "budgetTimeout": "1h30m",
        "onBudgetTimeout": "Restart",
        "maxRestarts": 0,
        "fastRestart": True,
        "restart": {"evict": {}},
    },
    overrides={"allow": ["gangwarden.dev/min-count", "gangwarden.dev/topology-key"]},
)


def test_every_field_is_read(tmp_path: Path) -> None:
    policy = loaded(tmp_path, FULL)
    (group,) = policy.pod_groups
    assert (policy.precedence, policy.attach, policy.allowed_overrides[1]) == (3, "Auto", "gangwarden.dev/topology-key")
    assert (group.members.count.text, group.members.where, group.min_count) == ("variables.pods", None, None)
    assert (group.gang, group.disrupt_all, group.topology_keys[0].text) == (True, True, "params.data.rackKey")
    assert group.resource_claims == ({"name": "shared", "resourceClaimTemplateName": "gpus"},)
    assert policy.disruption == DisruptionSpec(
        on_disruption="IfNotReplaced",
        on_member_failure="Restart",
        replacement_grace_seconds=90.0,
        on_eviction="Hold",
        budgets="Ignore",
        budget_timeout_seconds=5400.0,
        on_budget_timeout="Restart",
        max_restarts=0,
        fast_restart=True,
        suspend_path="",
    )


def test_a_group_on_pods_needs_no_path(tmp_path: Path) -> None:
    members = {"where": "item.metadata.name == 'a'", "through": ["jobs.batch", "pods"], "count": 2}
    (group,) = loaded(tmp_path, workload(group={"stamp": "Pod", "members": members})).pod_groups
    assert (group.on_pods, group.members.paths, group.members.through) == (True, (), ("jobs.batch", "pods"))


def test_a_group_may_have_templates_at_several_paths(tmp_path: Path) -> None:
    (group,) = loaded(tmp_path, workload(group={"members": {"paths": ["spec.a", "spec.b[*].c"], "count": 2}})).pod_groups
    assert group.members.paths == ("spec.a", "spec.b[*].c")


def test_a_literal_is_the_expression_of_itself(tmp_path: Path) -> None:
    literals = {
        "members": {"path": "spec.template", "count": 4},
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]},
        "priorityClassName": "batch",
    }
    (group,) = loaded(tmp_path, workload(group=literals)).pod_groups
    expressions = (group.members.count, group.min_count, group.topology_keys[0], group.priority_class_name)
    assert [e.text for e in expressions if e] == ["4", "2", '"topology.kubernetes.io/rack"', '"batch"']


def test_a_group_may_be_no_gang(tmp_path: Path) -> None:
    (group,) = loaded(tmp_path, workload(group={"schedulingPolicy": {"basic": {}}, "disruptionMode": {"single": {}}})).pod_groups
    assert (group.gang, group.disrupt_all) == (False, False)


def whole(**parts: object) -> Object:
    """A policy with one group of one group."""
    inner = {"name": "workers", "members": {"path": "spec.template", "count": 2}}
    document = workload()
    document["spec"] = {name: value for name, value in document["spec"].items() if name != "podGroups"}
    document["spec"]["compositePodGroups"] = [{"name": "whole", "podGroups": [inner], **parts}]
    return document


def test_groups_may_stand_in_groups(tmp_path: Path) -> None:
    policy = loaded(
        tmp_path,
        whole(
            instances="One",
            schedulingPolicy={"gang": {"minGroupCountExpression": "1"}},
            schedulingConstraints={"topology": [{"key": "example.com/rack"}]},
        ),
    )
    (composite,), (group,) = policy.composites, policy.pod_groups
    assert (composite.name, group.composite, group.name) == ("whole", "whole", "workers")
    assert (composite.gang, composite.per_instance, composite.disrupt_all) == (True, False, True)
    assert [one.text for one in composite.expressions] == ["1", '"example.com/rack"']


def test_groups_in_groups_may_be_no_gang(tmp_path: Path) -> None:
    loose = whole(schedulingPolicy={"basic": {}}, disruptionMode={"single": {}})
    (composite,) = loaded(tmp_path, loose).composites
    assert (composite.gang, composite.disrupt_all, composite.expressions) == (False, False, ())


@pytest.mark.parametrize(
    ("parts", "field", "message"),
    [
        ({"name": "workers"}, "podGroups[0].name", '"workers" is there twice'),
        ({"name": "W"}, "name", "is not a name"),
        ({"podGroups": []}, "podGroups", "required: 1 to 8 entries"),
        ({"instances": "PerItem"}, "instances", '"PerItem" is not supported: use One or PerInstance'),
        ({"schedulingPolicy": {"gang": {"minCount": 1}}}, "schedulingPolicy.gang.minCount", "unknown field"),
        ({"schedulingPolicy": {"gang": {"minGroupCount": 0}}}, "schedulingPolicy.gang.minGroupCount", "must be at least 1"),
        ({"compositePodGroups": []}, "compositePodGroups", "unknown field"),
    ],
)
def test_a_group_of_groups_is_refused_for(tmp_path: Path, parts: Object, field: str, message: str) -> None:
    found = dict(errors(tmp_path, whole(**parts)))
    assert message in found[f"spec.compositePodGroups[0].{field}"]


def test_groups_stand_in_groups_or_by_themselves(tmp_path: Path) -> None:
    both = whole()
    both["spec"]["podGroups"] = both["spec"]["compositePodGroups"][0]["podGroups"]
    message = "podGroups and compositePodGroups exclude each other: name all groups within the latter"
    assert ("spec.podGroups", message) in errors(tmp_path, both)


MEMBERS = {"path": "spec.template", "countExpression": "1"}
GROUP = "spec.podGroups[0]"


@pytest.mark.parametrize(
    ("group", "field", "message"),
    [
        ({"name": "W"}, "name",
         '"W" is not a name: use lower case letters, digits and "-", at most 63, a letter or digit at both ends'),
        ({"members": {"path": "spec..x", "count": 1}}, "members.path", '"spec..x" is not a path such as spec.template'),
        ({"members": {"path": "spec.template"}}, "members.countExpression", "required: count or countExpression"),
        ({"members": {**MEMBERS, "count": 1}}, "members.count", "count and countExpression exclude each other"),
        ({"members": {"path": "spec.template", "count": 0}}, "members.count", "must be at least 1"),
        ({"members": {**MEMBERS, "where": "item.a"}}, "members.where", 'only with a path over a list ("[*]")'),
        ({"members": {**MEMBERS, "paths": ["spec.a"]}}, "members.paths", "path and paths exclude each other"),
        ({"members": {"count": 1}}, "members.path", "required"),
        ({"members": {"paths": [], "count": 1}}, "members.paths", "required: at least one entry"),
        ({"members": {"paths": ["a", "b."], "count": 1}}, "members.paths[1]", '"b." is not a path such as spec.template'),
        ({"members": {**MEMBERS, "through": ["jobs.batch"]}}, "members.through", "only with stamp: Pod"),
        ({"stamp": "Pod", "members": {"count": 1}}, "members.where", "required with stamp: Pod: it says which pods"),
        ({"stamp": "Pod", "members": {"count": 1, "where": "true", "through": ["Job"]}}, "members.through[0]",
         '"Job" is not a resource with its group, such as jobs.batch'),
        ({"schedulingPolicy": {"gang": {}, "basic": {}}}, "schedulingPolicy", "exactly one of gang and basic is required"),
        ({"disruptionMode": {"some": {}}}, "disruptionMode.some", "unknown field"),
        ({"schedulingConstraints": {"topology": [{}]}},
         "schedulingConstraints.topology[0].key", "required: key or keyExpression"),
        ({"resourceClaims": [{"name": "a"}]}, "resourceClaims[0]",
         "exactly one of resourceClaimName and resourceClaimTemplateName is required"),
        ({"instances": "Many"}, "instances", '"Many" is not supported: use One or PerItem'),
        ({"schedulingPolicy": {"gang": {"minCountExpression": "request.name"}}}, "schedulingPolicy.gang.minCountExpression",
         "a WorkloadPolicy may not read request: the controller evaluates it again when no request is at hand"),
    ],
)  # fmt: skip
def test_a_group_is_refused_for(tmp_path: Path, group: Object, field: str, message: str) -> None:
    assert (f"{GROUP}.{field}", message) in errors(tmp_path, workload(group=group))


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"podGroups": []}, "spec.podGroups", "required: 1 to 8 entries"),
        ({"precedence": "high"}, "spec.precedence", "must be a whole number, not text"),
        ({"disruption": {"budgetTimeout": "soon"}}, "spec.disruption.budgetTimeout",
         '"soon" is not a duration: write 90s, 10m or 1h30m'),
        ({"disruption": {"maxRestarts": -1}}, "spec.disruption.maxRestarts", "must be at least 0"),
        ({"disruption": {"fastRestart": "yes"}}, "spec.disruption.fastRestart", "must be true or false, not text"),
        ({"disruption": {"restart": {}}}, "spec.disruption.restart", "exactly one of suspendPath and evict is required"),
        ({"overrides": {"allow": ["x"]}}, "spec.overrides.allow[0]",
         '"x" cannot be overridden: use gangwarden.dev/gang, gangwarden.dev/min-count, gangwarden.dev/topology-key'),
        ({"validations": []}, "spec.validations", "unknown field"),
    ],
)  # fmt: skip
def test_a_policy_is_refused_for(tmp_path: Path, spec: Object, field: str, message: str) -> None:
    assert (field, message) in errors(tmp_path, workload(**spec))
