"""What a mutating review makes of a workload: one policy's stamp, a reason for none, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import EVERYTHING, admitted, answer, around, bound, denied, group_of, grouped, only, said, watching
from tests.builders import Built, job
from tests.groups.building import JOB_RULE, compiled, group
from tests.rules.building import (
    CONFIG_MAP,
    FakeWorld,
    binding,
    by_name,
    config_map,
    constraints,
    named,
    request,
    rule,
    selector,
    situation,
)
from webhook.admission import attach
from webhook.model.groups import (
    GROUP_POLICY_ANNOTATION,
    GROUPED_AS_ANNOTATION,
    MIN_COUNT_ANNOTATION,
    POD_GROUP_ANNOTATION,
    Capabilities,
)
from webhook.model.policies import Action, FailurePolicy, MatchResources, ParamRef
from webhook.model.requests import Operation
from webhook.model.verdicts import Admitted, Verdict

ANY_OPERATION = constraints(rule(operations=["*"], api_groups=["batch"], resources=["jobs"]))
IGNORE = {"failure_policy": FailurePolicy.IGNORE}
BROKEN = {"match_conditions": named(mine="object.spec.nope == 1")}


def test_a_workload_gets_its_stamp_and_the_record_of_it_and_nothing_else() -> None:
    found = grouped()
    written = {
        POD_GROUP_ANNOTATION: "workers=train-0000000000",
        GROUP_POLICY_ANNOTATION: "gangs/everywhere",
        GROUPED_AS_ANNOTATION: "train",
    }
    assert (
        list(found.patch)
        == [
            {"op": "add", "path": "/metadata/annotations", "value": written},
            {"op": "add", "path": "/spec/template/spec/schedulingGroup", "value": {"podGroupName": "train-0000000000"}},
        ]
        or found.patch[0]["path"] == "/spec/template/spec/schedulingGroup"
    )
    assert said(found) == [("allow", "4 pods in one PodGroup, 4 at once or none")]


def test_the_patch_leaves_the_annotations_of_others_alone() -> None:
    found = grouped(job().annotate("example.com/x", "1"))
    assert {one["path"] for one in found.patch} == {
        "/spec/template/spec/schedulingGroup",
        "/metadata/annotations/gangwarden.dev~1pod-group",
        "/metadata/annotations/gangwarden.dev~1group-policy",
        "/metadata/annotations/gangwarden.dev~1grouped-as",
    }


def test_under_generate_name_the_prefix_is_what_is_known() -> None:
    prefixed = job().at("metadata", {"generateName": "run-", "namespace": "team-a"})
    found = grouped(prefixed)
    assert group_of(found.object) == "run-0000000000"
    assert found.object["metadata"]["annotations"][GROUPED_AS_ANNOTATION] == "run-"


def test_a_dry_run_is_answered_the_same() -> None:
    assert answer(dry_run=True) == answer(dry_run=False)


@pytest.mark.parametrize(
    "asked",
    [
        {"operation": Operation.UPDATE, "old_object": job().build()},
        {"sub_resource": "status"},
        {"operation": Operation.CREATE, "sub_resource": "scale"},
    ],
    ids=["an update", "a status", "a scale"],
)
def test_only_creating_the_workload_itself_attaches(asked: dict[str, Any]) -> None:
    assert answer(job(), bound(compiled(match_constraints=ANY_OPERATION)), **asked) == Admitted()


def test_deleting_attaches_nothing() -> None:
    about = situation(request(None, old_object=job().build()))
    assert attach((bound(compiled(match_constraints=ANY_OPERATION)),), about, around()) == (Admitted(), None)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(
            bound(compiled(match_constraints=constraints(JOB_RULE, object_selector=selector(gang="x")))), id="of other labels"
        ),
        pytest.param(bound(compiled(match_conditions=named(mine="object.spec.parallelism > 9"))), id="of other conditions"),
        pytest.param(
            bound(compiled(), binding(match_resources=MatchResources(object_selector=selector(a="b")))), id="bound elsewhere"
        ),
    ],
)
def test_a_policy_says_nothing(policy: Any) -> None:
    assert answer(job(), policy) == Admitted()


def ranked(name: str, precedence: int, **parts: Any) -> Any:
    return bound(compiled(name=name, precedence=precedence, **parts))


def test_the_higher_precedence_speaks() -> None:
    found = grouped(job(), ranked("low", 0), ranked("high", 1), ranked("lower", -1))
    assert found.object["metadata"]["annotations"][GROUP_POLICY_ANNOTATION] == "high/everywhere"


def test_two_of_equal_precedence_are_refused_by_name() -> None:
    found = denied(job(), ranked("first", 1), ranked("low", 0), ranked("second", 1))
    assert "'first' with binding 'everywhere' and WorkloadPolicy 'second' with binding 'everywhere'" in found.message
    assert "at precedence 1; give one a higher precedence" in found.message
    assert (found.reason, found.code) == ("Invalid", 422)


def test_two_bindings_of_one_policy_cannot_be_told_apart_by_precedence() -> None:
    found = denied(job(), bound(compiled(), binding(name="a"), binding(name="b")))
    assert "with binding 'a' and binding 'b' both speak about this object; narrow one of the bindings" in found.message


def test_two_params_of_one_binding_neither() -> None:
    policy = compiled(param_kind=CONFIG_MAP)
    every = binding(param_ref=ParamRef(selector=selector()))
    found = denied(job(), bound(policy, every), world=FakeWorld(objects=(config_map("a"), config_map("b"))))
    assert "has several params for this object, and only one can group it" in found.message


@pytest.mark.parametrize(
    ("actions", "verdict"),
    [
        ((Action.WARN,), "warn"), ((Action.AUDIT,), "audit"), ((Action.WARN, Action.AUDIT), "warn"),
    ],
)  # fmt: skip
def test_a_binding_that_only_watches_says_what_it_would_do(actions: tuple[Action, ...], verdict: str) -> None:
    found = admitted(job(), bound(compiled(), watching(*actions)))
    told = "would be grouped: 4 pods in one PodGroup, 4 at once or none"
    assert said(found) == [(verdict, told)]
    assert bool(found.trail.warnings) == (Action.WARN in actions)
    assert found.trail.audit_annotations == ({"workload-policy.gangs": f"watched: {told}"} if Action.AUDIT in actions else {})


@pytest.mark.parametrize(
    ("obj", "policy", "words"),
    [
        pytest.param(job().annotate(MIN_COUNT_ANNOTATION, "9"), {}, "would be refused: metadata.annotations", id="a bad word"),
        pytest.param(
            job(), BROKEN, "would be refused: expression 'object.spec.nope == 1' resulted in error", id="a broken condition"
        ),
        pytest.param(
            job(), {"variables": named(a="object.x")}, "would be refused: podGroups[0].members.count", id="a broken count"
        ),
    ],
)
@pytest.mark.parametrize(("action", "verdict"), [(Action.WARN, "warn"), (Action.AUDIT, "audit")])
def test_a_binding_that_only_watches_refuses_nothing(
    obj: Built, policy: dict[str, Any], words: str, action: Action, verdict: str
) -> None:
    spec = group(count="variables.a") if "variables" in policy else group()
    found = admitted(obj, bound(compiled(spec, **policy), watching(action)))
    assert only(found).verdict.value == verdict
    assert words in only(found).message


def test_a_rehearsal_has_nothing_to_warn_of_where_nothing_would_happen() -> None:
    own = job().at("spec.template.spec.schedulingGroup", {"podGroupName": "mine"})
    found = admitted(own, bound(compiled(), watching(Action.WARN)))
    assert only(found).verdict is Verdict.ALLOW
    assert found.trail.warnings == ()


def test_one_that_watches_does_not_stand_in_the_way_of_one_that_acts() -> None:
    watched = bound(compiled(name="next", precedence=9), watching(Action.WARN))
    found = grouped(job(), watched, ranked("now", 0))
    assert found.object["metadata"]["annotations"][GROUP_POLICY_ANNOTATION] == "now/everywhere"
    assert [verdict for verdict, _ in said(found)] == ["warn", "allow"]


def test_a_binding_that_acts_and_audits_does_both() -> None:
    found = grouped(job(), bound(compiled(), binding(Action.DENY, Action.AUDIT, name="b")))
    assert found.trail.audit_annotations == {"workload-policy.gangs": "b: 4 pods in one PodGroup, 4 at once or none"}


def test_two_bindings_that_audit_are_both_written_down() -> None:
    watched = [binding(Action.AUDIT, name=name) for name in ("a", "b")]
    note = admitted(job(), bound(compiled(), *watched)).trail.audit_annotations["workload-policy.gangs"]
    assert note.startswith("a: would be grouped")
    assert "; b: would be grouped" in note


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        pytest.param(bound(compiled(**BROKEN)), "expression 'object.spec.nope == 1' resulted in error", id="a condition"),
        pytest.param(
            bound(compiled(group(count="object.spec.nope"))), "podGroups[0].members.countExpression failed", id="a count"
        ),
        pytest.param(
            bound(compiled(param_kind=CONFIG_MAP), binding(param_ref=by_name("gone"))),
            "no params found for policy binding",
            id="params",
        ),
    ],
)
def test_what_fails_is_refused_by_failure_policy_fail(policy: Any, words: str) -> None:
    found = denied(job(), policy)
    assert found.message.startswith("WorkloadPolicy 'gangs' with binding 'everywhere' denied request: ")
    assert words in found.message
    assert (found.reason, found.code) == ("Forbidden", 403)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(bound(compiled(**BROKEN, **IGNORE)), id="a condition"),
        pytest.param(bound(compiled(group(count="object.spec.nope"), **IGNORE)), id="a count"),
        pytest.param(bound(compiled(param_kind=CONFIG_MAP, **IGNORE), binding(param_ref=by_name("gone"))), id="params"),
    ],
)
def test_what_fails_is_let_pass_by_failure_policy_ignore_and_said(policy: Any) -> None:
    found = admitted(job(), policy)
    assert only(found).verdict is Verdict.ERROR
    (warning,) = found.trail.warnings
    assert warning.startswith("WorkloadPolicy 'gangs' could not be evaluated, so the object was not grouped: ")


def test_one_that_fails_refuses_although_another_could_group() -> None:
    assert "'broken'" in denied(job(), bound(compiled(name="broken", **BROKEN)), ranked("fine", 9)).message
    ignoring = bound(compiled(name="broken", **BROKEN, **IGNORE))
    assert [verdict for verdict, _ in said(grouped(job(), ignoring, ranked("fine", 9)))] == ["error", "allow"]


@pytest.mark.parametrize("failure", list(FailurePolicy))
def test_a_shape_that_cannot_be_is_refused_whatever_the_failure_policy(failure: FailurePolicy) -> None:
    found = denied(job().annotate(MIN_COUNT_ANNOTATION, "9"), bound(compiled(failure_policy=failure)))
    assert (found.reason, found.code) == ("Invalid", 422)
    assert only(found).field == f"metadata.annotations[{MIN_COUNT_ANNOTATION}]"


ASKS_CLUSTER = group(count="cluster.group('x').hasValue() ? 1 : 2")


@pytest.mark.parametrize(
    "policy",
    [compiled(ASKS_CLUSTER), compiled(match_conditions=named(mine="cluster.group('x').hasValue()"))],
    ids=["a count", "a condition"],
)
def test_what_asks_for_a_snapshot_is_skipped_offline_and_refused_in_a_cluster(policy: Any) -> None:
    found = admitted(job(), bound(policy), skip_undecided=True)
    assert only(found).verdict is Verdict.SKIP
    assert "was skipped" in found.trail.warnings[0]
    assert denied(job(), bound(policy)).code == 403


NATIVE = Capabilities(group_objects=True, native_jobs=True, native_groups=True)


def test_on_the_native_route_the_job_controller_makes_the_group() -> None:
    found = grouped(job().parallelism(4), surroundings=around(capabilities=NATIVE))
    assert found.object["spec"]["scheduling"]["schedulingPolicy"] == {"gang": {}}
    assert "schedulingGroup" not in found.object["spec"]["template"]["spec"]
    assert only(found).message == "4 pods in one PodGroup, made by the Job controller, 4 at once or none"


def test_a_second_look_at_a_native_job_changes_nothing() -> None:
    once = grouped(job().parallelism(4), surroundings=around(capabilities=NATIVE)).object
    assert (
        only(admitted(once, surroundings=around(capabilities=NATIVE))).message == "left as it is: it has spec.scheduling already"
    )


def test_a_policy_that_insists_on_the_native_route_refuses_where_it_is_not_there() -> None:
    insisting = bound(compiled(attach="Native"))
    assert "feature gate WorkloadWithJob is off there" in denied(job(), insisting).message
    assert grouped(job().parallelism(4), insisting, surroundings=around(capabilities=EVERYTHING)).object["spec"]["scheduling"]


@pytest.mark.parametrize("keeps_groups", [None, True, False])
def test_who_asks_for_a_gang_hears_once_that_the_scheduler_ignores_groups(*, keeps_groups: bool | None) -> None:
    around_it = around(capabilities=Capabilities(group_objects=True, scheduler_groups=keeps_groups))
    found = grouped(surroundings=around_it)
    assert group_of(found.object) == "train-0000000000"
    words = [
        "WorkloadPolicy 'gangs' with binding 'everywhere': kube-apiserver takes groups, but kube-scheduler ignores them, for "
        "feature gate GenericWorkload is off there: gangs start in parts. Turn GenericWorkload on in kube-scheduler."
    ]
    assert list(found.trail.warnings) == (words if keeps_groups is False else [])
