"""Policies written for the API server's own files: the same verdicts, or left out with a reason."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import job
from tests.library.asking import ask
from tests.policies.writing import OURS, RULES, binding, mutating, mutating_binding, validating, workload, yaml_of
from webhook.admission import PolicySet
from webhook.errors import PolicySetError, UsageError
from webhook.model.cases import Case, Expectation
from webhook.model.objects import Object
from webhook.model.policies import Origin
from webhook.model.verdicts import Verdict
from webhook.policies import Export, load_cases, load_policies, plan_export, write_export

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}
KIND = {"paramKind": CONFIG}
NOT_EXPORTABLE = {
    path.parent.name
    for path in (ROOT / "policies").glob("*/*/policy.yaml")
    if re.search(r"^kind: WorkloadPolicy$|^[^#]*\bcluster\.[a-zA-Z]+\(", path.read_text(), re.MULTILINE)
}
"""Those that make groups or ask the cluster."""
SUFFIX = ".static.k8s.io"

Plan = Callable[..., Export]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Write documents to p.yaml and plan their export."""
    monkeypatch.chdir(tmp_path)

    def planned(*documents: Object) -> Export:
        Path("p.yaml").write_text(yaml_of(*documents), encoding="utf-8")
        return plan_export(["p.yaml"])

    return planned


def config(name: str, namespace: str = "limits", labels: dict[str, str] | None = None, **data: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    return {**CONFIG, "metadata": metadata, "data": data}


def reference(name: str = "", namespace: str = "limits", action: str = "Deny", **more: Any) -> Object:
    named = {"name": name} if name else {}
    return {"paramRef": {**named, **({"namespace": namespace} if namespace else {}), "parameterNotFoundAction": action, **more}}


def documents(export: Export) -> list[Object]:
    return [document for one in export.exported for document in yaml.safe_load_all(one.text)]


def reasons(export: Export) -> list[tuple[str, str, str]]:
    return [(one.policy, one.binding, one.reason) for one in export.left_out]


def said(export: Export, obj: Object, folder: Path) -> list[tuple[str, str, str]]:
    """Return what the exported policies say, under the names that they came from."""
    write_export(export, folder)
    case = Case(name="a case", origin=Origin("test"), object=obj, expect=Expectation(verdict=Verdict.ALLOW))
    return [
        (one.finding.verdict, one.finding.policy.removesuffix(SUFFIX), one.finding.message)
        for one in ask(case, load_policies([folder])).results
    ]


LIMIT = "object.spec.parallelism <= int(params.data.most)"


def test_names_are_those_that_the_api_server_reserves_for_files(plan: Plan) -> None:
    policy, bound = documents(plan(validating(), binding()))
    assert (policy["metadata"]["name"], bound["metadata"]["name"]) == (f"sizes{SUFFIX}", f"everywhere{SUFFIX}")
    assert bound["spec"] == {"policyName": f"sizes{SUFFIX}", "validationActions": ["Deny"]}


def test_each_kind_has_a_folder_of_its_own(plan: Plan) -> None:
    export = plan(validating(), binding(), mutating(), mutating_binding())
    assert [one.file for one in export.exported] == [f"validating/sizes{SUFFIX}.yaml", f"mutating/labels{SUFFIX}.yaml"]


def test_labels_and_annotations_stay_and_what_the_api_server_wrote_does_not(plan: Plan) -> None:
    policy = validating()
    policy["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d"}, "uid": "1", "resourceVersion": "7"}
    written, _ = documents(plan({**policy, "status": {"observedGeneration": 1}}, binding()))
    assert written["metadata"] == {"name": f"sizes{SUFFIX}", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    assert written.keys() == {"apiVersion", "kind", "metadata", "spec"}


def test_params_are_written_into_a_variable_and_into_match_conditions(plan: Plan) -> None:
    condition = {"name": "on", "expression": "params.data.on == 'yes'"}
    export = plan(
        validating("sizes", LIMIT, matchConditions=[condition], **KIND),
        binding(**reference("a")),
        config("a", most="8", on="yes"),
    )
    policy, bound = documents(export)
    text = (
        'dyn({"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"), "metadata": dyn({"name": "a", "namespace": "limits"}), '
        '"data": dyn({"most": "8", "on": "yes"})})'
    )
    assert policy["spec"]["variables"] == [{"name": "params", "expression": text}]
    assert policy["spec"]["validations"][0]["expression"] == "object.spec.parallelism <= int(variables.params.data.most)"
    assert policy["spec"]["matchConditions"] == [{"name": "on", "expression": f"{text}.data.on == 'yes'"}]
    assert "paramKind" not in policy["spec"]
    assert "paramRef" not in bound["spec"]
    assert export.exported[0].params == "ConfigMap limits/a"


def test_a_variable_of_that_name_keeps_it(plan: Plan) -> None:
    policy, _ = documents(
        plan(
            validating("sizes", LIMIT, variables=[{"name": "params", "expression": "1"}], **KIND),
            binding(**reference("a")),
            config("a", most="8"),
        )
    )
    assert [variable["name"] for variable in policy["spec"]["variables"]] == ["params_", "params"]
    assert "variables.params_.data.most" in policy["spec"]["validations"][0]["expression"]


def test_without_a_message_the_expression_of_the_author_is_told(plan: Plan, tmp_path: Path) -> None:
    export = plan(validating("sizes", LIMIT, **KIND), binding(**reference("a")), config("a", most="8"))
    (found,) = said(export, job("j").parallelism(9).build(), tmp_path / "out")
    assert found == (Verdict.DENY, "sizes", f"failed expression: {LIMIT}")


def test_bindings_with_different_params_make_a_policy_each(plan: Plan, tmp_path: Path) -> None:
    small, large = binding("small", **reference("a")), binding("large", **reference("b"))
    export = plan(validating("sizes", LIMIT, **KIND), small, large, config("a", most="4"), config("b", most="8"))
    assert [(one.name, one.bindings) for one in export.exported] == [
        (f"sizes.large{SUFFIX}", (f"large{SUFFIX}",)), (f"sizes.small{SUFFIX}", (f"small{SUFFIX}",)),
    ]  # fmt: skip
    found = said(export, job("j").parallelism(6).build(), tmp_path / "out")
    assert [(verdict, policy) for verdict, policy, _ in found] == [(Verdict.ALLOW, "sizes.large"), (Verdict.DENY, "sizes.small")]


def test_bindings_with_the_same_params_share_a_policy(plan: Plan) -> None:
    bindings = [binding(name, **reference("a")) for name in ("one", "two")]
    (one,) = plan(validating("sizes", LIMIT, **KIND), *bindings, config("a", most="4")).exported
    assert (one.name, one.bindings) == (f"sizes{SUFFIX}", (f"one{SUFFIX}", f"two{SUFFIX}"))


def test_a_selector_takes_what_is_among_the_files_and_says_so(plan: Plan) -> None:
    selector = reference(selector={"matchLabels": {"team": "a"}})
    export = plan(
        validating("sizes", LIMIT, **KIND),
        binding(**selector),
        config("x", labels={"team": "a"}, most="4"),
        config("y", labels={"team": "a"}, most="8"),
        config("z", labels={"team": "b"}, most="1"),
    )
    assert [one.params for one in export.exported] == ["ConfigMap limits/x", "ConfigMap limits/y"]
    assert len({one.name for one in export.exported}) == len({name for one in export.exported for name in one.bindings}) == 2
    assert "takes params by a selector" in export.notes[0]


def test_a_binding_without_params_reads_null(plan: Plan) -> None:
    policy, _ = documents(plan(validating("sizes", "params == null", **KIND), binding()))
    assert policy["spec"]["variables"] == [{"name": "params", "expression": "dyn(null)"}]


@pytest.mark.parametrize(
    ("spec", "more", "reason"),
    [
        (reference("a", namespace=""), (config("a", most="1"),), "its params come from the namespace of each request"),
        (reference("gone"), (config("a", most="1"),), "its params (ConfigMap) are not among the files"),
        (reference("gone", action="Allow"), (), "its params (ConfigMap) are not among the files"),
    ],
)
def test_a_binding_whose_params_are_not_known_is_left_out(
    plan: Plan, spec: Object, more: tuple[Object, ...], reason: str
) -> None:
    export = plan(
        validating("sizes", LIMIT, **KIND),
        binding("odd", **spec),
        binding("plain", **reference("b")),
        config("b", most="2"),
        *more,
    )
    assert [(policy, bound, told[: len(reason)]) for policy, bound, told in reasons(export)] == [("sizes", "odd", reason)]
    assert [one.bindings for one in export.exported] == [(f"plain{SUFFIX}",)]


def test_params_of_a_kind_without_namespaces(plan: Plan) -> None:
    kind = {"apiVersion": "ex.io/v1", "kind": "Limit"}
    policy = validating("sizes", "object.spec.parallelism <= params.most", paramKind=kind)
    limit = {**kind, "metadata": {"name": "a"}, "most": 8}
    assert plan(policy, binding(**reference("a", namespace="")), limit).exported[0].params == "Limit a"
    (left,) = plan(policy, binding(**reference("a", namespace="b")), limit).left_out
    assert left.reason == "paramRef names a namespace, but a Limit has none"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([validating("sizes", "cluster.group('g').hasValue()"), binding()], "it reads `cluster`"),
        ([validating()], "it has no binding"),
        ([workload(), {**binding("b", "gangs"), "kind": "WorkloadPolicyBinding", "apiVersion": "gangwarden.dev/v1alpha1"}],
         "it makes groups"),
        ([validating("s" * 240), binding(policy="s" * 240)], "its name in the files would be longer than 250 characters"),
        ([validating("sizes", "[1, 2].includes(1)"), binding()], "the API server refuses `[1, 2].includes(1)` in a new policy"),
    ],
)  # fmt: skip
def test_a_policy_that_the_api_server_cannot_judge_is_left_out(plan: Plan, given: list[Object], reason: str) -> None:
    export = plan(*given)
    assert export.exported == ()
    assert [told[: len(reason)] for _, _, told in reasons(export)] == [reason]


@pytest.mark.parametrize(("day", "left_out"), [("2026-12-31T12:00:00+00:00", 1), ("2027-01-01T00:00:00+00:00", 0)])
def test_a_policy_with_an_exception_is_left_out_as_long_as_that_lasts(tmp_path: Path, day: str, left_out: int) -> None:
    exception = {
        "apiVersion": OURS,
        "kind": "PolicyException",
        "metadata": {"name": "team-a"},
        "spec": {
            "policyName": "sizes",
            "rules": [{"rule": "validations[0]"}],
            "matchConditions": [{"name": "team", "expression": "request.namespace == 'team-a'"}],
            "owner": "a",
            "reason": "b",
            "expires": "2026-12-31",
        },
    }
    (tmp_path / "p.yaml").write_text(yaml_of(validating(), binding(), exception))
    export = plan_export([tmp_path / "p.yaml"], now=datetime.fromisoformat(day))
    until = "PolicyException 'team-a' until 2027-01-01T00:00:00Z ends by itself"
    assert [reason.startswith(until) for _, _, reason in reasons(export)] == [True] * left_out
    assert len(export.exported) == 1 - left_out


def test_two_policies_of_one_name_in_the_files_are_told_apart(plan: Plan) -> None:
    export = plan(validating("a"), validating(f"a{SUFFIX}"), binding("x", "a"), binding("y", f"a{SUFFIX}"))
    assert [one.policy for one in export.exported] == ["a"]
    assert reasons(export) == [
        (f"a{SUFFIX}", "y", f"its name in the files would be a{SUFFIX}, as that of 'a'; rename one of them")
    ]


def test_params_that_are_too_large_for_an_expression_are_left_out(plan: Plan) -> None:
    export = plan(validating("sizes", LIMIT, **KIND), binding(**reference("a")), config("a", most="8", text="x" * 100_000))
    assert "expression code point size exceeds limit" in reasons(export)[0][2]


def test_lists_within_params_are_not_put_into_an_object_that_would_refuse_them(plan: Plan) -> None:
    kind = {"apiVersion": "ex.io/v1", "kind": "Defaults"}
    params = {**kind, "metadata": {"name": "a"}, "spec": {"tolerations": [{"key": "gpu"}], "labels": {"a": "b"}}}
    inner = "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{tolerations: %s}}}}"
    nested = mutating("labels", inner % "params.spec.tolerations", paramKind=kind)
    flat = mutating("labels", "Object{metadata: Object.metadata{labels: params.spec.labels}}", paramKind=kind)
    patch = mutating(
        "labels", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: params.spec.tolerations}]", paramKind=kind
    )
    bound = mutating_binding(**reference("a", namespace=""))
    assert reasons(plan(nested, bound, params))[0][2].startswith("params.spec.tolerations holds lists or maps within others")
    assert [len(plan(policy, bound, params).exported) for policy in (flat, patch)] == [1, 1]


@pytest.mark.parametrize(("groups", "resources"), [(["*"], ["*"]), (["*"], ["*/*"]), (["*"], ["mutatingadmissionpolicies"])])
def test_policies_themselves_are_left_alone_as_they_are_by_a_policy_that_is_an_object(
    plan: Plan, groups: list[str], resources: list[str]
) -> None:
    rules = [{**RULES[0], "apiGroups": groups, "resources": resources}]
    policy, _ = documents(plan(validating(matchConstraints={"resourceRules": rules, "excludeResourceRules": RULES}), binding()))
    kept, added = policy["spec"]["matchConstraints"]["excludeResourceRules"]
    assert (kept, added["apiGroups"]) == (RULES[0], ["admissionregistration.k8s.io"])
    assert "validatingadmissionpolicybindings" in added["resources"]


def test_a_broken_policy_is_an_error_and_exports_nothing(plan: Plan) -> None:
    with pytest.raises(PolicySetError):
        plan(validating("sizes", "object."), binding())


def test_an_export_is_the_same_every_time(plan: Plan) -> None:
    given = (validating("b"), binding("x", "b"), validating("a"), binding("y", "a"))
    assert plan(*given) == plan(*given)
    assert [one.policy for one in plan(*given).exported] == ["a", "b"]


def test_what_is_no_longer_exported_is_removed_and_what_others_wrote_is_not(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_export(plan(validating("a"), binding("x", "a"), validating("b"), binding("y", "b")), out)
    (out / "validating/own.yaml").write_text("kind: Mine\n")
    assert write_export(plan(validating("b"), binding("y", "b")), out) == (out / f"validating/a{SUFFIX}.yaml",)
    assert sorted(path.name for path in (out / "validating").iterdir()) == [f"b{SUFFIX}.yaml", "own.yaml"]


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_of_somebody_else_is_never_overwritten(plan: Plan, tmp_path: Path, is_link: bool) -> None:
    out = tmp_path / "out"
    foreign = out / f"validating/a{SUFFIX}.yaml"
    foreign.parent.mkdir(parents=True)
    if is_link:
        (tmp_path / "elsewhere").write_text("kind: Mine\n")
        foreign.symlink_to(tmp_path / "elsewhere")
    else:
        foreign.write_text("kind: Mine\n")
    with pytest.raises(UsageError, match="was not written by an export"):
        write_export(plan(validating("a"), binding("x", "a"), validating("b"), binding("y", "b")), out)
    assert (foreign.read_text(), len(list(foreign.parent.iterdir()))) == ("kind: Mine\n", 1)


def test_what_an_export_that_was_cut_off_left_is_not_written_through(plan: Plan, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out/validating", tmp_path / "elsewhere"
    folder.mkdir(parents=True)
    elsewhere.write_text("kind: Mine\n")
    (folder / f".a{SUFFIX}.yaml.new").symlink_to(elsewhere)
    write_export(plan(validating("a"), binding("x", "a")), tmp_path / "out")
    assert elsewhere.read_text() == "kind: Mine\n"
    assert [(path.name, path.is_symlink()) for path in folder.iterdir()] == [(f"a{SUFFIX}.yaml", False)]


def test_a_folder_that_cannot_be_written_is_told(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/validating").write_text("")
    with pytest.raises(UsageError, match="--out"):
        write_export(plan(validating(), binding()), tmp_path / "out")


def test_of_the_shipped_policies_only_those_are_left_out() -> None:
    assert {one.policy for one in plan_export([ROOT / "policies"]).left_out} == {
        f"{name}.gangwarden.dev" for name in NOT_EXPORTABLE
    }


def shipped() -> Iterator[object]:
    for path in sorted((ROOT / "policies").glob("*/*/cases.yaml")):
        if path.parent.name in NOT_EXPORTABLE:
            continue
        for case in (case for test in load_cases(path) for case in test.cases):
            yield pytest.param(path.parent, case, id=f"{path.parent.name}: {case.name}")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, tuple[Object, ...]], tuple[PolicySet, PolicySet]]:
    """Give a shipped policy with params, as it stands and as it is exported."""

    @functools.cache
    def made(folder: Path, given: str) -> tuple[PolicySet, PolicySet]:
        params = json.loads(given)
        own = {(one["kind"], one["metadata"]["name"]) for one in params}
        documents = yaml.safe_load_all((folder / "policy.yaml").read_text())
        kept = [one for one in documents if (one["kind"], one["metadata"]["name"]) not in own]
        place = tmp_path_factory.mktemp("both")
        (place / "policy.yaml").write_text("---\n".join(json.dumps(one) + "\n" for one in (*kept, *params)))
        write_export(plan_export([place / "policy.yaml"]), place / "out")
        return load_policies([place / "policy.yaml"]), load_policies([place / "out"])

    return lambda folder, params: made(folder, json.dumps(params))


@pytest.mark.parametrize(("folder", "case"), list(shipped()))
def test_a_shipped_policy_says_the_same_from_the_files(
    folder: Path, case: Case, both: Callable[[Path, tuple[Object, ...]], tuple[PolicySet, PolicySet]]
) -> None:
    here, there = (ask(replace(case, params=()), policies) for policies in both(folder, case.params))
    heard = [
        [(one.finding.verdict, one.finding.policy.removesuffix(SUFFIX), one.finding.rule, one.finding.message, one.patch)
         for one in asked.results]
        for asked in (here, there)
    ]  # fmt: skip
    assert heard[0] == heard[1]
    assert heard[0]
