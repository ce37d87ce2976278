"""Points 1 to 7, 10, 13 and 15 of the checklist, from the attacker's side: policies, params, exceptions, and what is asked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from tests import builders
from tests.policies.writing import binding as bound
from tests.policies.writing import validating, yaml_of
from tests.rules.building import CONFIG_MAP, FakeWorld, ask, binding, by_name, config_map, named, policy, request, rule, situation
from tests.rules.excepting import NOW, exception
from tests.security.fuzz.price import Price
from tests.security.fuzz.reviews import reviewer_of
from webhook.cel import Budget, CompileError, Declarations, EvaluationError, compile_expression
from webhook.cel.library import FUNCTIONS, MUTATION_FUNCTIONS
from webhook.cli.cluster_process import ClusterProcess
from webhook.errors import PolicySetError, ReviewError
from webhook.model.objects import Object, Resource
from webhook.model.policies import FailurePolicy, LabelSelector, MatchResources
from webhook.model.requests import Phase
from webhook.model.snapshot import snapshot_of
from webhook.model.verdicts import Admitted, Denied
from webhook.policies import Kept, PolicyStore, PolicyWatcher, Swap, load_policies
from webhook.rules import ClusterView, compile_policy, judge
from webhook.rules.equivalence import _FAMILIES
from webhook.server import Metrics
from webhook.settings import ReloadSettings

EVERYTHING = {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}
TENANT = LabelSelector(match_labels=(("team", "a"),), match_expressions=())
LOOKUPS: dict[str, dict[str, Any]] = {
    "a field": {"validations": ("object.spec.nope == 1",)},
    "a key": {"validations": ("object.metadata.labels['nope'] == ''",)},
    "an index": {"validations": ("object.spec.template.spec.containers[7].name != ''",)},
    "a field of an object that is not there": {"validations": ("oldObject.spec.parallelism == 1",)},
    "a variable": {"validations": ("variables.v == 1",), "variables": named(v="object.spec.nope")},
    "a match condition": {"validations": ("true",), "match_conditions": named(c="object.spec.nope == 1")},
    "a group without a snapshot": {"validations": ("cluster.group('g').hasValue()",), "cluster": None},
    "who may do what, with nobody to ask": {"validations": ("authorizer.path('/a').check('get').allowed()",)},
    "params": {"validations": ("true",), "param_kind": CONFIG_MAP, "bindings": (binding(param_ref=by_name("nope")),)},
    "a namespace": {
        "validations": ("true",),
        "match_constraints": MatchResources(namespace_selector=TENANT),
        "world": FakeWorld(()),
    },
    "the labels of a namespace": {"validations": ("namespaceObject.metadata.labels['x'] == ''",), "world": FakeWorld(())},
    "a conversion": {"validations": ("int(object.metadata.name) > 0",)},
}


@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize("failure", FailurePolicy)
def test_01_no_lookup_error_turns_into_an_allow(lookup: str, failure: FailurePolicy) -> None:
    parts = dict(LOOKUPS[lookup])
    about = {key: parts.pop(key) for key in ("world", "cluster") if key in parts}
    judged = policy(*parts.pop("validations"), failure_policy=failure, **{k: v for k, v in parts.items() if k != "bindings"})
    answer = ask(judged, *parts.get("bindings", ()), **about)
    assert isinstance(answer, Denied if failure is FailurePolicy.FAIL else Admitted)
    assert {one.verdict.value for one in answer.trail.findings} == {"deny" if failure is FailurePolicy.FAIL else "error"}
    assert all(one.message for one in answer.trail.findings)


@pytest.mark.parametrize("version", ["gangwarden.dev/v1alpha1", "gangwarden.dev/v1beta1", "gangwarden.dev/v1", "kyverno.io/v2"])
def test_02_an_exception_counts_from_the_policy_files_only_and_in_the_served_version(tmp_path: Path, version: str) -> None:
    documents = [validating("sizes", "false", matchConstraints=EVERYTHING), bound()]
    theirs = tenants_exception(version)
    (tmp_path / "p.yaml").write_text(yaml_of(*documents))
    reviewer = reviewer_of(load_policies([tmp_path]))
    reviewer._snapshot = lambda: snapshot_of([theirs, builders.namespace()])  # a tenant's object in the cluster
    for obj in (builders.job().build(), theirs):
        answer = reviewer.review(builders.review(obj), phase=Phase.VALIDATE, failure_policy=FailurePolicy.FAIL, expired=never)
        assert isinstance(answer.answer, Denied)
    if version != "gangwarden.dev/v1alpha1":  # among the files, a version that is not served excepts nothing either
        (tmp_path / "e.yaml").write_text(yaml_of(theirs))
        assert load_failed(tmp_path) or not load_policies([tmp_path]).validating[0][0].exceptions


def tenants_exception(version: str) -> Object:
    spec = {
        "policyName": "sizes",
        "policyKind": "ValidatingAdmissionPolicy",
        "rules": [{"rule": "validations[0]"}],
        "matchConditions": [{"name": "mine", "expression": "request.namespace == 'team-a'"}],
        "owner": "me",
        "reason": "because",
        "expires": "2999-01-01",
    }
    return {"apiVersion": version, "kind": "PolicyException", "metadata": {"name": "mine", "namespace": "team-a"}, "spec": spec}


def load_failed(folder: Path) -> bool:
    try:
        load_policies([folder])
    except PolicySetError:
        return True
    return False


def never() -> bool:
    return False


CONDITIONS = ("request.namespace == 'team-a'", "request.name == 'train'", "request.name == 'other'", "request.namespace == 'b'")


HOLDING = set(CONDITIONS[:2])
"""What is true of the request."""
PAIRS = tuple(itertools.combinations(CONDITIONS, 2))


@pytest.mark.parametrize("first", PAIRS)
@pytest.mark.parametrize("second", PAIRS)
def test_03_two_exceptions_pass_only_what_one_of_them_passes_alone(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    passes = [exception(*first, name="e1"), exception(*second, name="e2", rules=("validations[1]",))]
    passes.append(exception(*second, name="e3", expires=NOW - timedelta(days=1)))  # has ended
    alone = [set(first) <= HOLDING, set(second) <= HOLDING]
    assert admitted_with(*passes) is all(alone), "each rule needs one exception, all of whose conditions hold"
    for fewer in itertools.combinations(passes, 2):
        assert not admitted_with(*fewer) or passes[2] not in fewer


def admitted_with(*exceptions: Any) -> bool:
    judged = replace(compile_policy(policy("object.spec.parallelism < 1", "object.spec.completions < 1")), exceptions=exceptions)
    return isinstance(judge([(judged, (binding(),))], situation(request(), now=NOW)), Admitted)


GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "noise": bytes(range(256)) * 8,
    "a bomb": b"a0: &a0 [x]\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 20)) for n in range(1, 9)),
    "a tower": b"[" * 100_000,
    "half a file": b"apiVersion: admissionregistration.k8s.io/v1\nkind: Validating",
    "an alias of itself": b"a: &a [*a]",
    "a document of every kind": b"1\n---\n- x\n---\nnull\n---\n'text'\n",
    "spec that is a list": yaml_of({**validating(), "spec": []}).encode(),
    "CEL that does not end": yaml_of(validating("x", "(" * 10_000)).encode(),
    "CEL of another type": yaml_of({**validating(), "spec": {"validations": [{"expression": {"a": 1}}]}}).encode(),
    "too much": b"#" * (4 * 1024 * 1024 + 1),
    "a name for a path": yaml_of({**validating(), "metadata": {"name": "../../etc/passwd\x07"}}).encode(),
}


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_04_garbage_among_policy_files_changes_nothing_and_is_counted_and_told(tmp_path: Path, garbage: str) -> None:
    (tmp_path / "good.yaml").write_text(yaml_of(validating(), bound()))
    store, metrics = PolicyStore(load_policies([tmp_path])), Metrics(CollectorRegistry())
    before = store.current
    process = MagicMock(_metrics=metrics)  # whatever else it tells of a reload, and to whom

    def told_to(swap: Swap) -> None:
        if isinstance(swap, Kept):
            ClusterProcess._told(process, swap, None, None, None, None)

    watcher = PolicyWatcher([tmp_path], store, settings=ReloadSettings(settle_seconds=0), told=told_to)
    (tmp_path / "bad.yaml").write_bytes(GARBAGE[garbage])
    with capture_logs() as logs:
        await watcher.check()
    assert store.current is before
    assert metrics.registry.get_sample_value("gangwarden_policy_reloads_total", {"status": "failure"}) == 1
    ((told),) = [line for line in logs if "not reloaded" in line["event"]]
    assert "bad.yaml" in told["because"]
    assert "internal error" not in told["because"]
    (tmp_path / "bad.yaml").unlink()
    (tmp_path / "good.yaml").write_text(yaml_of(validating("sizes", "false"), bound()))
    await watcher.check()
    assert store.current is not before


EVIL = {
    "loops in loops": "x.all(a, x.all(b, x.all(c, x.all(d, a + b + c + d >= 0))))",
    "a text that doubles": "x.all(a, [s + s + s + s].all(t, (t + t + t + t).size() > 0))",
    "texts that are compared": "x.all(a, x.all(b, s + s == s + s))",
    "a pattern": "x.all(a, s.matches('(a|aa)*(a|aa)*(a|aa)*(a|aa)*c'))",
    "a large pattern": "x.all(a, s.matches('(((a{1,9}){1,9}){1,5})*b'))",
    "lists that grow": "x.map(a, x.map(b, x.map(c, [a, b, c]))).flatten(3).size() > 0",
    "a sort of everything": "x.all(a, x.map(b, -b).sort() == x)",
    "replacements": "x.all(a, s.replace('a', s).size() > 0)",
    "a split and a join": "x.all(a, s.split('').join(s).size() > 0)",
    "a format": "x.all(a, '%s%s%s%s'.format([s, s, s, s]).size() > 0)",
    "numbers as texts": "x.all(a, int(s.replace('a', '9')) > 0)",
    "quantities": "x.all(a, quantity(s.replace('a', '9') + 'E').isGreaterThan(quantity('1')))",
}


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("generated", [False, True], ids=["closures", "generated code"])
def test_05_budget_and_deadline_stop_any_expression(evil: str, *, generated: bool) -> None:
    program = compile_expression(EVIL[evil], Declarations(variables=frozenset({"x", "s"})))
    if generated:
        program.generate()
    values = {"x": list(range(400)), "s": "a" * 2_000}
    looks = itertools.count()

    def run(limit: int, expired: Callable[[], bool]) -> str:
        budget = Budget(limit, expired)
        try:
            program.evaluate(values, budget)
        except EvaluationError as error:
            return error.kind
        return "done"

    price = Price()
    price.check(lambda _: stopped(run(1_000_000, never)), b"x" * 64 * 1024)
    assert run(10**12, lambda: next(looks) >= 0) != "done"
    assert next(looks) <= 2, "went on after its time"


def stopped(kind: str) -> None:
    assert kind != "internal"


FORBIDDEN = "http fetch get post dns lookup now today random rand uuid sleep env file read exec system image globalcontext"


@pytest.mark.parametrize(
    "call", ["now()", "random()", "http.Get('http://a/')", "resource.Get('v1', 'secrets', 'a', 'b')", "uuid()"]
)
def test_06_cel_knows_no_network_no_clock_and_no_chance(call: str) -> None:
    for functions in (FUNCTIONS, MUTATION_FUNCTIONS):
        assert not {name.lower() for name in functions} & set(FORBIDDEN.split())
    with pytest.raises(CompileError):
        compile_expression(call, Declarations())
    with pytest.raises((CompileError, EvaluationError)):
        compile_expression("timestamp()", Declarations()).evaluate({}, Budget(1_000))


@pytest.mark.parametrize("name", ["claim", "team-b/claim", "../team-b/claim", "team-b%2Fclaim", "team-b.claim"])
def test_07_params_of_a_tenant_name_no_other_namespace(name: str) -> None:
    theirs = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "team-b"},
        "spec": {},
    }
    mine = config_map("limits", key=name, namespace="team-a", namespaceOverride="team-b")
    foreign = config_map("limits", namespace="team-b", key=name)
    judged = policy(
        "!cluster.resourceClaim(params.data.key).hasValue() && params.metadata.namespace == 'team-a'", param_kind=CONFIG_MAP
    )
    world = FakeWorld(objects=(foreign, mine))
    view = ClusterView(snapshot_of([theirs, builders.namespace()]), "team-a")
    answer = ask(judged, binding(param_ref=by_name("limits")), world=world, cluster=view)
    assert isinstance(answer, Admitted), answer
    assert "team-b" not in str(answer)


BOMBS: dict[str, bytes] = {
    "aliases of aliases": GARBAGE["a bomb"],
    "merges of merges": b"a0: &a0 {k: v}\n"
    + b"".join(b"a%d: &a%d {<<: [%s]}\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 50)) for n in range(1, 6)),
    "depth": b"a: " + b"{a: " * 200 + b"1" + b"}" * 200,
    "a key twice": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', x: '2'}",
    "a key twice in two forms": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {'x': '1', \"x\": '2'}",
    "an alias to nowhere": b"a: *nowhere",
    "a tag that makes objects": b"!!python/object/apply:os.system ['true']",
    "a binary": b"a: !!binary aGk=",
    "a key that is a map": b"? {a: b}\n: c",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_10_yaml_bombs_and_keys_written_twice_are_refused_with_their_place(tmp_path: Path, bomb: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(BOMBS[bomb])
    (tmp_path / "other.yaml").write_text(yaml_of(validating(), bound()))

    def load(_: bytes) -> None:
        with pytest.raises(PolicySetError) as refused:
            load_policies([tmp_path])
        assert all((error.path, error.line > 0) == (str(path), True) for error in refused.value.errors)

    Price().check(load, BOMBS[bomb])


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE", "CONNECT"])
@pytest.mark.parametrize("has_object", [True, False], ids=["object", "null"])
@pytest.mark.parametrize("has_old", [True, False], ids=["oldObject", "null"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("object.metadata.name == 'other'", id="reads object"),
        pytest.param("oldObject.metadata.name == 'other'", id="reads oldObject"),
        pytest.param("[object, oldObject].exists(one, one != null && one.metadata.name == 'other')", id="reads what is there"),
    ],
)
def test_13_an_object_that_is_null_is_no_way_by_a_rule(
    tmp_path: Path, operation: str, text: str, *, has_object: bool, has_old: bool
) -> None:
    (tmp_path / "p.yaml").write_text(yaml_of(validating("sizes", text, matchConstraints=EVERYTHING), bound()))
    job = builders.job().stored().build()
    body = builders.review(job if has_object else None, operation=operation, old=job if has_old else None)
    body["request"] |= {"kind": {"group": "batch", "version": "v1", "kind": "Job"}, "namespace": "team-a", "name": "train"}
    reviewer = reviewer_of(load_policies([tmp_path]))
    missing = (not has_object and operation in ("CREATE", "UPDATE")) or (not has_old and operation in ("UPDATE", "DELETE"))
    with pytest.raises(ReviewError, match="must not be null") if missing else nullcontext():
        answer = reviewer.review(body, phase=Phase.VALIDATE, failure_policy=FailurePolicy.FAIL, expired=never)
        assert isinstance(answer.answer, Denied), "slipped by"


SERVED = [
    pytest.param(asked, written, id=f"{asked.resource} {asked.group}/{asked.version} by {written.group}/{written.version}")
    for family in _FAMILIES
    for asked in family
    for written in family
    if asked.group != "admissionregistration.k8s.io"  # policies are judged by none
]


@pytest.mark.parametrize(("asked", "written"), SERVED)
@pytest.mark.parametrize("match_policy", ["Equivalent", "Exact"])
def test_15_every_served_version_of_a_kind_reaches_the_policy(asked: Resource, written: Resource, match_policy: str) -> None:
    """The API server converts the object to the version that the webhook's rule names, and says what was asked for."""
    rules = (rule(api_groups=[written.group], api_versions=[written.version], resources=[written.resource]),)
    judged = policy("false", match_constraints=MatchResources(resource_rules=rules, match_policy=match_policy))
    kind = replace(request().kind, group=asked.group, version=asked.version)
    converted = replace(kind, group=written.group, version=written.version)
    about = request(kind=converted, resource=written, request_resource=asked, request_kind=kind)
    reached = isinstance(ask(judged, asked=about), Denied)
    assert reached is (match_policy == "Equivalent" or asked == written)
