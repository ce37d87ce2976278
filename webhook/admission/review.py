"""One review from question to answer, by the policies and the snapshot of one moment."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.admission.attach import Surroundings
from webhook.admission.excepted import tell_exceptions
from webhook.admission.mutate import run_mutating
from webhook.admission.policyset import PolicySet
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.verdicts import Answer
from webhook.rules import Situation, judge

_VALIDATE = Phase.VALIDATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Which of the webhook's paths was called."""

    phase: Phase
    failure_policy: FailurePolicy


def decide(called: Round, policies: PolicySet, situation: Situation, surroundings: Surroundings) -> Answer:
    """Answer a review, with all that is to be told of exceptions. A path answers for the policies of its own failurePolicy only.

    WorkloadPolicies are all on the mutating path of Ignore: their failurePolicy is about their expressions, while a native
    policy stands in for us when we are away.
    """
    return tell_exceptions(_decide(called, policies, situation, surroundings))


def _decide(called: Round, policies: PolicySet, situation: Situation, surroundings: Surroundings) -> Answer:
    concerned = policies.about(situation.request, called.failure_policy)
    if called.phase is _VALIDATE:
        return judge(concerned.validating, situation, concerned.panels)
    workload = concerned.workload if called.failure_policy is FailurePolicy.IGNORE else ()
    return run_mutating(concerned.mutating, workload, situation, surroundings).answer
