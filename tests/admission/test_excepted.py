"""Exceptions in whole reviews: of every kind of policy, and never used unsaid."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.admission.attaching import around, bound
from tests.builders import job
from tests.groups.building import compiled
from tests.rules.building import binding, policy, request, situation, text
from tests.rules.excepting import NOW, exception
from tests.rules.mutating import label
from tests.rules.mutating import policy as mutating
from webhook.admission import BoundWorkload, PolicySet, Round, decide
from webhook.admission.excepted import EXCEPTIONS_KEY
from webhook.model.exceptions import WHOLE_WORKLOAD
from webhook.model.objects import Object
from webhook.model.policies import Action, FailurePolicy, Validation
from webhook.model.requests import Phase
from webhook.model.verdicts import Admitted, Answer, Denied, Patched
from webhook.rules import BoundMutating, compile_policy

SMALL = Validation(expression=text("object.spec.parallelism <= 2"), message="too large")


def validated(action: Action = Action.DENY, obj: Object | None = None, **parts: object) -> Answer:
    judged = replace(compile_policy(policy(SMALL)), exceptions=(exception(**parts),))
    return reviewed(PolicySet(validating=((judged, (binding(action),)),)), Phase.VALIDATE, obj)


def mutated(*expressions: str, rules: tuple[str, ...] = ("mutations[0]",), obj: Object | None = None) -> Answer:
    compiled_policy, bindings = mutating("labels", *expressions)
    given: BoundMutating = (replace(compiled_policy, exceptions=(exception(rules=rules),)), bindings)
    return reviewed(PolicySet(mutating=(given,)), Phase.MUTATE, obj)


def reviewed(policies: PolicySet, phase: Phase, obj: Object | None = None) -> Answer:
    asked = situation(request(obj or job().build()), now=NOW)
    return decide(Round(phase=phase, failure_policy=FailurePolicy.FAIL), policies, asked, around())


def test_the_audit_log_gets_who_what_why_and_until_when() -> None:
    answer = validated()
    assert isinstance(answer, Admitted)
    assert json.loads(answer.trail.audit_annotations[EXCEPTIONS_KEY]) == [
        {
            "exception": "import",
            "policy": "sizes",
            "binding": "everywhere",
            "rule": "validations[0]",
            "instead": "deny",
            "owner": "batch@example.com",
            "reason": "being split",
            "expires": "2026-12-31T12:00:00Z",
        }
    ]


@pytest.mark.parametrize(("action", "warned"), [(Action.DENY, 1), (Action.WARN, 1), (Action.AUDIT, 0)])
def test_whoever_asks_is_warned_unless_the_rule_itself_would_be_silent(action: Action, warned: int) -> None:
    answer = validated(action)
    assert len(answer.trail.warnings) == warned
    assert EXCEPTIONS_KEY in answer.trail.audit_annotations
    if warned:
        assert answer.trail.warnings[0].startswith(
            "sizes (validations[0]): excepted by PolicyException 'import' until 2026-12-31T"
        )


def test_where_none_is_used_nothing_is_said() -> None:
    answer = validated(obj=job().parallelism(1).build())
    assert (answer.trail.warnings, answer.trail.audit_annotations) == ((), {})
    assert EXCEPTIONS_KEY not in validated(obj=job(namespace="team-b").build()).trail.audit_annotations


def test_a_denial_tells_of_the_exceptions_beside_it() -> None:
    judged = replace(compile_policy(policy(SMALL, "has(object.spec.suspend)")), exceptions=(exception(),))
    answer = reviewed(PolicySet(validating=((judged, (binding(),)),)), Phase.VALIDATE)
    assert isinstance(answer, Denied)
    assert EXCEPTIONS_KEY in answer.trail.audit_annotations


def test_a_mutation_is_left_out_and_the_next_one_goes_on() -> None:
    answer = mutated(label("one"), label("two"))
    assert isinstance(answer, Patched)
    assert answer.object["metadata"]["labels"] == {"two": "yes"}
    assert "labels (mutations[0]): excepted by PolicyException 'import'" in answer.trail.warnings[0]
    assert json.loads(answer.trail.audit_annotations[EXCEPTIONS_KEY])[0]["instead"] == "patch"


def test_a_mutation_that_would_change_nothing_needs_no_exception() -> None:
    answer = mutated(label("one"), obj=job().label("one", "yes").build())
    assert (answer.trail.warnings, answer.trail.audit_annotations) == ((), {})


def test_a_mutation_of_another_object_goes_on() -> None:
    answer = mutated(label("one"), obj=job(namespace="team-b").build())
    assert isinstance(answer, Patched)


def test_a_mutation_that_breaks_is_not_excepted() -> None:
    answer = mutated(label("one", "object.spec.missing"))
    assert isinstance(answer, Denied)


def test_a_reinvoked_mutation_is_told_once() -> None:
    first = mutating("first", label("one"), reinvoked=True)
    given = (replace(first[0], exceptions=(exception(rules=("mutations[0]",)),)), first[1])
    answer = reviewed(PolicySet(mutating=(given, mutating("second", label("two")))), Phase.MUTATE)
    assert isinstance(answer, Patched)
    assert answer.object["metadata"]["labels"] == {"two": "yes"}
    assert len(json.loads(answer.trail.audit_annotations[EXCEPTIONS_KEY])) == 1


def ungrouped(**parts: object) -> BoundWorkload:
    return bound(replace(compiled(**parts), exceptions=(exception(rules=(WHOLE_WORKLOAD,)),)))


def attached(*policies: BoundWorkload, obj: Object | None = None) -> Answer:
    asked = situation(request(obj or job().build()), now=NOW)
    return decide(Round(phase=Phase.MUTATE, failure_policy=FailurePolicy.IGNORE), PolicySet(workload=policies), asked, around())


def test_a_workload_policy_leaves_an_excepted_object_alone() -> None:
    answer = attached(ungrouped())
    assert isinstance(answer, Admitted)
    assert "no group of this policy" in answer.trail.warnings[0]
    assert json.loads(answer.trail.audit_annotations[EXCEPTIONS_KEY])[0]["instead"] == "group"
    assert isinstance(attached(ungrouped(), obj=job(namespace="team-b").build()), Patched)


def test_another_workload_policy_may_group_what_one_leaves_alone() -> None:
    answer = attached(ungrouped(precedence=9), bound(compiled(name="others")))
    assert isinstance(answer, Patched)
    assert [finding.policy for finding in answer.trail.findings] == ["gangs", "others"]


def test_a_workload_policy_says_why_an_exception_has_no_effect() -> None:
    old = bound(replace(compiled(), exceptions=(exception(rules=(WHOLE_WORKLOAD,), expires=NOW),)))
    answer = attached(old)
    assert isinstance(answer, Patched)
    assert "PolicyException 'import' expired at 2026-12-01T12:00:00Z" in answer.trail.warnings[-1]
