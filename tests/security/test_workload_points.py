"""Points 14, 16, 23, 24 and 25 of the checklist: every place of a pod, what mutation touches, races, preemption, permissions."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests import builders
from tests.policies.writing import binding, validating, yaml_of
from tests.preemption.groups import Group
from tests.preemption.test_guard import budget, with_budget
from tests.preemption.test_restart import plan, words
from tests.security.fuzz.reviews import reviewer_of
from tests.security.podspecs import CONTAINERS, KINDS, PLACES, PodPlace, cel, get, named
from webhook.cli.reviewer import LiveReviewer
from webhook.model.actions import Delete, Evict, Resume, Suspend
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, metadata_of
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot, snapshot_of
from webhook.model.verdicts import Admitted, Denied, Patched
from webhook.policies import PolicyStore, bundled_policies, load_policies
from webhook.rules import ClusterView
from webhook.settings import EvaluationSettings

ROOT = Path(__file__).resolve().parents[2]
BREACH = {"name": "breach", "image": "x", "securityContext": {"privileged": True}}
ASKING = Capabilities(group_objects=True, topology=True, shared_claims=True, native_jobs=False)


def everything(resource: str = "*") -> Object:
    return {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": [resource]}]}


def never() -> bool:
    return False


def judged(
    reviewer: LiveReviewer, body: Object, phase: Phase = Phase.VALIDATE, failure: FailurePolicy = FailurePolicy.FAIL
) -> Any:
    return reviewer.review(body, phase=phase, failure_policy=failure, expired=never).answer


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> LiveReviewer:
    """A rule against privileged containers, written for every place in which a pod may stand."""
    folder = tmp_path_factory.mktemp("guarded")
    lists = [f"{cel(place.path)}.?{name}.orValue([])" for place in PLACES for name in CONTAINERS]
    rule = f"[{', '.join(dict.fromkeys(lists))}].all(l, l.all(c, c.?securityContext.?privileged.orValue(false) != true))"
    (folder / "p.yaml").write_text(yaml_of(validating("sizes", rule, matchConstraints=everything()), binding()))
    return reviewer_of(load_policies([folder]))


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("containers", CONTAINERS)
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_14_no_container_list_and_no_template_is_a_hiding_place(
    guarded: LiveReviewer, place: PodPlace, containers: str, operation: str
) -> None:
    honest, breach = place.build(), place.build()
    get(breach, place.path).setdefault(containers, []).append(BREACH)
    old = honest if operation == "UPDATE" else None
    assert isinstance(judged(guarded, builders.review(honest, operation=operation, old=old)), Admitted)
    assert isinstance(judged(guarded, builders.review(breach, operation=operation, old=old)), Denied)


@pytest.mark.parametrize("resource", ["pods/ephemeralcontainers", "pods/*", "*/*", "*/ephemeralcontainers", "pods"])
def test_14_ephemeral_containers_come_by_their_own_subresource(tmp_path: Path, resource: str) -> None:
    rule = "object.spec.?ephemeralContainers.orValue([]).all(c, c.?securityContext.?privileged.orValue(false) != true)"
    (tmp_path / "p.yaml").write_text(yaml_of(validating("sizes", rule, matchConstraints=everything(resource)), binding()))
    place = PLACES[0]
    before, after = place.build(), place.build()
    after["spec"]["ephemeralContainers"] = [BREACH]
    body = builders.review(
        after, operation="UPDATE", old=before, subResource="ephemeralcontainers", requestSubResource="ephemeralcontainers"
    )
    answer = judged(reviewer_of(load_policies([tmp_path])), body)
    assert isinstance(answer, Denied) is (resource != "pods"), "a rule about pods says nothing of their subresources"


@pytest.fixture(scope="module")
def shipped() -> LiveReviewer:
    store = PolicyStore(load_policies([bundled_policies()]))
    return LiveReviewer(store, lambda: EMPTY_SNAPSHOT, lambda: ASKING, limits=EvaluationSettings(), invents_namespaces=True)


TOUCHED = re.compile(
    r"/metadata/annotations(/gangwarden\.dev~1[a-z-]+)?"
    r"|/spec/(podReplacementPolicy|podFailurePolicy|backoffLimit\w*|maxFailedIndexes|scheduling)(/.*)?"
    r"|(/[\w-]+)*/template/(metadata|metadata/annotations|metadata/labels)(/gangwarden\.dev~1[a-z-]+)?"
    r"|(/[\w-]+)*/schedulingGroup"
    r"|/spec/disruptionMode(/.*)?"
)


@pytest.mark.parametrize("place", KINDS, ids=lambda place: place.kind)
@pytest.mark.parametrize("failure", FailurePolicy)
@pytest.mark.parametrize(
    "shape", [{}, {"securityContext": None}, {"unknownField": {"a": [1, None]}}], ids=["plain", "null", "odd"]
)
def test_16_mutation_is_idempotent_and_touches_only_what_it_names(
    shipped: LiveReviewer, place: PodPlace, failure: FailurePolicy, shape: Object
) -> None:
    came = place.build()
    get(came, place.path).update(copy.deepcopy(shape))
    answer = judged(shipped, builders.review(came), Phase.MUTATE, failure)
    if isinstance(answer, Admitted):
        return
    assert isinstance(answer, Patched), answer
    once = jsonpatch.apply_patch(came, answer.patch)
    assert once == answer.object
    for operation in answer.patch:
        assert TOUCHED.fullmatch(operation["path"]), operation
    assert dict(named(once, "securityContext")) == dict(named(came, "securityContext"))
    for name in CONTAINERS:
        assert dict(named(once, name)) == dict(named(came, name))
    again = judged(shipped, builders.review(once), Phase.MUTATE, failure)
    assert isinstance(again, Admitted), again


def test_16_every_kind_of_gang_is_really_mutated(shipped: LiveReviewer) -> None:
    stamped = set()
    for place in KINDS:
        for failure in FailurePolicy:
            if isinstance(judged(shipped, builders.review(place.build()), Phase.MUTATE, failure), Patched):
                stamped.add(place.kind)
    assert {"Job", "JobSet", "LeaderWorkerSet"} <= stamped


GROUP = builders.pod_group("train-a", owner=builders.job("other").stored().build()).build()


@pytest.mark.parametrize("there", [True, False], ids=["deleted meanwhile", "created meanwhile"])
@pytest.mark.parametrize("edited", [True, False], ids=["and the policies edited", "and the policies kept"])
def test_23_what_changes_during_a_decision_changes_nothing_of_it(tmp_path: Path, *, there: bool, edited: bool) -> None:
    """The rule looks twice; in between the group comes or goes and another policy set is put in force."""
    twice = "cluster.group('train-a').hasValue() == (cluster.ageSeconds() >= 0.0 && cluster.group('train-a').hasValue())"
    rule = f"{twice} && cluster.group('train-a').hasValue() == {str(there).lower()}"
    (tmp_path / "p.yaml").write_text(yaml_of(validating("sizes", rule, matchConstraints=everything()), binding()))
    store = PolicyStore(load_policies([tmp_path]))
    (tmp_path / "p.yaml").write_text(yaml_of(validating("sizes", "false", matchConstraints=everything()), binding()))
    other = load_policies([tmp_path])
    states = [snapshot_of([GROUP, builders.namespace()]), snapshot_of([ANOTHER, builders.namespace()])]
    now = states if there else states[::-1]
    taken: list[Snapshot] = []

    def snapshot() -> Snapshot:
        taken.append(now[0])
        return now[0]

    class Racing(ClusterView):
        def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
            found = super().call(method, arguments)
            now.reverse()  # the cluster moves on between any two looks
            if edited:
                store.current = other
            return found

    reviewer = LiveReviewer(store, snapshot, lambda: ASKING, limits=EvaluationSettings(), invents_namespaces=True, view=Racing)
    answer = judged(reviewer, builders.review(builders.job().build()))
    assert len(taken) == 1, "one snapshot a review"
    assert isinstance(answer, Admitted), answer
    assert isinstance(judged(reviewer, builders.review(builders.job().build())), Denied) or not edited


ANOTHER = builders.pod_group("another").build()
"""Groups are watched, and the one in question is not there."""


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_24_a_budget_that_does_not_allow_the_whole_group_takes_nobody(allowed: int) -> None:
    turn = plan(with_budget(Group().run(4).doomed(0, "EvictionByEvictionAPI").deleted(0), budget(allowed)))
    assert not [write for write in turn.writes if isinstance(write, Suspend | Evict | Delete)], words(turn)


def test_24_a_restart_takes_all_members_and_only_proven_ones_never_the_controller_itself() -> None:
    """The controller's own pod, and anybody else's, may name the group: what its Job does not control is no member."""
    group = Group().run(4).doomed(0, "EvictionByEvictionAPI").deleted(0).stranger("gangwarden-controller-0")
    controller = group.pods["gangwarden-controller-0"]
    controller["metadata"]["labels"] = {"app.kubernetes.io/name": "gangwarden", "app.kubernetes.io/component": "controller"}
    members = {metadata_of(one)["name"] for one in group.facts().members}
    assert members == {f"train-{index}" for index in range(4)}
    writes = plan(group).writes
    taken = [write.key.name for write in writes if isinstance(write, Suspend | Resume | Evict | Delete)]
    assert taken == ["train"], "the Job as a whole, and no pod beside it"


ROLES = [
    (path.name, document)
    for path in (*sorted((ROOT / "docs/install").glob("*.yaml")), *sorted((ROOT / "docs/install/optional").glob("*.yaml")))
    for document in yaml.safe_load_all(path.read_text())
    if document and document["kind"].endswith("Role")
]
CHART_RULES = [
    (path.name, {"metadata": {"name": path.stem}, "rules": yaml.safe_load(path.read_text())})
    for path in sorted((ROOT / "charts/gangwarden/files/rules").glob("*.yaml"))
]


@pytest.mark.parametrize(("origin", "role"), [*ROLES, *CHART_RULES], ids=lambda value: value if isinstance(value, str) else "")
def test_25_no_role_has_a_wildcard_or_lets_its_holder_become_somebody_else(origin: str, role: Object) -> None:
    assert role["rules"], origin
    for rule in role["rules"]:
        verbs, resources, groups = (set(rule.get(name, ())) for name in ("verbs", "resources", "apiGroups"))
        assert "*" not in verbs | resources | groups
        assert not any("*" in name for name in resources)
        assert not verbs & {"escalate", "bind", "impersonate", "approve", "sign", "deletecollection", "proxy"}
        assert "rbac.authorization.k8s.io" not in groups
        assert not resources & {"serviceaccounts/token", "pods/exec", "pods/attach", "nodes/proxy", "pods/ephemeralcontainers"}
        if "secrets" in resources and verbs != {"create"}:
            assert rule["resourceNames"], "Secrets by name only"
        if verbs & {"create", "patch", "update"}:
            assert not resources & {"deployments", "daemonsets", "statefulsets", "validatingadmissionpolicies"}
