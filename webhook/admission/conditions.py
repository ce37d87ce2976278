"""Match conditions for our webhooks: what no policy speaks about never leaves the API server.

Without them a webhook that hangs costs every pod of a cluster its timeout, and one that is away with failurePolicy
Fail stops plain Jobs. Each policy contributes one term: its resources and operations first, so that nothing after it
is evaluated on other requests, then its object selector and those of its own match conditions that a webhook's
conditions may say (no params, no variables, no namespaceObject: apiserver plugin/webhook/matchconditions).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from webhook.model.policies import Head, LabelSelector, Requirement, ResourceRule
from webhook.rules import NamedProgram

_SAYABLE = frozenset({"object", "oldObject", "request"})


def condition_text(policies: Iterable[tuple[Head, Sequence[NamedProgram]]]) -> str:
    """Return one CEL expression, true for what some policy speaks about; empty where rules say all that can be said."""
    terms = []
    narrower = False
    for head, conditions in policies:
        further = list(_further(head, conditions))
        narrower = narrower or bool(further)
        terms.append(" && ".join([_guard(head.match_constraints.resource_rules), *further]))
    unique = list(dict.fromkeys(terms))
    return " ||\n".join(f"({term})" for term in unique) if narrower else ""


def _further(head: Head, conditions: Sequence[NamedProgram]) -> Iterator[str]:
    selector = "".join(_selector(head.match_constraints.object_selector))
    if selector:
        yield f"[object, oldObject].exists(o, o != null{selector})"
    for condition in conditions:
        if condition.program.references <= _SAYABLE:
            yield f"(\n{condition.program.text.strip()}\n)"  # lines of their own: the text may end in a comment


def _guard(rules: Sequence[ResourceRule]) -> str:
    return "(" + " || ".join(_rule(rule) for rule in rules) + ")"


def _rule(rule: ResourceRule) -> str:
    names = sorted({resource.partition("/")[0] for resource in rule.resources})
    said = [f"request.operation in {_list(sorted(rule.operations))}"] if "*" not in rule.operations else []
    if "*" not in names:
        said.append(f"request.resource.resource in {_list(names)}")
    if "*" not in rule.api_groups:
        said.append(f"request.resource.group in {_list(sorted(rule.api_groups))}")
    return "(" + " && ".join(said or ["true"]) + ")"


def _selector(selector: LabelSelector) -> Iterator[str]:
    for key, value in selector.match_labels:
        yield f" && {_label(key)} == optional.of({json.dumps(value)})"
    for requirement in selector.match_expressions:
        yield f" && {_requirement(requirement)}"


def _requirement(requirement: Requirement) -> str:
    label = _label(requirement.key)
    listed = f"{_list(requirement.values)}.exists(v, {label} == optional.of(v))"
    words = {"In": listed, "NotIn": f"!{listed}", "Exists": f"{label}.hasValue()", "DoesNotExist": f"!{label}.hasValue()"}
    return words[requirement.operator]


def _label(key: str) -> str:
    return f"o.?metadata.?labels[?{json.dumps(key)}]"


def _list(values: Sequence[str]) -> str:
    return json.dumps(list(values))
