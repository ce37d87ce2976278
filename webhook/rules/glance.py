"""A quick look at one policy after another: most have nothing to say of most requests but that they allow.

What it cannot tell is judged anew from the start and in full, so there is one meaning; a policy that denies is thereby evaluated
twice. It knows no failure: whatever is not plainly true, out of the ordinary in the policy, or short of budget or time, is left.
"""

from __future__ import annotations

from functools import lru_cache

from webhook.cel import Budget, EvaluationError, Program
from webhook.cel.budget import LOOK_EVERY
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
        self._situation, self._limits, self._expired = situation, situation.limits, situation.expired
        self._sort, self._resource = request.sort, request.resource
        self._is_plain = request.request_resource in (None, request.resource) and not is_exempt(request)
        self._budget = Budget(0, situation.expired)
        self._unlooked = LOOK_EVERY
        self._run: Run | None = None

    def at(self, policy: CompiledPolicy, bindings: tuple[Binding, ...]) -> Said | None:
        """Return the finding of a policy that allows; None: it must be judged."""
        if not (self._is_plain and policy.is_plain and len(bindings) == 1) or bindings[0].match_resources is not None:
            return None
        found = policy.head.source.match_constraints.found.get(self._sort)
        if (found is not self._resource and found != self._resource) or self._is_late():
            return None
        run = self._run
        if run is None:
            run = self._run = Run(policy.head, self._situation, None)
        try:
            is_allowed = self._holds(policy, run)
        except EvaluationError:
            return None
        return allowed(policy.head.source.name, bindings[0].name) if is_allowed else None

    def end(self) -> None:
        """Let go of the request; after this no policy can be looked at."""
        if self._run is not None:
            self._run.end()

    def _is_late(self) -> bool:
        """Look at the clock at first, and whenever the policies since have cost as much as an expression may between looks."""
        if self._unlooked < LOOK_EVERY:
            return False
        self._unlooked = 0
        return self._expired()

    def _holds(self, policy: CompiledPolicy, run: Run) -> bool:
        head, limits = policy.head, self._limits
        if policy.conditions:
            run.turn_to(head, limits.cost_per_conditions)
            if not self._all_true(policy.conditions, run):
                return False
        run.turn_to(head, limits.cost_per_policy)
        if not self._all_true(policy.programs, run):
            return False
        # Messages of what has passed count where the budget could run out over them.
        return not policy.messages or run.left >= (policy.messages + len(head.programs)) * limits.cost_per_expression

    def _all_true(self, programs: tuple[Program, ...], run: Run) -> bool:
        budget, values, limit = self._budget, run.values, self._limits.cost_per_expression
        for program in programs:
            if run.left >= limit:
                budget.refill(limit)
            else:
                budget.refill(max(0, run.left))
            if program.evaluate(values, budget) is not True:
                return False
            spent = budget.limit - budget.left
            run.left -= spent
            self._unlooked += spent
        return run.left >= 0


@lru_cache(maxsize=1024)
def allowed(policy: str, binding: str) -> Said:
    """Return what most evaluations come to, made once."""
    return (Finding(policy=policy, binding=binding, verdict=Verdict.ALLOW),)
