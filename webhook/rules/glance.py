"""A quick look at one policy after another: most have nothing to say of most requests but that they allow.

What it cannot tell is judged anew from the start and in full, so there is one meaning; a policy that denies is thereby evaluated
twice. It knows no failure: whatever is not plainly true, out of the ordinary in the policy, or short of budget or time, is left.
"""

from __future__ import annotations

from functools import lru_cache

from webhook.cel import EvaluationError
from webhook.model.policies import Binding
from webhook.model.verdicts import Finding, Verdict
from webhook.rules.compile import CompiledPolicy
from webhook.rules.match import is_exempt
from webhook.rules.run import Run
from webhook.rules.world import Situation

Said = tuple[Finding, ...]


class Glance:
    """One request, and the run in which all policies look at it, one at a time."""

    def __init__(self, situation: Situation) -> None:
        request = situation.request
        self._sort, self._resource, self._limits = request.sort, request.resource, situation.limits
        self._is_plain = request.request_resource in (None, request.resource) and not is_exempt(request)
        self._run: Run | None = None
        self._situation = situation

    def at(self, policy: CompiledPolicy, bindings: tuple[Binding, ...]) -> Said | None:
        """Return the finding of a policy that allows; None: it must be judged."""
        if not (self._is_plain and policy.is_plain and len(bindings) == 1) or bindings[0].match_resources:
            return None
        found = policy.head.source.match_constraints.found.get(self._sort)
        if found is not self._resource and found != self._resource:
            return None
        try:
            return self._evaluated(policy, bindings[0])
        except EvaluationError:
            return None

    def _evaluated(self, policy: CompiledPolicy, binding: Binding) -> Said | None:
        head, run, limits = policy.head, self._run, self._limits
        if run is None:
            run = self._run = Run(head, self._situation, None)
        if head.match_conditions:
            run.turn_to(head, limits.cost_per_conditions)
            for condition in head.match_conditions:
                if run.evaluate_nested(condition.program) is not True:
                    return None
            if run.left < 0:
                return None
        run.turn_to(head, limits.cost_per_policy)
        for validation in policy.validations:
            if run.evaluate_nested(validation.program) is not True:
                return None
        # Messages of what has passed count where the budget could run out over them, and so does a budget that has.
        reserve = policy.messages and (policy.messages + len(head.programs)) * limits.cost_per_expression
        return None if run.left < reserve else allowed(head.source.name, binding.name)


@lru_cache(maxsize=1024)
def allowed(policy: str, binding: str) -> Said:
    """Return what most evaluations come to, made once."""
    return (Finding(policy=policy, binding=binding, verdict=Verdict.ALLOW),)
