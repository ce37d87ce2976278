"""The groups of one workload: expressions over it, the user's words within bounds, and every value that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import Built, job, namespace
from tests.groups.building import FREE, compiled, group
from tests.rules.building import FakeWorld, named, request, situation
from webhook.groups import GroupFailure, GroupProblem, resolve_groups
from webhook.groups.resolve import check_capabilities
from webhook.model.groups import MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION, Capabilities, PlannedGroup
from webhook.model.objects import Object
from webhook.model.policies import PodGroupSpec
from webhook.rules import Run

ASKED, KEY = f"metadata.annotations[{MIN_COUNT_ANNOTATION}]", f"metadata.annotations[{TOPOLOGY_KEY_ANNOTATION}]"
CLASS = "spec.template.spec.priorityClassName"


def resolve(obj: Built | Object, *groups: PodGroupSpec, stored: bool = False, **policy: Any) -> PlannedGroup:
    built = obj.build() if isinstance(obj, Built) else obj
    made = compiled(*groups, **policy)
    run = Run(made.head, situation(request(built), world=FakeWorld(namespaces=(namespace("team-a", rack="r1"),))), None)
    (found,) = resolve_groups(made, run, {"workers": "g"}.get, stored=stored)
    return found


def asking(value: str, *, pods: int = 4) -> Built:
    return job().parallelism(pods).annotate(MIN_COUNT_ANNOTATION, value)


@pytest.mark.parametrize(
    ("obj", "spec", "count", "quorum"),
    [
        pytest.param(job(), group(), 4, 4, id="all pods where nobody says less"),
        pytest.param(job(), group(min_count="object.spec.parallelism / 2"), 4, 2, id="what the policy computes"),
        pytest.param(job().parallelism(0), group(), 0, 1, id="1 where there are no pods: the API takes no less"),
        pytest.param(job().parallelism(1), group(min_count="1"), 1, 1, id="1 for a single pod"),
        pytest.param(asking("2"), group(), 4, 2, id="what the user asks for"),
        pytest.param(asking("4"), group(min_count="1"), 4, 4, id="the user's word above the policy's"),
        pytest.param(asking("03"), group(), 4, 3, id="a number with a leading zero"),
        pytest.param(asking(""), group(), 4, 4, id="all pods where the annotation is empty"),
        pytest.param(job(), group(count="7"), 7, 7, id="what a policy counts in another way"),
        pytest.param(job(), group(gang=False), 4, None, id="none for a group that is no gang"),
    ],
)
def test_the_quorum_is(obj: Built, spec: PodGroupSpec, count: int, quorum: int | None) -> None:
    found = resolve(obj, spec)
    assert (found.count, found.min_count) == (count, quorum)


@pytest.mark.parametrize(
    "value",
    ["0", "-1", "5", "four", "4.0", " 4", "+4", "1e1", "٤", "9" * 5000, "2147483648"],
    ids=[
        "zero",
        "minus",
        "too many",
        "word",
        "decimal",
        "blank",
        "plus",
        "power",
        "Arabic digit",
        "thousands of digits",
        "over int32",
    ],
)
def test_a_quorum_that_cannot_be_is_refused_with_its_field(value: str) -> None:
    with pytest.raises(GroupProblem, match="must be a whole number from 1 to the 4 pods of the workload") as raised:
        resolve(asking(value))
    assert not isinstance(raised.value, GroupFailure)
    assert raised.value.field == ASKED
    assert len(str(raised.value)) < 300


def test_a_policys_quorum_above_the_count_would_never_start() -> None:
    with pytest.raises(GroupProblem, match="minCount 5 is more than the 4 pods of the workload") as raised:
        resolve(job(), group(min_count="5"))
    assert raised.value.rule == "podGroups[0].schedulingPolicy.gang.minCountExpression"


@pytest.mark.parametrize(
    ("obj", "spec", "quorum"),
    [
        pytest.param(asking("4", pods=3), group(), 3, id="the user's"),
        pytest.param(job().parallelism(3), group(min_count="4"), 3, id="the policy's"),
        pytest.param(asking("2", pods=3), group(), 2, id="not one that still fits"),
    ],
)
def test_a_stored_workload_that_shrank_takes_its_quorum_along(obj: Built, spec: PodGroupSpec, quorum: int) -> None:
    assert resolve(obj, spec, stored=True).min_count == quorum


@pytest.mark.parametrize(
    ("obj", "spec", "key"),
    [
        pytest.param(job(), group(), "", id="none where nobody names one"),
        pytest.param(job(), group(topology="'example.com/rack'"), "example.com/rack", id="the policy's"),
        pytest.param(
            job(), group(topology="namespaceObject.metadata.labels.rack"), "r1", id="what the policy finds in the namespace"
        ),
        pytest.param(
            job().annotate(TOPOLOGY_KEY_ANNOTATION, "zone"), group(topology="'rack'"), "zone", id="the user's before it"
        ),
    ],
)
def test_the_topology_key_is(obj: Built, spec: PodGroupSpec, key: str) -> None:
    assert resolve(obj, spec).topology_key == key


@pytest.mark.parametrize("value", ["two words", "a/b/c", "-x", "x" * 300])
def test_a_topology_key_that_is_no_label_key_is_refused(value: str) -> None:
    """The API server would refuse the PodGroup, when the pods are waiting for it already."""
    with pytest.raises(GroupProblem, match="is no label key") as raised:
        resolve(job().annotate(TOPOLOGY_KEY_ANNOTATION, value))
    assert raised.value.field == KEY


@pytest.mark.parametrize("name", [MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION])
def test_a_word_that_the_policy_does_not_allow_is_refused(name: str) -> None:
    allowed = tuple(one for one in FREE if one != name)
    with pytest.raises(GroupProblem, match="is set, but the policy does not allow it") as raised:
        resolve(job().annotate(name, "2"), overrides=allowed)
    assert (raised.value.rule, raised.value.field) == ("overrides", f"metadata.annotations[{name}]")


def of_class(name: str) -> Built:
    return job().at(CLASS, name)


@pytest.mark.parametrize(
    ("obj", "spec", "name"),
    [
        pytest.param(job(), group(), "", id="none where the pods have none"),
        pytest.param(of_class("batch"), group(), "batch", id="the pods' own"),
        pytest.param(of_class("batch"), group(priority="'batch'"), "batch", id="the policy's where it is the pods' as well"),
    ],
)
def test_the_priority_class_is(obj: Built, spec: PodGroupSpec, name: str) -> None:
    assert resolve(obj, spec).priority_class_name == name


@pytest.mark.parametrize("obj", [job(), of_class("low")], ids=["pods of none", "pods of another"])
def test_a_group_of_another_priority_than_its_pods_is_refused(obj: Built) -> None:
    with pytest.raises(GroupProblem, match="the group's is 'high', so it would never be scheduled") as raised:
        resolve(obj, group(priority="'high'"))
    assert raised.value.field == CLASS


def many(*classes: str) -> Object:
    templates = [{"template": {"spec": {"priorityClassName": name} if name else {}}} for name in classes]
    return job().at("spec.roles", templates).build()


def test_priorities_within_one_group_must_agree() -> None:
    spec = group(path="spec.roles[*].template")
    assert resolve(many("a", "a"), spec).priority_class_name == "a"
    with pytest.raises(GroupProblem, match=r"differs within one group \('', 'a'\)"):
        resolve(many("a", ""), spec)


@pytest.mark.parametrize(
    "obj",
    [job().at("spec.template", None), job().at("spec.template", []), job().at("spec.template", {}), job().at("spec", {})],
    ids=["null", "a list", "no spec", "no template"],
)
def test_a_workload_without_the_template_is_refused(obj: Built) -> None:
    with pytest.raises(GroupProblem, match="there is no pod template at spec") as raised:
        resolve(obj)
    assert raised.value.field == "spec.template"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(group(count="object.spec.nope"), "members.countExpression failed: no such key: nope", id="a missing field"),
        pytest.param(group(count="dyn('4')"), "members.countExpression gave '4', not a whole number", id="text for a count"),
        pytest.param(group(count="dyn(true)"), "gave True, not a whole number", id="truth for a count"),
        pytest.param(group(count="dyn(4.0)"), "gave 4.0, not a whole number", id="a double for a count"),
        pytest.param(group(count="-1"), "gave -1, not a whole number from 0", id="fewer than no pods"),
        pytest.param(group(count="2147483648"), "to 2147483647", id="more pods than the API counts"),
        pytest.param(group(min_count="0"), "minCountExpression gave 0, not a whole number from 1", id="a quorum of none"),
        pytest.param(group(min_count="dyn(null)"), "minCountExpression gave None", id="null for a quorum"),
        pytest.param(group(topology="dyn(1)"), "keyExpression gave 1, not a string", id="a number for a key"),
        pytest.param(group(topology="'a b'"), "keyExpression gave 'a b', which is no label key", id="a key that is none"),
        pytest.param(group(priority="dyn([])"), "priorityClassNameExpression gave [], not a string", id="a list for a class"),
        pytest.param(group(count="variables.a"), 'variable "a" fails to evaluate: no such key', id="a variable that fails"),
    ],
)
def test_it_is_the_policys_failure(spec: PodGroupSpec, words: str) -> None:
    with pytest.raises(GroupFailure) as raised:
        resolve(job(), spec, variables=named(a="object.spec.nope"))
    assert words in str(raised.value)
    assert raised.value.rule.startswith("podGroups[0].")
    assert not raised.value.undecided


def test_what_is_not_in_the_snapshot_is_undecided() -> None:
    with pytest.raises(GroupFailure) as raised:
        resolve(job(), group(count="cluster.group('x').hasValue() ? 1 : 2"))
    assert raised.value.undecided


def test_nothing_can_be_resolved_of_no_object() -> None:
    policy, asked = compiled(), request(None, old_object=job().build())
    with pytest.raises(GroupProblem, match="no object to group"):
        resolve_groups(policy, Run(policy.head, situation(asked), None), {"workers": "g"}.get)


def test_a_template_without_a_name_is_left_out() -> None:
    policy = compiled()
    assert resolve_groups(policy, Run(policy.head, situation(), None), {"others": "g"}.get) == ()


PLANNED = PlannedGroup(template="workers", pod_group="g", count=4, min_count=4)
RACK = PlannedGroup(template="workers", pod_group="g", count=4, min_count=4, topology_key="rack")
CLAIM = PlannedGroup(template="workers", pod_group="g", count=4, min_count=4, resource_claims=({"name": "gpus"},))


@pytest.mark.parametrize(
    ("planned", "capabilities", "words"),
    [
        (RACK, Capabilities(group_objects=True), "stay within one rack, but feature gate TopologyAwareWorkloadScheduling is off"),
        (CLAIM, Capabilities(group_objects=True), "share resource claims, but feature gate DRAWorkloadResourceClaims is off"),
    ],
    ids=["topology", "claims"],
)
def test_what_the_cluster_would_drop_is_refused(planned: PlannedGroup, capabilities: Capabilities, words: str) -> None:
    with pytest.raises(GroupProblem, match=words):
        check_capabilities((PLANNED, planned), capabilities)


def test_what_the_cluster_keeps_is_fine() -> None:
    check_capabilities((PLANNED,), Capabilities())
    check_capabilities((RACK, CLAIM), Capabilities(topology=True, shared_claims=True))


SHARED = {"name": "link", "resourceClaimTemplateName": "link-tmpl"}


def claiming(*claims: Object) -> Built:
    return job().at("spec.template.spec.resourceClaims", list(claims))


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(job(), id="pods without a claim"),
        pytest.param(claiming({"name": "other", "resourceClaimTemplateName": "link-tmpl"}), id="a claim of another name"),
        pytest.param(claiming({"name": "link", "resourceClaimTemplateName": "link"}), id="a claim from another template"),
        pytest.param(claiming({"name": "link", "resourceClaimName": "link-tmpl"}), id="a claim that exists already"),
    ],
)
def test_pods_that_would_not_share_the_groups_claim_are_refused(obj: Built) -> None:
    with pytest.raises(GroupProblem, match="'link' from resourceClaimTemplateName 'link-tmpl', but no entry") as told:
        resolve(obj, group(resource_claims=(SHARED,)))
    assert told.value.field == "spec.template.spec.resourceClaims"
    assert resolve(obj, group(resource_claims=(SHARED,)), stored=True).resource_claims == (SHARED,)


def test_pods_that_share_the_groups_claim_may_have_others() -> None:
    obj = claiming({"name": "own", "resourceClaimName": "disk"}, SHARED)
    assert resolve(obj, group(resource_claims=(SHARED,))).resource_claims == (SHARED,)
