"""What the expressions of policies cost in reviews, in the API server's units, and advice where that is much.

The API server stops an expression at a limit and all expressions of a policy at another; as objects grow, so do costs. A review
of a hundred containers costs a hundred times what one of a single container does, so a tenth of a limit on a small example is
near enough to be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from webhook.admission.advice.catalog import ADVICE
from webhook.admission.advice.ignoring import ignored_rules
from webhook.admission.advice.samples import sample_of
from webhook.admission.advice.subject import kinds_of
from webhook.admission.ask import Asker, request_for
from webhook.admission.policyset import PolicySet
from webhook.cel import EvaluationError, Program
from webhook.model.diagnostics import Diagnostic
from webhook.model.policies import Expression, Head
from webhook.model.requests import AdmissionRequest
from webhook.rules import CompiledHead, CompiledMutating, CompiledPolicy, NamedProgram, Run, Situation

RULE = "costly"
_SHARE = 10
"""One part of this many of a limit is told."""


@dataclass(slots=True, kw_only=True)
class Cost:
    """What one expression has cost."""

    policy: str
    expression: Expression
    limit: int
    is_ignored: bool = False
    """The policy does not want to hear of it."""
    most: int = 0
    """Units that the dearest evaluation took, variables not counted: each has a cost of its own."""
    evaluations: int = 0
    made_up: bool = False
    """Measured on a made-up object, for want of cases."""

    def note(self, units: int) -> None:
        """Note one evaluation."""
        self.evaluations += 1
        self.most = max(self.most, units)


@dataclass(slots=True)
class CostLedger:
    """Collects what the expressions of policies cost that are observed."""

    limit: int
    """Of one expression."""
    _costs: dict[tuple[str, int, str], Cost] = field(default_factory=dict)

    def observe(self, policies: PolicySet) -> PolicySet:
        """Return the same policies, the cost of which is noted here."""
        return replace(
            policies,
            validating=tuple((self._validating(policy), bindings) for policy, bindings in policies.validating),
            mutating=tuple((self._mutating(policy), bindings) for policy, bindings in policies.mutating),
        )

    def try_samples(self, policies: PolicySet, situation: Callable[[AdmissionRequest], Situation]) -> None:
        """Evaluate what no case has reached on made-up objects of the matched kinds; ``policies`` are those observed."""
        for policy, _ in policies.validating:
            programs = [program for one in policy.validations for program in (one.program, one.message) if program]
            self._try(policy.head, programs, situation)
        for mutating, _ in policies.mutating:
            self._try(mutating.head, [one.program for one in mutating.mutations], situation)

    def _try(self, head: CompiledHead, programs: list[Program], situation: Callable[[AdmissionRequest], Situation]) -> None:
        unseen = [cost for cost in self._costs.values() if cost.policy == head.source.name and not cost.evaluations]
        kinds = {kind for rule in head.source.match_constraints.resource_rules for kind in kinds_of(rule) or ()}
        for kind in sorted(kinds) if unseen else ():
            sample = sample_of(kind)
            run = Run(head, situation(request_for(sample, Asker(), old=sample)), None)
            for program in (*(one.program for one in (*head.match_conditions, *head.variables)), *programs):
                with suppress(EvaluationError):
                    run.evaluate_nested(program)
        for cost in unseen:
            cost.made_up = bool(cost.evaluations)

    def costs(self) -> tuple[Cost, ...]:
        """Return what was evaluated at all, in the order of files and lines."""
        found = (cost for cost in self._costs.values() if cost.evaluations)
        return tuple(sorted(found, key=lambda cost: (cost.expression.origin.path, cost.expression.place(1, 1))))

    def _validating(self, policy: CompiledPolicy) -> CompiledPolicy:
        head, validations = policy.head.source, []
        for validation in policy.validations:
            program = self._metered(head, validation.program, validation.source.expression)
            message, spoken = validation.message, validation.source.message_expression
            if message is not None and spoken is not None:
                message = self._metered(head, message, spoken)
            validations.append(replace(validation, program=program, message=message))
        return replace(policy, head=self._head(policy.head), validations=tuple(validations))

    def _mutating(self, policy: CompiledMutating) -> CompiledMutating:
        mutations = tuple(
            replace(one, program=self._metered(policy.head.source, one.program, one.source.expression))
            for one in policy.mutations
        )
        return replace(policy, head=self._head(policy.head), mutations=mutations)

    def _head(self, head: CompiledHead) -> CompiledHead:
        source = head.source
        conditions = [one.expression for one in source.match_conditions]
        variables = [one.expression for one in source.variables]
        return replace(
            head,
            match_conditions=self._named(source, head.match_conditions, conditions),
            variables=self._named(source, head.variables, variables),
        )

    def _named(self, head: Head, programs: tuple[NamedProgram, ...], expressions: list[Expression]) -> tuple[NamedProgram, ...]:
        pairs = zip(programs, expressions, strict=True)
        return tuple(replace(one, program=self._metered(head, one.program, written)) for one, written in pairs)

    def _metered(self, head: Head, program: Program, expression: Expression) -> Program:
        origin = expression.origin
        key = (origin.path, origin.line, origin.field)
        cost = self._costs.setdefault(
            key,
            Cost(policy=head.name, expression=expression, limit=self.limit, is_ignored=RULE in ignored_rules(head.annotations)),
        )
        note: Callable[[int], None] = cost.note
        return program.metered(note)


def cost_advice(ledger: CostLedger) -> Iterator[Diagnostic]:
    """Tell about expressions that came near a limit."""
    for cost in ledger.costs():
        if cost.most * _SHARE >= cost.limit and not cost.is_ignored:
            line, column = cost.expression.place(1, 1)
            example = "a made-up object" if cost.made_up else "an example"
            yield Diagnostic(
                level=ADVICE[RULE].level,
                rule=RULE,
                message=(
                    f"costs {cost.most:,} units on {example}, of {cost.limit:,} after which the API server stops it; "
                    "larger objects cost more: put what is read again and again into a variable, and avoid loops in loops"
                ),
                file=cost.expression.origin.path,
                line=line,
                column=column,
                subject=cost.policy,
            )
