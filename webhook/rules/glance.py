"""A quick look at all policies together: most have nothing to say of most requests but that they allow.

What it cannot tell is judged anew from the start and in full, so there is one meaning; a policy that denies is thereby evaluated
twice. It knows no failure: whatever is not plainly true, out of the ordinary in the policy, or short of budget or time, is left.

All draw from one budget that holds what a single expression may cost, and is filled again only once half of it is gone. So what
suffices there suffices in full as well, and most policies cost no accounts of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from webhook.cel import Budget, EvaluationError, Program
from webhook.model.policies import Binding
from webhook.model.requests import AdmissionRequest
from webhook.model.verdicts import Admitted, Finding, Trail, Verdict
from webhook.rules.compile import CompiledHead, CompiledPolicy
from webhook.rules.match import SORTS, found_resource, is_exempt
from webhook.rules.run import Run
from webhook.rules.world import Situation
from webhook.settings import EvaluationSettings

Bound = tuple[CompiledPolicy, tuple[Binding, ...]]
Said = tuple[Finding, ...]
Panels = dict[str, "Panel"]
"""By sort of request; to be kept by whoever keeps the policies."""


class _Quick(NamedTuple):
    """A policy that may be seen to allow."""

    place: int
    programs: tuple[Program, ...]
    """Its match conditions, then its validations."""
    units: int
    """What they and the variables may cost together."""
    refills: int
    """How often the budget may be filled again while they are evaluated."""
    head: CompiledHead
    constants: Mapping[str, Any] | None
    """Its variables, where all of them are constants; None: it has none, or has others."""
    is_lazy: bool
    """Some of its variables must be evaluated."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What is the same for all requests of a sort, which the same policies concern."""

    limits: EvaluationSettings
    limit: int
    """Units of the budget from which all draw."""
    quick: tuple[_Quick, ...]
    said: tuple[Said | None, ...]
    """By the policy's place what it says when it allows; None: it must be judged."""
    answer: Admitted | None
    """What all of them come to that allow; None: some policy must be judged."""
    everything: frozenset[int]
    """The places of all that may be quick: left where there is no time to look."""

    def left(self, situation: Situation) -> frozenset[int] | set[int]:
        """Return the places of those policies that may be quick and do not plainly allow: they must be judged."""
        if not self.quick or situation.expired():
            return self.everything
        run = Run(self.quick[0].head, situation, None)
        return self._left(run, Budget(self.limit, situation.expired))

    def _left(self, run: Run, budget: Budget) -> set[int]:
        values, limit, half = run.values, self.limit, self.limit // 2
        left: set[int] = set()
        for place, programs, units, most_refills, head, constants, is_lazy in self.quick:
            if constants is not None:
                values["variables"] = constants
            elif is_lazy:
                run.turn_to(head, units)
            refills = 0
            try:
                for program in programs:
                    if budget.left < half:
                        budget.refill(limit)
                        refills += 1
                    if program.evaluate(values, budget) is not True:
                        left.add(place)
                        break
            except EvaluationError:
                left.add(place)
                budget.refill(limit)
            if refills > most_refills or (is_lazy and run.left < (refills + 1) * limit):
                left.add(place)
        return left


def panel_of(policies: Sequence[Bound], situation: Situation, panels: Panels) -> Panel:
    """Return the panel of these policies for a request, made once for all requests of its sort."""
    request, limits = situation.request, situation.limits
    found = panels.get(request.sort)
    if found is None or (found.limits is not limits and found.limits != limits):
        if len(panels) >= SORTS:
            panels.clear()
        found = panels[request.sort] = _panel(policies, request, limits)
    return found


def _panel(policies: Sequence[Bound], request: AdmissionRequest, limits: EvaluationSettings) -> Panel:
    limit = min(limits.cost_per_expression, limits.cost_per_policy, limits.cost_per_conditions)
    seen = [_quick(place, policy, limits, limit=limit) for place, (policy, _) in enumerate(policies)]
    quick = {one.place: one for one, bound in zip(seen, policies, strict=True) if one and _is_usual(*bound, request)}
    said = tuple(
        allowed(policy.head.source.name, bindings[0].name) if place in quick else None
        for place, (policy, bindings) in enumerate(policies)
    )
    findings = tuple(finding for each in said if each for finding in each)
    return Panel(
        limits=limits,
        limit=limit,
        quick=tuple(quick.values()),
        said=said,
        answer=None if None in said else Admitted(trail=Trail(findings=findings, is_plain=True)),
        everything=frozenset(quick),
    )


def _is_usual(policy: CompiledPolicy, bindings: tuple[Binding, ...], request: AdmissionRequest) -> bool:
    """Tell whether a policy has nothing to ask of requests of this sort but what its expressions say, under one binding."""
    is_plain = request.request_resource in (None, request.resource) and not is_exempt(request)
    if not (is_plain and policy.is_plain and len(bindings) == 1) or bindings[0].match_resources is not None:
        return False
    constraints = policy.head.source.match_constraints
    found_resource(constraints, request)
    return constraints.found.get(request.sort) == request.resource  # nothing is settled where rules name objects


def _quick(place: int, policy: CompiledPolicy, limits: EvaluationSettings, *, limit: int) -> _Quick | None:
    """Return how a policy is looked at; None where budgets are so short that they must be kept in full."""
    head = policy.head
    units = limits.cost_per_policy - head.cost_of_constants
    if policy.messages:  # those of what has passed count where the budget could run out over them
        units -= (policy.messages + len(head.programs)) * limits.cost_per_expression
    fills = min(units, limits.cost_per_conditions) // limit if policy.conditions else units // limit
    are_constant = len(head.constants) == len(head.programs)
    if fills < 1:
        return None
    return _Quick(
        place=place,
        programs=(*policy.conditions, *policy.programs),
        units=units,
        refills=fills - 1,
        head=head,
        constants=head.constants if are_constant and head.programs else None,
        is_lazy=not are_constant,
    )


@lru_cache(maxsize=1024)
def allowed(policy: str, binding: str) -> Said:
    """Return what most evaluations come to, made once."""
    return (Finding(policy=policy, binding=binding, verdict=Verdict.ALLOW),)
