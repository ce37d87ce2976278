"""Advice about policies: what loads, and will still surprise its author. Rules are pure functions from a policy to diagnostics.

A rule that cries wolf is worse than none, so each keeps silent where it cannot know: about kinds that are not built in, values
that come out of functions, conditions that it does not understand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from webhook.admission.advice.bindings import binding_advice, param_advice, wiring_advice
from webhook.admission.advice.catalog import ADVICE, REFUSED
from webhook.admission.advice.checking import ExpressionWarning, expression_warnings, typing_advice
from webhook.admission.advice.conditions import condition_advice
from webhook.admission.advice.conduct import conduct_advice
from webhook.admission.advice.costs import Cost, CostLedger, cost_advice
from webhook.admission.advice.ignoring import IGNORE, ignored_rules, unknown_ignored
from webhook.admission.advice.pods import pod_advice
from webhook.admission.advice.reading import reading_advice
from webhook.admission.advice.resources import resource_advice
from webhook.admission.advice.selecting import selector_advice
from webhook.admission.advice.subject import Subject, exceptions_of, subjects_of
from webhook.admission.advice.tenants import exception_advice, tenant_advice
from webhook.admission.policyset import PolicySet
from webhook.model.diagnostics import Diagnostic, Level
from webhook.model.exceptions import PolicyException
from webhook.model.policies import Binding

__all__ = [
    "ADVICE",
    "IGNORE",
    "REFUSED",
    "Cost",
    "CostLedger",
    "ExpressionWarning",
    "Matter",
    "advise",
    "cost_advice",
    "expression_warnings",
    "ignored_rules",
    "subjects_of",
]

_RULES = (
    reading_advice,
    typing_advice,
    condition_advice,
    selector_advice,
    resource_advice,
    pod_advice,
    tenant_advice,
    wiring_advice,
    conduct_advice,
)
_SEVERITY = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """What there is to give advice about."""

    policies: PolicySet
    bindings: tuple[Binding, ...] = ()
    """All of them, also those of policies that are not there."""
    exceptions: tuple[PolicyException, ...] = ()
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The names of all policies by kind, also of those that do not load."""


def advise(matter: Matter) -> tuple[Diagnostic, ...]:
    """Return all advice in the order of files and places, without what the policies ask to be left out."""
    found = list(chain.from_iterable(map(_of_subject, subjects_of(matter.policies))))
    for binding in matter.bindings:
        found += [*_kept(binding_advice([binding], matter.names), binding.annotations), *unknown_ignored(binding)]
    found += param_advice(matter.policies)
    for subject in exceptions_of(matter.policies):
        advice = chain(reading_advice(subject), condition_advice(subject))
        found += [*_kept(advice, subject.head.annotations), *unknown_ignored(subject)]
    for exception in matter.exceptions:
        found += _kept(exception_advice([exception]), exception.annotations)
    return tuple(sorted(_once(found), key=lambda one: (one.file, one.line, one.column, _SEVERITY[one.level], one.rule)))


def _of_subject(subject: Subject) -> Iterator[Diagnostic]:
    yield from unknown_ignored(subject)
    for rule in _RULES:
        yield from _kept(rule(subject), subject.head.annotations)


def _kept(found: Iterable[Diagnostic], annotations: Mapping[str, str]) -> Iterator[Diagnostic]:
    ignored = ignored_rules(annotations)
    return (one for one in found if one.rule not in ignored)


def _once(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Leave one of several that say the same of one place, or that one says as a warning and another as a note."""
    best: dict[tuple[str, str, int, int, str], Diagnostic] = {}
    for one in found:
        told = one.message.split(": ")[0] if one.line and one.column else one.message
        rule = {"fragile-message": "absent-field"}.get(one.rule, one.rule)
        key = (rule, one.file, one.line, one.column, "" if one.column else told + one.subject)
        if key not in best or _SEVERITY[one.level] < _SEVERITY[best[key].level]:
            best[key] = one
    return list(best.values())
