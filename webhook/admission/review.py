"""One review from question to answer, by the policies and the snapshot of one moment."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.admission.attach import Surroundings, attach
from webhook.admission.policyset import PolicySet, is_served
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.verdicts import Answer
from webhook.rules import Situation, judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Which of the webhook's paths was called."""

    phase: Phase
    failure_policy: FailurePolicy


def decide(called: Round, policies: PolicySet, situation: Situation, surroundings: Surroundings) -> Answer:
    """Answer a review. A validating path answers for the policies of its own failurePolicy only.

    Both mutating paths attach: a WorkloadPolicy's failurePolicy is about its expressions, while the webhook itself is
    registered with Ignore, and a second call finds the first one's stamp.
    """
    if called.phase is Phase.MUTATE:
        answer, _ = attach(policies.workload, situation, surroundings)
        return answer
    chosen = [
        (policy, bindings)
        for policy, bindings in policies.validating
        if policy.head.source.failure_policy is called.failure_policy and is_served(policy)
    ]
    return judge(chosen, situation)
