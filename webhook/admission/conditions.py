"""Match conditions for our webhooks: what no policy speaks about never leaves the API server.

Without them a webhook that hangs costs every pod of a cluster its timeout, and one that is away with failurePolicy
Fail stops plain Jobs. Each policy contributes one term: its resources and operations first, so that nothing after it
is evaluated on other requests, then its object selector and those of its own match conditions that a webhook's
conditions may say (no params, no variables, no namespaceObject: apiserver plugin/webhook/matchconditions).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from webhook.model.policies import Action, Binding, FailurePolicy, Head, LabelSelector, Requirement, ResourceRule
from webhook.rules import NamedProgram

_SAYABLE = frozenset({"object", "oldObject", "request"})


def condition_text(policies: Iterable[tuple[Head, Sequence[NamedProgram]]]) -> str:
    """Return one CEL expression, true for what some policy speaks about; empty where rules say all that can be said.

    The conditions given with a policy are those whose failure may count in the API server already.
    """
    terms = []
    narrower = False
    for head, conditions in policies:
        further = list(_further(head, conditions))
        narrower = narrower or bool(further)
        terms.append(" && ".join([_guard(head.match_constraints.resource_rules), *further]))
    unique = list(dict.fromkeys(terms))
    return " ||\n".join(f"({term})" for term in unique) if narrower else ""


def may_fail_early(head: Head, bindings: Iterable[Binding]) -> bool:
    """Tell whether a match condition that fails in the API server does no more than it would do here.

    There it refuses the request for a webhook with failurePolicy Fail, unheard; so it must be one that the policy refuses
    for the same failure, wherever its rules match. Under Ignore both sides leave the policy out. Params that are lost are no
    reason to keep a condition back: it would be evaluated here for every object, so that a webhook that is away stops all.
    """
    if head.failure_policy is FailurePolicy.IGNORE:
        return True
    constraints = head.match_constraints
    if constraints.exclude_resource_rules or any(rule.resource_names for rule in constraints.resource_rules):
        return False
    return constraints.namespace_selector == LabelSelector() and any(map(_always_denies, bindings))


def _always_denies(binding: Binding) -> bool:
    denies = Action.DENY in binding.actions or binding.policy_kind == "MutatingAdmissionPolicy"
    return denies and binding.match_resources is None


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
    said = [f"request.operation in {_list(sorted(rule.operations))}"] if "*" not in rule.operations else []
    said += [f"({' || '.join(_resource(text) for text in sorted(rule.resources))})"] if "*/*" not in rule.resources else []
    if "*" not in rule.api_groups:
        said.append(f"request.resource.group in {_list(sorted(rule.api_groups))}")
    return "(" + " && ".join(said or ["true"]) + ")"


def _resource(text: str) -> str:
    """Say a resource with its subresource: what is written for one of them may well fail on the other."""
    name, _, sub = text.partition("/")
    said = [] if name == "*" else [f"request.resource.resource == {json.dumps(name)}"]
    if sub != "*":
        said.append(f"request.?subResource.orValue('') == {json.dumps(sub)}")
    return " && ".join(said or ["true"])


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
