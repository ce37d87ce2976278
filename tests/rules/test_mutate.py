"""What comes of mutating policies together: order, reinvocation, failures, findings. Single mutations are recorded elsewhere."""

from __future__ import annotations

import pytest

from tests.builders import job
from tests.rules.building import (
    CONFIG_MAP,
    FakeWorld,
    binding,
    by_name,
    config_map,
    constraints,
    named,
    request,
    selector,
    situation,
)
from tests.rules.mutating import label, policy
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy, MutatingPolicy
from webhook.model.requests import Operation
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.model.verdicts import Finding, Verdict
from webhook.rules import ClusterView, Mutated, compile_mutating, mutate
from webhook.settings import EvaluationSettings

IGNORE = {"failure_policy": FailurePolicy.IGNORE}
BROKEN = "[JSONPatch{op: 'remove', path: '/nope'}]"
UNREADABLE = "[JSONPatch{op: 'add', path: '/spec/nope', value: 1}]"


def appended(letter: str) -> str:
    return label("seen", f"object.?metadata.?labels[?'seen'].orValue('') + '{letter}'")


def labels(answer: Mutated) -> Object:
    found: Object = (answer.object or {})["metadata"].get("labels", {})
    return found


def verdicts(answer: Mutated) -> list[tuple[str, str, str]]:
    return [(one.policy, one.rule, one.verdict.value) for one in answer.trail.findings]


def test_policies_see_what_the_ones_before_them_made() -> None:
    assert labels(mutate([policy("a", appended("a")), policy("b", appended("b"), appended("c"))], situation())) == {"seen": "abc"}


def test_each_binding_applies_once_more() -> None:
    twice = policy("a", appended("a"), bindings=(binding(name="x"), binding(name="y")))
    assert labels(mutate([twice], situation())) == {"seen": "aa"}


def test_a_condition_sees_what_earlier_policies_made() -> None:
    later = policy("b", label("b"), match_conditions=named(c="'a' in object.?metadata.?labels.orValue({})"))
    assert labels(mutate([policy("a", label("a")), later], situation())) == {"a": "yes", "b": "yes"}


def test_which_policies_match_is_settled_by_the_object_as_it_came() -> None:
    later = policy("b", label("b"), match_constraints=constraints(object_selector=selector(a="yes")))
    assert labels(mutate([policy("a", label("a")), later], situation())) == {"a": "yes"}


def test_a_policy_of_if_needed_is_asked_again_after_later_changes() -> None:
    early = policy("a", "'b' in object.?metadata.?labels.orValue({}) ? " + label("after-b") + " : Object{}", reinvoked=True)
    assert labels(mutate([early, policy("b", label("b"))], situation())) == {"b": "yes", "after-b": "yes"}
    never = (compile_mutating(MutatingPolicy(head=early[0].source.head, mutations=early[0].source.mutations)), early[1])
    assert labels(mutate([never, policy("b", label("b"))], situation())) == {"b": "yes"}


def test_a_policy_is_asked_again_once_and_only_if_it_was_asked_at_all() -> None:
    once_more = policy("a", appended("a"), reinvoked=True)
    assert labels(mutate([once_more, policy("b", appended("b"))], situation())) == {"seen": "aba"}
    late = policy("a", appended("a"), reinvoked=True, match_conditions=named(c="'b' in object.?metadata.?labels.orValue({})"))
    assert labels(mutate([late, policy("b", label("b"))], situation())) == {"b": "yes"}


def test_nothing_is_asked_again_where_nothing_was_applied() -> None:
    broken = policy("a", BROKEN, reinvoked=True, **IGNORE)
    assert verdicts(mutate([broken], situation())) == [("a", "mutations[0]", "error")]


def test_under_fail_a_failure_denies_and_names_policy_and_binding() -> None:
    answer = mutate([policy("a", label("a"), BROKEN), policy("b", label("b"))], situation())
    assert answer.message.startswith("policy 'a' with binding 'everywhere' denied request: JSON Patch: ")
    assert answer.denial is not None
    assert (answer.denial.code, answer.denial.reason) == (403, "Invalid")
    assert verdicts(answer) == [("a", "mutations[1]", "deny"), ("a", "", "allow"), ("b", "", "allow")]


def test_under_ignore_a_failure_is_a_finding_and_the_rest_goes_on() -> None:
    answer = mutate([policy("a", BROKEN, label("a"), **IGNORE)], situation())
    assert (answer.denial, labels(answer)) == (None, {"a": "yes"})
    assert verdicts(answer) == [("a", "mutations[0]", "error"), ("a", "", "allow")]


@pytest.mark.parametrize("failure", FailurePolicy)
def test_what_cannot_be_read_back_ends_the_request_whatever_the_failure_policy(failure: FailurePolicy) -> None:
    answer = mutate([policy("a", UNREADABLE, failure_policy=failure), policy("b", label("b"))], situation())
    assert answer.denial is not None
    assert (answer.denial.code, answer.denial.reason, answer.denial.policy) == (500, "InternalError", "a")
    assert answer.message.endswith(
        "strict decoding error: unknown field \"spec.nope\" (policy 'a' with binding 'everywhere', mutations[0])"
    )


def test_a_namespace_that_is_missing_denies_without_a_binding() -> None:
    chosen = policy("a", label("a"), match_constraints=constraints(namespace_selector=selector(tier="gold")))
    answer = mutate([chosen], situation(world=FakeWorld(namespaces=())))
    assert answer.message == 'policy "a" denied request: failed to configure policy: namespaces "team-a" not found'
    assert answer.denial is not None
    assert answer.denial.reason == "Forbidden"


def test_each_param_is_one_more_invocation() -> None:
    asked = policy(
        "a", label("x", "object.?metadata.?labels[?'x'].orValue('') + params.data.v"), param_kind=CONFIG_MAP,
        bindings=(binding(param_ref=by_name("one")), binding(name="other", param_ref=by_name("two"))),
    )  # fmt: skip
    world = FakeWorld(objects=[config_map("one", v="1"), config_map("two", v="2")])
    assert labels(mutate([asked], situation(world=world))) == {"x": "12"}


def test_what_changes_nothing_is_said_so() -> None:
    (finding,) = mutate([policy("a", "Object{}")], situation()).trail.findings
    assert finding == Finding(policy="a", binding="everywhere", verdict=Verdict.ALLOW, message="nothing to change")


def test_every_policy_has_its_own_part_in_the_changes() -> None:
    answer = mutate([policy("a", label("a")), policy("b", label("b"))], situation())
    assert [sorted(change.after["metadata"]["labels"]) for change in answer.changes] == [["a"], ["a", "b"]]
    assert [change.finding for change in answer.changes] == list(answer.trail.findings)
    assert answer.changes[0].after == answer.changes[1].before


def test_the_object_of_the_request_stays_as_it_is() -> None:
    asked = request(job().build())
    mutate([policy("a", label("a"), "[JSONPatch{op: 'remove', path: '/spec/completions'}]")], situation(asked))
    assert asked.object == job().build()


def test_a_delete_has_nothing_to_change() -> None:
    asked = request(old_object=job().build(), operation=Operation.DELETE)
    assert mutate([policy("a", label("a"))], situation(asked)) == Mutated(object=None)


def test_a_rule_without_a_snapshot_is_skipped_offline_and_follows_the_failure_policy_in_a_cluster() -> None:
    asked = policy("a", label("g", "string(cluster.group('g').hasValue())"))
    view = ClusterView(EMPTY_SNAPSHOT, "team-a")
    offline = mutate([asked], situation(cluster=view, skip_undecided=True))
    assert (verdicts(offline), offline.denial) == ([("a", "mutations[0]", "skip")], None)
    assert "was skipped" in offline.trail.warnings[0]
    assert mutate([asked], situation(cluster=view)).denial is not None


def test_a_deadline_that_has_passed_denies() -> None:
    answer = mutate([policy("a", label("a"))], situation(expired=lambda: True))
    assert answer.denial is not None
    assert "deadline exceeded" in answer.message


def test_an_expression_that_costs_too_much_denies() -> None:
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    slow = f"({ten}.all(a, {ten}.all(b, {ten}.all(c, a + b + c >= 0)))) ? Object{{}} : Object{{}}"
    answer = mutate([policy("a", slow)], situation(limits=EvaluationSettings(cost_per_expression=100)))
    assert answer.denial is not None
    assert "cost limit exceeded" in answer.message


def test_defaults_are_filled_in_between_mutations() -> None:
    def complete(before: Object, after: Object) -> Object:
        return {**after, "spec": {**after["spec"], "filled": before["spec"]["parallelism"]}}

    answer = mutate([policy("a", label("a"), label("b", "string(object.spec.filled)"))], situation(), complete=complete)
    assert labels(answer) == {"a": "yes", "b": "4"}


def test_a_test_of_everything_without_a_value_is_refused_where_the_api_servers_library_would_panic() -> None:
    answer = mutate([policy("a", "[JSONPatch{op: 'test', path: ''}]")], situation())
    assert "JSON Patch: test operation of everything needs a value" in answer.message
