"""Which rules of which policies a number of reviews has exercised, and in which ways.

The programs of a policy set are exchanged for such that report their values. Reviews that are served pay nothing for it,
and what is counted is what the engine evaluated, not what a second reading of the policy thinks it would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from webhook.admission.bound import BoundWorkload
from webhook.admission.policyset import PolicySet
from webhook.cel import Program
from webhook.cel.structs import TypedObject
from webhook.groups import CompiledGroup
from webhook.model.cases import Coverage
from webhook.model.policies import Expression, NamedExpression, Origin
from webhook.rules import CompiledException, CompiledHead, CompiledMutating, CompiledPolicy, NamedProgram

_Outcome = Callable[[Any], str]
"""Names what a value brought about; empty for what counts as nothing."""


@dataclass(slots=True)
class _Point:
    policy: str
    rule: str
    origin: Origin
    wanted: tuple[str, ...]
    seen: set[str] = field(default_factory=set)


class Ledger:
    """Collects what the policies of one or more sets come to; a rule that is in several sets is counted once."""

    def __init__(self) -> None:
        self._points: dict[Origin, _Point] = {}

    def observe(self, policies: PolicySet) -> PolicySet:
        """Return the same policies, of which every evaluation is noted here."""
        return replace(
            policies,
            validating=tuple((self._validating(policy), bindings) for policy, bindings in policies.validating),
            mutating=tuple((self._mutating(policy), bindings) for policy, bindings in policies.mutating),
            workload=tuple(self._workload(bound) for bound in policies.workload),
        )

    def coverage(self) -> tuple[Coverage, ...]:
        """Return every rule, in the order of files and lines, with what has not been brought about."""
        points = sorted(self._points.values(), key=lambda point: (point.origin.path, point.origin.line, point.rule))
        return tuple(
            Coverage(
                policy=point.policy,
                rule=point.rule,
                origin=point.origin,
                missing=tuple(word for word in point.wanted if word not in point.seen),
            )
            for point in points
        )

    def _validating(self, policy: CompiledPolicy) -> CompiledPolicy:
        note, validations = partial(self._note, policy.head.source.name), []
        for index, compiled in enumerate(policy.validations):
            rule, source = f"validations[{index}]", compiled.source
            program = note(compiled.program, source.expression, rule=rule, outcome=_verdict, wanted=("denied", "allowed"))
            message = compiled.message
            if message and source.message_expression:
                spoken = f"{rule}.messageExpression"
                message = note(message, source.message_expression, rule=spoken, outcome=_composed, wanted=("composed",))
            validations.append(replace(compiled, program=program, message=message))
        named = self._named(policy.audit_annotations, policy.source.audit_annotations, note, "auditAnnotations")
        return replace(
            policy,
            head=self._head(policy.head),
            validations=tuple(validations),
            audit_annotations=named,
            exceptions=self._exceptions(policy.exceptions),
        )

    def _mutating(self, policy: CompiledMutating) -> CompiledMutating:
        mutations = []
        for index, mutation in enumerate(policy.mutations):
            rule, source = f"mutations[{index}]", mutation.source.expression
            program = self._note(policy.name, mutation.program, source, rule=rule, outcome=_change, wanted=("applied",))
            mutations.append(replace(mutation, program=program))
        exceptions = self._exceptions(policy.exceptions)
        return replace(policy, head=self._head(policy.head), mutations=tuple(mutations), exceptions=exceptions)

    def _workload(self, bound: BoundWorkload) -> BoundWorkload:
        policy = bound.policy
        groups = tuple(self._group(policy.name, index, group) for index, group in enumerate(policy.groups))
        conditions, exceptions = self._head(policy.conditions), self._exceptions(policy.exceptions)
        return replace(bound, policy=replace(policy, conditions=conditions, groups=groups, exceptions=exceptions))

    def _exceptions(self, exceptions: Sequence[CompiledException]) -> tuple[CompiledException, ...]:
        """Observe their conditions: an exception that no case needs may cover more than its author meant."""
        return tuple(replace(exception, head=self._head(exception.head)) for exception in exceptions)

    def _group(self, policy: str, index: int, group: CompiledGroup) -> CompiledGroup:
        observed: dict[str, Any] = {}
        for name, program in _programs(group):
            rule = f"podGroups[{index}].{_camel(name)}"
            origin = group.source.members.count.origin
            place = Expression(program.text, replace(origin, field=f"{origin.field}/{name}"))
            observed[name] = self._note(policy, program, place, rule=rule, outcome=_any, wanted=("evaluated",))
        return replace(group, **observed)

    def _head(self, head: CompiledHead) -> CompiledHead:
        note = partial(self._note, head.source.name)
        conditions = self._named(head.match_conditions, head.source.match_conditions, note, "matchConditions")
        return replace(head, match_conditions=conditions)

    def _named(
        self, compiled: Sequence[NamedProgram], sources: Sequence[NamedExpression], note: Callable[..., Program], kind: str
    ) -> tuple[NamedProgram, ...]:
        observed = []
        for index, (one, source) in enumerate(zip(compiled, sources, strict=True)):
            rule = f"{kind}[{index}] ({one.name})"
            if kind == "matchConditions":
                program = note(one.program, source.expression, rule=rule, outcome=_truth, wanted=("true", "false"))
            else:
                program = note(one.program, source.expression, rule=rule, outcome=_published, wanted=("published",))
            observed.append(replace(one, program=program))
        return tuple(observed)

    def _note(
        self, policy: str, program: Program, expression: Expression, *, rule: str, outcome: _Outcome, wanted: tuple[str, ...]
    ) -> Program:
        origin = expression.origin
        point = self._points.setdefault(origin, _Point(policy, rule, origin, wanted))
        return program.observed(lambda value: point.seen.add(outcome(value)))


def _programs(group: CompiledGroup) -> Iterator[tuple[str, Program]]:
    for known in fields(group):
        value = getattr(group, known.name)
        if isinstance(value, Program):
            yield known.name, value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def _verdict(value: Any) -> str:
    return "allowed" if value is True else "denied" if value is False else ""


def _truth(value: Any) -> str:
    return "true" if value is True else "false" if value is False else ""


def _composed(value: Any) -> str:
    return "composed" if isinstance(value, str) and value.strip() else ""


def _published(value: Any) -> str:
    return "published" if isinstance(value, str) and value.strip() else ""


def _change(value: Any) -> str:
    return "applied" if (value.fields if isinstance(value, TypedObject) else value) else ""


def _any(_: Any) -> str:
    return "evaluated"
