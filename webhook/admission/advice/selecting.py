"""Advice about label selectors that select nothing, whatever the labels."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.advice.subject import Subject
from webhook.admission.advice.telling import at_binding, at_policy
from webhook.model.diagnostics import Diagnostic
from webhook.model.policies import LabelSelector, MatchResources


def selector_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at the selectors of a policy and of its bindings."""
    for message in _complaints(subject.head.match_constraints):
        yield at_policy(subject, "never-applies", f"{message}, so the policy never applies")
    for binding in subject.bindings:
        for message in _complaints(binding.match_resources) if binding.match_resources else ():
            yield at_binding(binding, "never-applies", f"{message}, so the binding never applies")


def _complaints(resources: MatchResources) -> Iterator[str]:
    for name, selector in (("objectSelector", resources.object_selector), ("namespaceSelector", resources.namespace_selector)):
        for key in dict.fromkeys([key for key, _ in selector.match_labels] + [one.key for one in selector.match_expressions]):
            if not _can_hold(selector, key):
                yield f"what {name} asks of the label '{key}' cannot all hold"


def _can_hold(selector: LabelSelector, key: str) -> bool:
    """Tell whether some value of a label, or its absence, fits all that is asked of it."""
    asked = [(one.operator, frozenset(one.values)) for one in selector.match_expressions if one.key == key]
    asked += [("In", frozenset({value})) for label, value in selector.match_labels if label == key]
    operators = {operator for operator, _ in asked}
    if "DoesNotExist" in operators:
        return not operators & {"In", "Exists"}
    wanted = [values for operator, values in asked if operator == "In"]
    refused = frozenset[str]().union(*(values for operator, values in asked if operator == "NotIn"))
    return not wanted or bool(frozenset.intersection(*wanted) - refused)
