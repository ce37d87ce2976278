"""What a policy author is told, with file, line and field; and that nothing wrong is ever left unsaid."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.policies.writing import OURS, RULES, binding, text_of, validating, workload, workload_binding
from webhook.admission import PolicySet
from webhook.errors import PolicySetError
from webhook.model.objects import Object
from webhook.model.policies import Action, FailurePolicy
from webhook.policies import load_policies
from webhook.settings import ReloadSettings

Load = Callable[..., PolicySet]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Write documents to p.yaml and load it."""
    monkeypatch.chdir(tmp_path)

    def write(*documents: Object | str) -> PolicySet:
        Path("p.yaml").write_text(text_of(*documents))
        return load_policies(["p.yaml"])

    return write


def complaints(load: Load, *documents: Object | str) -> list[tuple[int, str, str]]:
    with pytest.raises(PolicySetError) as raised:
        load(*documents)
    assert {error.path for error in raised.value.errors} == {"p.yaml"}
    return [(error.line, error.field, str(error.args[0])) for error in raised.value.errors]


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: sizes
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [batch]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [jobs]
  variables:
  - name: pods
    expression: object.spec.parallelism
  validations:
  - expression: |
      variables.pods <= 8 ||
        request.dryRun
    message: at most 8 pods
"""


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        pytest.param("  name:", "\tname:", "4:1: a tab stands", id="a tab"),
        pytest.param("  variables:", "  matchConstraints: {}\n  variables:", "12:3: duplicate key", id="a duplicate key"),
        pytest.param(
            "message:",
            "mesage:",
            '19:5: spec.validations[0].mesage: unknown field; did you mean "message"?',
            id="a typo",
        ),
        pytest.param(
            "[batch]", "batch", "8:18: spec.matchConstraints.resourceRules[0].apiGroups: must be a list, not text", id="no list"
        ),
        pytest.param("name: sizes", "name: 7", "4:9: metadata.name: must be text, not a number (7)", id="a number"),
        pytest.param(
            "at most 8 pods", "yes", "19:14: spec.validations[0].message: must be text, not a boolean (true)", id="a yes"
        ),
        pytest.param("dryRun", "dryrun", "18:16: spec.validations[0].expression: undefined field 'dryrun'", id="CEL in a block"),
        pytest.param("object.spec", "objekt.spec", "14:17: spec.variables[0].expression: undeclared", id="CEL on one line"),
        pytest.param("<= 8 ||", "<= 8 |", "17:27: spec.validations[0].expression: Syntax error", id="CEL that does not parse"),
        pytest.param("v1\nkind", "v1beta1\nkind", "1:1: apiVersion: ", id="an old apiVersion"),
        pytest.param("nPolicy\n", "nPolicys\n", '2:1: kind: "ValidatingAdmissionPolicys" is not a kind', id="a misspelt kind"),
        pytest.param("kind: Val", "Kind: Val", "1:1: kind: required", id="no kind"),
    ],
)
def test_an_edit_that_breaks_a_policy_is_told(load: Load, before: str, after: str, place: str) -> None:
    assert load(POLICY).validating[0][0].head.source.name == "sizes"
    with pytest.raises(PolicySetError) as raised:
        load(POLICY.replace(before, after, 1))
    assert str(raised.value).startswith(f"p.yaml:{place}")


def selecting(**requirement: Any) -> Object:
    return {"matchConstraints": {"resourceRules": RULES, "objectSelector": {"matchExpressions": [{"key": "a", **requirement}]}}}


def matching(**parts: Any) -> Object:
    return {"matchConstraints": {"resourceRules": [{**RULES[0], **parts}]}}


def validation(**parts: Any) -> Object:
    return {"validations": [{"expression": "true", **parts}]}


A = {"name": "a", "expression": "1"}
RULE, REQUIREMENT = "matchConstraints.resourceRules[0].", "matchConstraints.objectSelector.matchExpressions[0]."

SPEC_ERRORS: list[tuple[str, Object, str, str]] = [
    ("no matchConstraints", {"matchConstraints": None}, "matchConstraints", "required"),
    ("no rules", {"matchConstraints": {}}, "matchConstraints.resourceRules", "required: at least one rule"),
    ("an unknown failurePolicy", {"failurePolicy": "Warn"}, "failurePolicy", '"Warn" is not supported: use Fail or Ignore'),
    (
        "no validations",
        {"validations": []},
        "validations",
        "required: validations or auditAnnotations must contain at least one item",
    ),
    ("a blank expression", validation(expression=" "), "validations[0].expression", "required"),
    (
        "an unsupported reason",
        validation(reason="Unauthorized"),
        "validations[0].reason",
        '"Unauthorized" is not supported: use Forbidden, Invalid or RequestEntityTooLarge',
    ),
    ("a message of two lines", validation(message="a\nb"), "validations[0].message", "must not contain line breaks"),
    ("a blank message", validation(message=" "), "validations[0].message", "must not be blank"),
    ("a blank messageExpression", validation(messageExpression=" "), "validations[0].messageExpression", "must not be blank"),
    (
        "a variable named like a keyword",
        {"variables": [{"name": "in", "expression": "1"}]},
        "variables[0].name",
        '"in" must be a valid CEL identifier',
    ),
    ("a variable twice", {"variables": [A, A]}, "variables[1].name", '"a" is there twice'),
    (
        "65 match conditions",
        {"matchConditions": [{"name": f"c{i}", "expression": "true"} for i in range(65)]},
        "matchConditions",
        "at most 64 entries, not 65",
    ),
    (
        "21 audit annotations",
        {"auditAnnotations": [{"key": f"k{i}", "valueExpression": "'x'"} for i in range(21)]},
        "auditAnnotations",
        "at most 20 entries, not 21",
    ),
    (
        "a long valueExpression",
        {"auditAnnotations": [{"key": "k", "valueExpression": f"'{'x' * 5200}'"}]},
        "auditAnnotations[0].valueExpression",
        "at most 5120 bytes",
    ),
    ("a paramKind without a version", {"paramKind": {"kind": "ConfigMap"}}, "paramKind.apiVersion", "required"),
    (
        "an operator in lower case",
        selecting(operator="in", values=["b"]),
        f"{REQUIREMENT}operator",
        '"in" is not supported: use In, NotIn, Exists or DoesNotExist',
    ),
    ("In without values", selecting(operator="In"), f"{REQUIREMENT}values", "required with operator In"),
    ("a wildcard beside a group", matching(apiGroups=["*", "apps"]), f"{RULE}apiGroups", '"*" stands alone or not at all'),
    (
        "an operation in lower case",
        matching(operations=["create"]),
        f"{RULE}operations[0]",
        '"create" is not an operation: use CREATE, UPDATE, DELETE, CONNECT, *',
    ),
    (
        "a resource that a wildcard covers",
        matching(resources=["jobs/*", "jobs/status"]),
        f"{RULE}resources",
        '"jobs/status" is covered by a wildcard before it',
    ),
]


@pytest.mark.parametrize(("spec", "field", "message"), [row[1:] for row in SPEC_ERRORS], ids=[row[0] for row in SPEC_ERRORS])
def test_a_policy_is_refused_for(load: Load, spec: Object, field: str, message: str) -> None:
    assert (2, f"spec.{field}", message) in complaints(load, validating(**spec), binding())


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"validationActions": None}, "spec.validationActions", "required: at least one of Deny, Warn and Audit"),
        ({"validationActions": ["Deny", "Warn"]}, "spec.validationActions",
         "Deny and Warn together are refused: the same text would come twice"),
        ({"validationActions": ["Deny", "Deny"]}, "spec.validationActions[1]", '"Deny" is there twice'),
        ({"validationActions": ["deny"]}, "spec.validationActions[0]", '"deny" is not an action: use Deny, Warn or Audit'),
        ({"policyName": ""}, "spec.policyName", "required"),
        ({"paramRef": {"parameterNotFoundAction": "Deny"}}, "spec.paramRef", "one of name and selector is required"),
        ({"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}}, "spec.paramRef.selector",
         "name and selector exclude each other"),
        ({"paramRef": {"name": "a"}}, "spec.paramRef.parameterNotFoundAction", "required"),
    ],
)  # fmt: skip
def test_a_binding_is_refused_for(load: Load, spec: Object, field: str, message: str) -> None:
    assert complaints(load, validating(), binding(**spec)) == [(4, field, message)]


@pytest.mark.parametrize("kind", ["PreemptionPolicy"])
def test_our_kinds_of_later_versions_are_named(load: Load, kind: str) -> None:
    assert "not supported by this version" in complaints(load, {"apiVersion": OURS, "kind": kind})[0][2]
    assert load({"apiVersion": "kyverno.io/v2", "kind": kind}).validating == ()


def test_a_name_that_is_there_twice_is_an_error_that_names_both(load: Load) -> None:
    twice = complaints(load, validating(), binding(), validating())
    assert twice == [(6, "metadata.name", 'ValidatingAdmissionPolicy "sizes" is there twice: also in p.yaml:2')]


def test_everything_is_told_at_once(load: Load) -> None:
    found = complaints(load, validating("A"), validating("b", "nope"), binding(validationActions=[]), {"kind": "x"}, {"a": 1})
    assert [line for line, _, _ in found] == [2, 4, 6, 8, 10, 10]


def names(policies: PolicySet) -> list[tuple[str, list[str]]]:
    return [(policy.head.source.name, [found.name for found in bindings]) for policy, bindings in policies.validating]


def test_a_list_is_opened(load: Load) -> None:
    policies = load({"apiVersion": "v1", "kind": "List", "items": [validating(), binding()]})
    assert [(p.head.source.name, [b.name for b in bindings]) for p, bindings in policies.validating] == [
        ("sizes", ["everywhere"])
    ]


def test_defaults_are_those_of_the_api_server(load: Load) -> None:
    head = load(validating()).validating[0][0].head.source
    assert (head.failure_policy, head.match_constraints.match_policy) == (FailurePolicy.FAIL, "Equivalent")
    assert head.match_constraints.resource_rules[0].scope == "*"


def test_policies_and_bindings_come_in_the_order_of_their_names(load: Load) -> None:
    policies = load(binding("z", "b"), validating("b"), binding("a", "b"), validating("a"))
    assert [(p.head.source.name, [b.name for b in bindings]) for p, bindings in policies.validating] == [
        ("a", []),
        ("b", ["a", "z"]),
    ]


@pytest.mark.parametrize(
    ("documents", "warning"),
    [
        ([validating()], "p.yaml:2: ValidatingAdmissionPolicy 'sizes' has no binding: in a cluster it does nothing"),
        ([workload()], "p.yaml:2: WorkloadPolicy 'gangs' has no binding: in a cluster it does nothing"),
        (
            [validating(), binding(), binding("b", "sizs")],
            "p.yaml:6: binding 'b' names ValidatingAdmissionPolicy 'sizs', which is not among the files; did you mean \"sizes\"?",
        ),
    ],
)
def test_what_has_no_effect_is_a_warning(load: Load, documents: list[Object], warning: str) -> None:
    assert load(*documents).warnings == (warning,)


def config_map(name: str, **meta: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": {"most": "8"}}


PARAM_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


def test_params_among_the_files_are_found(load: Load) -> None:
    policies = load(validating(paramKind=PARAM_KIND), config_map("limits"), config_map("x", namespace="team-a"))
    assert [obj["metadata"] for objects in policies.params.objects.values() for obj in objects] == [
        {"name": "limits", "namespace": "default"},
        {"name": "x", "namespace": "team-a"},
    ]


def test_objects_that_are_no_params_may_be_there_twice(load: Load) -> None:
    assert load(validating(), config_map("a"), config_map("a")).params.objects == {}
    assert "is there twice" in complaints(load, validating(paramKind=PARAM_KIND), config_map("a"), config_map("a"))[0][2]


@pytest.mark.parametrize(
    ("documents", "needs"),
    [
        ([validating(), binding()], set()),
        ([validating("sizes", "namespaceObject != null")], {("", "Namespace")}),
        ([validating(), binding(matchResources={"namespaceSelector": {"matchLabels": {"a": "b"}}})], {("", "Namespace")}),
        ([validating("sizes", "cluster.group('a').hasValue()")], {("scheduling.k8s.io", "PodGroup")}),
        (
            [validating(paramKind=PARAM_KIND), binding(paramRef={"name": "a", "parameterNotFoundAction": "Deny"})],
            {("", "ConfigMap")},
        ),
        (
            [
                validating(paramKind=PARAM_KIND),
                binding(paramRef={"name": "a", "namespace": "default", "parameterNotFoundAction": "Deny"}),
                config_map("a"),
            ],
            set(),
        ),
    ],
    ids=["nothing", "its namespace", "selected namespaces", "groups", "live params", "params among the files"],
)
def test_a_set_says_what_must_be_watched(load: Load, documents: list[Object], needs: set[tuple[str, str]]) -> None:
    assert load(*documents).needs == needs


def test_a_workload_policy_is_bound_to_deny_where_nothing_is_said(load: Load) -> None:
    (bound,) = load(workload(), workload_binding()).workload
    assert (bound.policy.name, bound.bindings[0].actions) == ("gangs", (Action.DENY,))


def test_the_revision_follows_the_content(load: Load) -> None:
    first = load(validating(), binding()).revision
    assert load(validating(), binding()).revision == first
    assert load(validating("other"), binding()).revision != first


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("# " + "x" * 100)
    with pytest.raises(PolicySetError, match="larger than 50 bytes"):
        load_policies([tmp_path], limits=ReloadSettings(file_limit_bytes=50))


STRANGE: tuple[Any, ...] = (None, [], {}, "", "x", 5, -1.5, True, [1], [[]], [None], {"a": 1}, [{"name": "x"}])


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in paths(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], strange: Any) -> Any:
    if not path:
        return strange
    key, *rest = path
    changed = value.copy()
    changed[key] = replaced(value[key], tuple(rest), strange)
    return changed


SELECTING = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
EVERYTHING: list[Object] = [
    validating(
        failurePolicy="Fail",
        paramKind=PARAM_KIND,
        matchConditions=[{"name": "c", "expression": "true"}],
        variables=[A],
        auditAnnotations=[{"key": "k", "valueExpression": "'x'"}],
        matchConstraints={"resourceRules": RULES, "excludeResourceRules": RULES, "namespaceSelector": SELECTING},
    ),
    binding(paramRef={"selector": SELECTING, "parameterNotFoundAction": "Deny"}, matchResources={"objectSelector": SELECTING}),
    workload(
        group={
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "disruptionMode": {"all": {}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
            "resourceClaims": [{"name": "a", "resourceClaimName": "b"}],
        },
        disruption={"budgetTimeout": "1s", "restart": {"evict": {}}},
        overrides={"allow": ["gangwarden.dev/min-count"]},
    ),
]


@pytest.mark.parametrize("document", EVERYTHING, ids=lambda document: document["kind"])
def test_no_value_anywhere_makes_the_loader_fall_over(load: Load, document: Object) -> None:
    load(document)
    for path in paths(document):
        for strange in STRANGE:
            with contextlib.suppress(PolicySetError):
                load(replaced(document, path, strange))
