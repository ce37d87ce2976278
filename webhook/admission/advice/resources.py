"""Advice about rules that name what a built-in API group does not have: such a rule matches nothing, and nobody is told.

Groups that are not built in are left alone, and so are rules that name one of them beside others: custom resources have any name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from webhook.admission.advice.subject import Subject, resources_by_group
from webhook.admission.advice.telling import at_binding, at_policy
from webhook.admission.misnamed import did_you_mean
from webhook.model.diagnostics import Diagnostic
from webhook.model.policies import MatchResources, ResourceRule
from webhook.rules.schema import unlisted_groups

_RULE = "unknown-resource"
_MORE_RESOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "": ("bindings",),
        "coordination.k8s.io": ("leasecandidates",),
        "policy": ("podsecuritypolicies",),
        "resource.k8s.io": ("podschedulingcontexts", "resourceclasses", "resourcepoolstatusrequests"),
    }
)
"""What the table of schemas leaves out, and what older clusters had."""
_ONLY_V1 = frozenset({"", "apps", "batch", "policy", "rbac.authorization.k8s.io"})
"""Groups of which Kubernetes 1.37 serves no other version."""
_CORE = ("core", "v1")
"""How the group without a name is miswritten."""


def resource_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at the rules of a policy and of its bindings."""
    for message in _complaints(subject.head.match_constraints):
        yield at_policy(subject, _RULE, message)
    for binding in subject.bindings:
        for message in _complaints(binding.match_resources) if binding.match_resources else ():
            yield at_binding(binding, _RULE, message)


def _complaints(resources: MatchResources) -> Iterator[str]:
    for name, rules in (("resourceRules", resources.resource_rules), ("excludeResourceRules", resources.exclude_resource_rules)):
        for index, rule in enumerate(rules):
            for message in (*_groups(rule), *_resources(rule), *_versions(rule)):
                yield f"{name}[{index}] {message}"


def _groups(rule: ResourceRule) -> Iterator[str]:
    for group in rule.api_groups:
        if group in _CORE:
            yield f'names the API group "{group}", which there is not: the one of pods and namespaces is written ""'
        elif group not in _known_groups() and (near := _one_letter_off(group)):
            yield f'names the API group "{group}"; did you mean {near}?'


def _resources(rule: ResourceRule) -> Iterator[str]:
    known = resources_by_group()
    if not all(group in known for group in rule.api_groups):
        return
    there = sorted({name for group in rule.api_groups for name in (*known[group], *_MORE_RESOURCES.get(group, ()))})
    for given in rule.resources:
        name = given.partition("/")[0]
        if name != "*" and name not in there:
            yield f'names "{given}", and {_named(rule.api_groups)} has no such resource{_meant(name, there)}'


def _meant(name: str, there: list[str]) -> str:
    if hint := did_you_mean(name.lower(), there):
        return hint
    groups = [group for group, names in resources_by_group().items() if name in names]
    return f"; it is in {_named(groups)}" if groups else ""


def _versions(rule: ResourceRule) -> Iterator[str]:
    if _ONLY_V1.issuperset(rule.api_groups) and not {"*", "v1"} & set(rule.api_versions):
        told = ", ".join(rule.api_versions)
        yield f"names no version but {told}, and {_named(rule.api_groups)} has only v1 in Kubernetes 1.37"


def _named(groups: tuple[str, ...] | list[str]) -> str:
    return "API group " + " or ".join(group or '""' for group in groups)


@cache
def _known_groups() -> frozenset[str]:
    return frozenset(("*", *resources_by_group(), *unlisted_groups()))


def _one_letter_off(name: str) -> str:
    """Return the built-in group from which a name differs by one letter (more, less, another) or by two that changed places."""
    return next((group for group in sorted(_known_groups()) if len(group) > 3 and _is_near(name, group)), "")


def _is_near(name: str, group: str) -> bool:
    start = next((place for place, pair in enumerate(zip(name, group, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return abs(len(name) - len(group)) == 1
    rest, other = name[start:], group[start:]
    swapped = rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    return swapped or rest[1:] == other or rest == other[1:] or rest[1:] == other[1:]
