"""What the chart permits: what the code calls, verb by verb, and nothing that would let it become somebody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.charts.copied import TREES, granted
from tests.charts.helm import named, render
from webhook.admission import PolicySet, member_resources, owner_resources
from webhook.cli.cluster_process import _REVIEW_KINDS
from webhook.cli.evictions import GUARD_KINDS
from webhook.cluster.mapping import KNOWN
from webhook.controller import CONTROLLER_KINDS
from webhook.model.objects import Kind, Object
from webhook.policies import bundled_policies, load_policies

FORBIDDEN_VERBS = {"*", "escalate", "bind", "impersonate", "deletecollection", "approve", "sign"}
SCHEDULING, ADMISSION = "scheduling.k8s.io", "admissionregistration.k8s.io"
Permission = tuple[str, str, str]
"""API group, resource, verb."""

WEBHOOK_WRITES: set[Permission] = {
    *(
        (ADMISSION, f"{kind}webhookconfigurations", verb)
        for kind in ("mutating", "validating")
        for verb in ("create", "get", "update")
    ),
    ("authorization.k8s.io", "subjectaccessreviews", "create"),
}
"""cluster/configurations.py (get and update by name) and cluster/access.py."""


@pytest.fixture(scope="module")
def policies() -> PolicySet:
    return load_policies((bundled_policies(),))


def permissions(rules: Iterable[Object]) -> set[Permission]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def watched(kinds: Iterable[Kind]) -> Iterator[tuple[str, str]]:
    for kind in kinds:
        mapping = next(one for known, one in KNOWN.items() if (known.group, known.kind) == (kind.group, kind.kind))
        yield kind.group, mapping.resource


def rules_of(process: str, values: Object | None = None) -> list[Object]:
    return named(render(values), "ClusterRole", f"gangwarden-{process}")["rules"]


def test_the_webhook_lists_what_it_follows_and_writes_its_configurations(policies: PolicySet) -> None:
    grouped = {(one.group, one.resource) for one in owner_resources(policies)}
    members = {(one.group, one.resource) for one in member_resources(policies)}
    between = {(one.group, one.resource) for kinds in member_resources(policies).values() for one in kinds}
    needed = set(watched(Kind(place[0], "", place[1]) for place in policies.needs))
    followed = {*watched((*_REVIEW_KINDS, *GUARD_KINDS)), *grouped, *members, *between, *needed}
    assert (
        permissions(rules_of("webhook")) == {(*place, verb) for place in followed for verb in ("list", "watch")} | WEBHOOK_WRITES
    )


def test_the_controller_lists_what_it_follows(policies: PolicySet) -> None:
    grouped = {(one.group, one.resource) for one in owner_resources(policies)}
    between = {(one.group, one.resource) for kinds in member_resources(policies).values() for one in kinds}
    followed = {*watched((*_REVIEW_KINDS, *CONTROLLER_KINDS)), *grouped, *between}
    given = permissions(rules_of("controller"))
    assert {(group, resource) for group, resource, verb in given if verb == "watch"} >= followed
    readable = {(group, resource) for group, resource, verb in given if verb in ("list", "watch")}
    assert readable - followed <= {("", "nodes"), ("", "events"), ("policy", "poddisruptionbudgets"), ("", "resourcequotas")}


def test_the_controller_writes_group_objects_events_and_what_a_restart_takes() -> None:
    given = permissions(rules_of("controller"))
    writes = {one for one in given if one[2] not in ("get", "list", "watch")}
    kinds = {resource for group, resource, _ in writes if group not in (SCHEDULING, "events.k8s.io", "")}
    assert {(group, resource) for group, resource, verb in writes if verb in ("create", "delete")} == {
        (SCHEDULING, "podgroups"), (SCHEDULING, "workloads"), ("events.k8s.io", "events"), ("", "pods"), ("", "pods/eviction"),
    }  # fmt: skip
    assert ("", "pods", "create") not in writes
    assert {verb for _, resource, verb in writes if resource in kinds and not resource.endswith("/finalizers")} == {"patch"}


@pytest.mark.parametrize("namespaces", [[], ["team-a"]], ids=["everywhere", "one namespace"])
def test_a_controller_that_restarts_nothing_writes_no_workload_and_no_pod(namespaces: list[str]) -> None:
    role = ("Role", "gangwarden-controller-work", "team-a") if namespaces else ("ClusterRole", "gangwarden-controller")
    idle, full = (
        permissions(named(render({"namespaces": namespaces, "controller": {"restarts": restarts}}), *role)["rules"])
        for restarts in (False, True)
    )
    assert (
        idle
        < full
        == permissions(rule for rule in granted("ClusterRole", "gangwarden-controller"))
        - (
            {("", "namespaces", verb) for verb in ("list", "watch")} | {("", "nodes", verb) for verb in ("list", "watch")}
            if namespaces
            else set()
        )
    )
    writes = {one for one in idle if one[2] not in ("get", "list", "watch") and not one[1].endswith("/finalizers")}
    assert {(group, resource) for group, resource, _ in writes} == {
        (SCHEDULING, "podgroups"), (SCHEDULING, "workloads"), ("events.k8s.io", "events"),
    }  # fmt: skip


@pytest.mark.parametrize("namespaces", [[], ["team-a"]], ids=["everywhere", "one namespace"])
def test_uninstalling_it_may_still_resume_what_a_restart_left(namespaces: list[str]) -> None:
    objects = render({"namespaces": namespaces, "controller": {"restarts": False}})
    given = permissions(named(objects, "ClusterRole", "gangwarden-resume")["rules"])
    assert {verb for _, _, verb in given} == {"get", "patch"}
    assert ("batch", "jobs", "patch") in given
    bindings = [one for one in objects if one.get("roleRef", {}).get("name") == "gangwarden-resume"]
    kind = "RoleBinding" if namespaces else "ClusterRoleBinding"
    assert [(one["kind"], one["metadata"].get("namespace")) for one in bindings] == [(kind, *(namespaces or [None]))]
    assert all(one["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete" for one in bindings)


@pytest.mark.parametrize(
    "values",
    [None, {"namespaces": ["team-a"]}, {"controller": {"restarts": False}}, {"certificates": {"mode": "cert-manager"}}],
    ids=str,
)
def test_no_role_lets_its_holder_become_more_than_it_is(values: Object | None) -> None:
    for role in [one for one in render(values) if one["kind"].endswith("Role")]:
        for group, resource, verb in permissions(role["rules"]):
            assert "*" not in (group, resource)
            assert verb not in FORBIDDEN_VERBS
            assert group != "rbac.authorization.k8s.io"
            assert resource not in ("serviceaccounts/token", "pods/exec", "nodes/proxy", "certificatesigningrequests")
        for rule in role["rules"]:
            if "secrets" in rule["resources"] and rule["verbs"] != ["create"]:
                assert rule["resourceNames"] == ["gangwarden-certs"]
                assert not {"list", "watch"} & set(rule["verbs"])


def test_with_namespaces_nothing_of_a_namespace_is_permitted_elsewhere() -> None:
    objects = render({"namespaces": ["team-a", "team-b"]})
    whole_cluster = {mapping.resource for mapping in KNOWN.values() if not mapping.namespaced}
    for process in ("webhook", "controller"):
        everywhere = {resource for _, resource, _ in permissions(named(objects, "ClusterRole", f"gangwarden-{process}")["rules"])}
        assert everywhere <= whole_cluster
    for namespace in ("team-a", "team-b"):
        sight = named(objects, "Role", "gangwarden-webhook-sight", namespace)
        work = named(objects, "Role", "gangwarden-controller-work", namespace)
        assert permissions(sight["rules"]) < permissions(rules_of("webhook"))
        assert permissions(work["rules"]) < permissions(rules_of("controller"))
    assert named(objects, "Role", "gangwarden-probe")["metadata"]["namespace"] == "team-a"
    told = permissions(named(objects, "Role", "gangwarden-controller")["rules"])  # events on its Lease, when gates change
    assert {("events.k8s.io", "events", verb) for verb in ("create", "get", "patch")} <= told


@pytest.mark.parametrize("name", ["gangwarden-webhook", "gangwarden-controller", "gangwarden-probe"])
def test_roles_in_namespaces_are_those_of_the_manifests(name: str) -> None:
    assert permissions(named(render(), "Role", name)["rules"]) == permissions(granted("Role", name))


def test_a_certificate_of_somebody_else_is_only_read() -> None:
    (rule,) = named(render({"certificates": {"mode": "cert-manager"}}), "Role", "gangwarden-webhook")["rules"]
    assert (rule["verbs"], rule["resourceNames"]) == (["get"], ["gangwarden-certs"])


def test_what_uninstalling_takes_is_permitted_by_name_and_by_hooks_only() -> None:
    objects = render()
    for kind in ("ClusterRole", "Role"):
        role = named(objects, kind, "gangwarden-cleanup")
        assert role["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
        assert all("resourceNames" in rule for rule in role["rules"] if rule["verbs"] != ["list"])


def test_trees_of_groups_are_permitted_where_alpha_is_asked_for() -> None:
    more = permissions(rules_of("controller", {"enableAlpha": ["CompositePodGroup"]})) - permissions(rules_of("controller"))
    assert more == permissions(granted("ClusterRole", "gangwarden-controller-trees", TREES))


def test_tokens_may_be_reviewed_only_where_bound_ones_are_accepted() -> None:
    asked = {"webhook": {"authentication": {"modes": ["webhook-bound-token"]}}}
    more = permissions(rules_of("webhook", asked)) - permissions(rules_of("webhook"))
    assert more == {("authentication.k8s.io", "tokenreviews", "create")}
