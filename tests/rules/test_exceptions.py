"""An exception lets one rule pass for those it was made for, and nothing else: no other rule, no error, no later day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import job, namespace
from tests.rules.building import FakeWorld, binding, constraints, ignoring, policy, request, rule, situation, text
from tests.rules.excepting import NOW, exception
from webhook.errors import PolicySetError
from webhook.model.objects import Object
from webhook.model.policies import Action, NamedExpression, ValidatingPolicy, Validation
from webhook.model.requests import UserInfo
from webhook.model.verdicts import Admitted, Denied, Verdict
from webhook.rules import CompiledException, compile_policy, judge

SMALL = Validation(expression=text("object.spec.parallelism <= 2"), message="too large")
NAMED = Validation(expression=text("has(object.metadata.labels)"), message="no labels")


def ask(
    judged: ValidatingPolicy,
    *exceptions: CompiledException,
    obj: Object | None = None,
    action: Action = Action.DENY,
    **parts: Any,
) -> Admitted | Denied:
    compiled = replace(compile_policy(judged), exceptions=exceptions)
    asked = parts.pop("request", None) or request(obj or job().build())
    return judge([(compiled, (binding(action),))], situation(asked, **{"now": NOW, **parts}))


def said(answer: Admitted | Denied) -> list[tuple[str, str]]:
    return [(finding.rule, finding.verdict.value) for finding in answer.trail.findings]


def test_the_rule_that_is_named_passes_and_says_why() -> None:
    (finding,) = ask(policy(SMALL), exception()).trail.findings
    assert finding.verdict is Verdict.ALLOW
    assert finding.message == (
        "excepted by PolicyException 'import' until 2026-12-31T12:00:00Z (being split; owner: batch@example.com): too large"
    )
    assert finding.exception is not None
    assert (finding.exception.name, finding.exception.instead) == ("import", "deny")


def test_another_rule_of_the_same_policy_still_denies() -> None:
    answer = ask(policy(SMALL, NAMED), exception())
    assert isinstance(answer, Denied)
    assert said(answer) == [("validations[0]", "allow"), ("validations[1]", "deny")]
    assert "no labels" in answer.message
    assert "too large" not in answer.message


def test_an_object_for_which_it_was_not_made_is_denied_as_ever() -> None:
    answer = ask(policy(SMALL), exception(), obj=job(namespace="team-b").build())
    assert isinstance(answer, Denied)
    assert answer == ask(policy(SMALL), obj=job(namespace="team-b").build())


@pytest.mark.parametrize("action", list(Action))
def test_it_takes_the_place_of_every_action(action: Action) -> None:
    answer = ask(policy(SMALL), exception(), action=action)
    (finding,) = answer.trail.findings
    assert finding.exception is not None
    assert finding.exception.instead == action.value.lower()
    assert (answer.trail.warnings, answer.trail.audit_annotations) == ((), {})


@pytest.mark.parametrize(
    ("offset", "applies"), [(timedelta(seconds=-1), True), (timedelta(0), False), (timedelta(days=400), False)]
)
def test_it_ends_at_the_moment_that_it_names(offset: timedelta, applies: bool) -> None:
    end = NOW + timedelta(days=1)
    answer = ask(policy(SMALL), exception(expires=end), now=(end + offset).astimezone(timezone(timedelta(hours=-5))))
    assert isinstance(answer, Admitted) is applies
    if isinstance(answer, Denied):
        assert answer.message.endswith(
            "too large (PolicyException 'import' expired at 2026-12-02T12:00:00Z; its owner is batch@example.com)"
        )


def test_without_a_clock_it_does_not_apply() -> None:
    answer = ask(policy(SMALL), exception(), now=None)
    assert isinstance(answer, Denied)
    assert "nobody tells the time" in answer.message


@pytest.mark.parametrize("broken", ["object.spec.missing <= 2", "object.spec.parallelism / 0 == 1"])
def test_a_rule_that_breaks_is_not_excepted(broken: str) -> None:
    answer = ask(policy(broken), exception())
    assert isinstance(answer, Denied)
    assert answer == ask(policy(broken))
    assert said(ask(ignoring(broken), exception())) == [("validations[0]", "error")]


def test_a_match_condition_that_breaks_is_not_excepted() -> None:
    conditions = (NamedExpression(name="broken", expression=text("object.spec.missing == 1")),)
    assert isinstance(ask(policy(SMALL, match_conditions=conditions), exception()), Denied)


def test_an_exception_that_breaks_does_not_apply_and_says_so() -> None:
    answer = ask(policy(SMALL), exception("object.metadata.labels.team == 'a'"))
    assert isinstance(answer, Denied)
    assert "PolicyException 'import' does not apply, for it could not be evaluated" in answer.message
    assert "no such key: labels" in answer.message


def test_one_that_breaks_does_not_stand_in_the_way_of_the_next() -> None:
    broken = exception("object.metadata.labels.team == 'a'", name="a")
    assert isinstance(ask(policy(SMALL), broken, exception(name="b")), Admitted)


def test_all_conditions_must_hold() -> None:
    both = exception("request.namespace == 'team-a'", "request.userInfo.username == 'alice'")
    assert isinstance(ask(policy(SMALL), both), Denied)
    alice = request(job().build(), user=UserInfo(username="alice"))
    assert isinstance(ask(policy(SMALL), both, request=alice), Admitted)


def test_two_do_not_lend_each_other_rules_or_conditions() -> None:
    first = exception("request.namespace == 'team-a'", name="a", rules=("validations[0]",))
    second = exception("request.namespace == 'team-b'", name="b", rules=("validations[1]",))
    for space in ("team-a", "team-b"):
        assert isinstance(ask(policy(SMALL, NAMED), first, second, obj=job(namespace=space).build()), Denied)


def test_conditions_may_ask_for_the_namespace() -> None:
    one = exception("namespaceObject.metadata.labels.tier == 'import'")
    world = FakeWorld(namespaces=(namespace(tier="import"),))
    assert isinstance(ask(policy(SMALL), one, world=world), Admitted)
    assert isinstance(ask(policy(SMALL), one), Denied)


def test_a_deletion_can_be_excepted() -> None:
    gone = request(None, old_object=job().build())
    assert isinstance(ask(policy("oldObject == null"), exception(), request=gone), Admitted)


def test_a_rule_that_passes_leaves_its_exception_unused() -> None:
    (finding,) = ask(policy(SMALL), exception(), obj=job().parallelism(1).build()).trail.findings
    assert finding.exception is None


@pytest.mark.parametrize(
    "condition",
    [
        "true",
        "request.namespace != 'prod'",
        "request.operation == 'CREATE'",
        "request.resource.resource == 'jobs'",
        "object.kind == 'Job' && request.kind.kind == 'Job'",
        "!has(object.metadata.labels)",
        "object.metadata.name != ''",
        "'system:authenticated' in request.userInfo.groups",
        "namespaceObject.metadata.name == request.namespace",
    ],
)
def test_what_fits_a_stranger_is_too_wide(condition: str) -> None:
    with pytest.raises(PolicySetError, match="too wide") as raised:
        exception(condition)
    assert raised.value.path == "policy.yaml"


@pytest.mark.parametrize(
    ("condition", "rule_parts"),
    [
        ("request.resource.resource == 'jobs'", {}),
        ("request.kind.kind == 'PodGroup'", {"api_groups": ["scheduling.k8s.io"]}),
        ("object.kind == 'Deployment'", {"resources": ["*"], "api_groups": ["batch", "apps"]}),
        ("request.resource.group == 'jobset.x-k8s.io'", {"api_groups": ["batch", "jobset.x-k8s.io"], "resources": ["jobsets"]}),
        ("request.subResource == 'eviction'", {"api_groups": [""], "resources": ["pods/eviction"]}),
        ("request.operation == 'DELETE' && oldObject != null", {"resources": ["jobs"], "api_groups": ["batch"]}),
    ],
)
def test_all_objects_of_one_kind_are_too_many_also_of_a_policy_about_many(condition: str, rule_parts: dict[str, Any]) -> None:
    with pytest.raises(PolicySetError, match="too wide"):
        exception(condition, of=constraints(rule(**rule_parts)))


def test_wide_together_with_narrow_is_narrow() -> None:
    assert exception("request.operation == 'CREATE'", "request.namespace == 'team-a'").name == "import"


def test_a_condition_is_compiled_like_any_other() -> None:
    with pytest.raises(PolicySetError, match="undeclared"):
        exception("objekt.spec == 1")
    with pytest.raises(PolicySetError, match="must evaluate to bool"):
        exception("request.namespace")
    with pytest.raises(PolicySetError, match="params"):
        exception("params.x == 1")


RULES = ("validations[0]", "validations[1]", "validations[2]")
TEAMS = ("team-a", "team-b", "team-c")
EXCEPTIONS = st.lists(
    st.tuples(st.sets(st.sampled_from(RULES), min_size=1), st.sampled_from(TEAMS), st.integers(-2, 2)), max_size=4
)
"""What is excepted, for whom, and in how many days it ends."""


def compiled(described: list[tuple[set[str], str, int]]) -> list[CompiledException]:
    return [
        exception(f"request.namespace == '{team}'", name=f"e{i}", rules=tuple(sorted(rules)), expires=NOW + timedelta(days=days))
        for i, (rules, team, days) in enumerate(described)
    ]


@given(EXCEPTIONS, st.sampled_from(TEAMS), st.integers(1, 4))
def test_no_set_of_exceptions_allows_more_than_its_members_say(
    described: list[tuple[set[str], str, int]], team: str, parallelism: int
) -> None:
    """A finding changes if and only if one exception names its rule, fits the object and has not ended."""
    judged = policy("object.spec.parallelism > 1", "object.spec.parallelism > 2", "object.spec.parallelism > 3")
    obj = job(namespace=team).parallelism(parallelism).build()
    before, after = (ask(judged, *some, obj=obj).trail.findings for some in ((), compiled(described)))
    assert [finding.rule for finding in before] == [finding.rule for finding in after]
    for plain, excepted in zip(before, after, strict=True):
        covered = any(plain.rule in rules and team == whose and days > 0 for rules, whose, days in described)
        failed = plain.verdict is Verdict.DENY
        assert (excepted.exception is not None) is (covered and failed)
        assert excepted.verdict is (Verdict.ALLOW if covered and failed else plain.verdict)


@given(EXCEPTIONS, st.sampled_from(TEAMS))
def test_the_order_of_exceptions_decides_nothing_but_whose_name_is_told(
    described: list[tuple[set[str], str, int]], team: str
) -> None:
    judged = policy("object.spec.parallelism > 9", "object.spec.parallelism > 9", "object.spec.parallelism > 9")
    obj, exceptions = job(namespace=team).build(), compiled(described)
    assert said(ask(judged, *exceptions, obj=obj)) == said(ask(judged, *reversed(exceptions), obj=obj))


def test_an_end_in_another_time_zone_is_told_in_utc() -> None:
    end = datetime(2026, 12, 24, 1, tzinfo=timezone(timedelta(hours=2)))
    assert exception(expires=end.astimezone(UTC)).until == "2026-12-23T23:00:00Z"
