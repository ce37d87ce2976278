"""Which policies answer on which path."""

from __future__ import annotations

import pytest

from tests.admission.attaching import around, bound
from tests.builders import job
from tests.rules.building import binding, constraints, policy, request, rule, situation, text
from webhook.admission import PolicySet, Round, decide, served_policies
from webhook.admission.policyset import INSTALL_LABEL, NATIVE
from webhook.model.policies import FailurePolicy, Validation
from webhook.model.requests import Operation, Phase
from webhook.model.verdicts import Admitted, Answer, Denied, Patched
from webhook.rules import CompiledPolicy, compile_policy

FAIL, IGNORE = FailurePolicy.FAIL, FailurePolicy.IGNORE


def refusing(name: str, failure: FailurePolicy, **parts: object) -> tuple[CompiledPolicy, tuple]:
    refusal = Validation(expression=text("false"), message=f"{name} says no")
    return compile_policy(policy(refusal, failure_policy=failure, **parts)), (binding(),)


POLICIES = PolicySet(
    validating=(
        refusing("strict", FAIL),
        refusing("lenient", IGNORE),
        refusing("native", FAIL, labels={INSTALL_LABEL: NATIVE}),
        refusing("native", IGNORE, labels={INSTALL_LABEL: NATIVE}),
    ),
    workload=(bound(),),
)


def asked(phase: Phase, failure: FailurePolicy, policies: PolicySet = POLICIES) -> Answer:
    return decide(Round(phase=phase, failure_policy=failure), policies, situation(request(job().build())), around())


@pytest.mark.parametrize(("failure", "name"), [(FAIL, "strict"), (IGNORE, "lenient")])
def test_a_validating_path_answers_for_its_own_failure_policy_only(failure: FailurePolicy, name: str) -> None:
    found = asked(Phase.VALIDATE, failure)
    assert isinstance(found, Denied)
    assert [finding.message for finding in found.trail.findings] == [f"{name} says no"]


def test_the_mutating_path_of_ignore_attaches_and_validates_nothing() -> None:
    assert isinstance(asked(Phase.MUTATE, IGNORE), Patched)
    assert asked(Phase.MUTATE, FAIL) == Admitted()


def test_what_is_installed_natively_is_the_api_servers_to_ask() -> None:
    native = PolicySet(validating=POLICIES.validating[2:])
    assert asked(Phase.VALIDATE, FAIL, native) == Admitted()
    assert served_policies(POLICIES).validating == POLICIES.validating[:2]


def names(policies: PolicySet) -> list[str]:
    return [found.validations[0].source.message.removesuffix(" says no") for found, _ in policies.validating]


def about(resource: str, **parts: object) -> tuple[CompiledPolicy, tuple]:
    return refusing(f"about {resource}", FAIL, match_constraints=constraints(rule(resources=[resource], **parts)))


def test_a_request_is_judged_by_the_policies_whose_rules_may_know_it() -> None:
    policies = PolicySet(validating=(about("jobs", operations=["CREATE"]), about("pods"), about("*", operations=["DELETE"])))
    create, delete = request(job().build()), request(job().build(), operation=Operation.DELETE)
    assert names(policies.about(create)) == ["about jobs"]
    assert names(policies.about(delete)) == ["about *"]
    assert names(policies.about(create, IGNORE)) == []


def test_a_policy_about_certain_names_is_asked_about_each() -> None:
    policies = PolicySet(validating=(about("jobs", resource_names=["train"]),))
    for name, code in (("other", None), ("train", 422), ("another", None)):
        found = decide(
            Round(phase=Phase.VALIDATE, failure_policy=FAIL), policies, situation(request(job(name).build())), around()
        )
        assert getattr(found, "code", None) == code


def test_what_is_remembered_of_sorts_of_requests_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.admission.policyset.SORTS", 2)
    policies = PolicySet(validating=(about("jobs", operations=["CREATE", "UPDATE"]),))
    for operation in (*Operation, *Operation):
        wanted = ["about jobs"] if operation in (Operation.CREATE, Operation.UPDATE) else []
        assert names(policies.about(request(job().build(), operation=operation))) == wanted
        assert len(policies._about) <= 2
