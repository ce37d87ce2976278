"""Label selectors, as apimachinery's ``labels`` package has them."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.model.objects import Object
from webhook.model.policies import LabelSelector, Requirement


def selector_of(given: Object) -> LabelSelector:
    """Read a ``metav1.LabelSelector`` that the API server has validated."""
    return LabelSelector(
        match_labels=tuple((given.get("matchLabels") or {}).items()),
        match_expressions=tuple(
            Requirement(key=each["key"], operator=each["operator"], values=tuple(each.get("values") or ()))
            for each in given.get("matchExpressions") or ()
        ),
    )


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Tell whether labels satisfy every part of a selector; an empty selector selects everything."""
    return all(labels.get(key) == value for key, value in selector.match_labels) and all(
        _holds(requirement, labels) for requirement in selector.match_expressions
    )


def is_everything(selector: LabelSelector) -> bool:
    """Tell whether a selector is empty."""
    return not selector.match_labels and not selector.match_expressions


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    present = requirement.key in labels
    match requirement.operator:
        case "In":
            return present and labels[requirement.key] in requirement.values
        case "NotIn":  # true without the label, too
            return not present or labels[requirement.key] not in requirement.values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
        case _:  # the loader refuses other operators
            return False
