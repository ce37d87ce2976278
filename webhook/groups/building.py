"""Groups for authors of controllers: what Kubernetes' ``workloadbuilder`` is to those who write theirs in Go.

A controller embeds the building blocks of ``scheduling.k8s.io`` (schedulingPolicy, schedulingConstraints, disruptionMode,
resourceClaims) in its own API. Here they are checked, joined with the controller's defaults and made a plan, from which
``workload_object`` and ``pod_group_object`` make the objects. Source: component-helpers v0.37.2,
scheduling/schedulingv1/workloadbuilder, with which a test compares; one group an item, for groups of groups are alpha.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.groups.resolve import GroupProblem
from webhook.model.groups import CLAIM_SOURCES, PlannedGroup
from webhook.model.names import wrong_label, wrong_qualified_name, wrong_subdomain
from webhook.model.objects import Object

POLICIES, MODES = ("basic", "gang"), ("single", "all")
_SHAPES: Mapping[str, Any] = {
    "schedulingPolicy": {"basic": {}, "gang": {"minCount": int}},
    "schedulingConstraints": {"topology": [{"key": str}]},
    "disruptionMode": {"single": {}, "all": {}},
    "resourceClaims": [{"name": str, "resourceClaimName": str, "resourceClaimTemplateName": str}],
}
"""The types of the blocks, which a controller in Go has from its decoder."""
_TYPES = {dict: "an object", list: "a list", int: "a whole number", str: "a text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupItem:
    """One group that a controller wants: what its user asked for, and what it takes where the user said nothing."""

    name: str
    """Becomes the name of the PodGroupTemplate."""
    count: int
    """How many pods; a gang without a minCount is one of all of them. 0: not known."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """The user's blocks, as they stand in the owner's spec."""
    default: Mapping[str, Any] = field(default_factory=dict)
    """The controller's blocks; each one that the user wrote takes the place of the whole default."""
    path: str = "spec.scheduling"
    """Where the user's blocks stand, for messages."""
    priority_class_name: str = ""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that is wrong with what a user asked for; ``reason`` as in an API Status."""

    reason: str
    field: str
    message: str


def check_item(item: GroupItem, *, policies: Collection[str] = POLICIES, modes: Collection[str] = MODES) -> tuple[Wrong, ...]:
    """Return what is wrong with an item, for a controller that supports these policies and disruption modes."""
    mistyped = tuple(_check_types(item.asked, _SHAPES, item.path))
    return mistyped or (*_check_blocks(item), *_check_support(item, policies, modes))


def plan_item(item: GroupItem, pod_group: str) -> PlannedGroup:
    """Return the plan of a checked item under a PodGroup name; GroupProblem for a gang of nobody knows how many."""
    policy, mode = _block(item, "schedulingPolicy"), _block(item, "disruptionMode")
    min_count = None
    if "gang" in policy:
        min_count = (policy["gang"] or {}).get("minCount") or item.count or None
        if min_count is None:
            raise GroupProblem("gang scheduling requires minCount to be set after resolution", rule=item.name, field=item.path)
    topology = _block(item, "schedulingConstraints").get("topology") or ()
    return PlannedGroup(
        template=item.name,
        pod_group=pod_group,
        count=item.count,
        min_count=min_count,
        disrupt_all="all" in mode if mode else None,
        topology_key=topology[0]["key"] if topology else "",
        priority_class_name=item.priority_class_name,
        resource_claims=tuple(
            dict(claim) for claim in item.asked.get("resourceClaims") or item.default.get("resourceClaims") or ()
        ),
    )


def _block(item: GroupItem, name: str) -> Mapping[str, Any]:
    """Return the user's block, or the controller's where the user's is absent or empty."""
    return item.asked.get(name) or item.default.get(name) or {}


def _check_types(value: Any, shape: Any, place: str) -> Iterator[Wrong]:
    """Check that a value and all below it are of the types that the API has there; null is as good as absent."""
    kind: type = shape if isinstance(shape, type) else type(shape)
    accepted: Any = Mapping if kind is dict else kind
    if not isinstance(value, accepted) or isinstance(value, bool):
        yield Wrong("FieldValueTypeInvalid", place, f"must be {_TYPES[kind]}")
    elif kind is list:
        for index, entry in enumerate(value):
            yield from _check_types(entry, shape[0], f"{place}[{index}]")
    elif kind is dict:
        for name, inner in shape.items():
            if value.get(name) is not None:
                yield from _check_types(value[name], inner, f"{place}.{name}")


def _check_blocks(item: GroupItem) -> Iterator[Wrong]:
    """Check what the user wrote by the rules of its types (api/scheduling/v1alpha3, declarative validation)."""
    policy = item.asked.get("schedulingPolicy")
    if policy is not None:
        yield from _one_of(policy, POLICIES, f"{item.path}.schedulingPolicy")
        min_count = (policy.get("gang") or {}).get("minCount")
        if min_count is not None and min_count < 1:
            place = f"{item.path}.schedulingPolicy.gang.minCount"
            yield Wrong("FieldValueInvalid", place, "must be greater than or equal to 1")
    yield from _check_topology((item.asked.get("schedulingConstraints") or {}).get("topology") or (), item.path)
    if item.asked.get("disruptionMode") is not None:
        yield from _one_of(item.asked["disruptionMode"], MODES, f"{item.path}.disruptionMode")
    for index, claim in enumerate(item.asked.get("resourceClaims") or ()):
        yield from _check_claim(claim, f"{item.path}.resourceClaims[{index}]")


def _check_topology(topology: Collection[Object], path: str) -> Iterator[Wrong]:
    place = f"{path}.schedulingConstraints.topology"
    if len(topology) > 1:
        yield Wrong("FieldValueTooMany", place, "must have at most 1 item")
        return
    for constraint in topology:
        key = constraint.get("key") or ""
        if not key:
            yield Wrong("FieldValueRequired", f"{place}[0].key", "")
        elif wrong_qualified_name(key):
            yield Wrong("FieldValueInvalid", f"{place}[0].key", wrong_qualified_name(key))


def _check_claim(claim: Object, place: str) -> Iterator[Wrong]:
    yield from _one_of(claim, CLAIM_SOURCES, place)
    name = claim.get("name") or ""
    if not name:
        yield Wrong("FieldValueRequired", f"{place}.name", "")
    elif wrong_label(name):
        yield Wrong("FieldValueInvalid", f"{place}.name", wrong_label(name))
    for source in CLAIM_SOURCES:
        if claim.get(source) is not None and wrong_subdomain(claim[source]):
            yield Wrong("FieldValueInvalid", f"{place}.{source}", wrong_subdomain(claim[source]))


def _one_of(block: Mapping[str, Any], members: Collection[str], place: str) -> Iterator[Wrong]:
    """Check a union: a member that is null is as good as absent."""
    count = sum(block.get(member) is not None for member in members)
    if count != 1:
        one = "exactly one" if count else "one"
        yield Wrong("FieldValueInvalid", place, f"must specify {one} of: {', '.join(f'`{member}`' for member in members)}")


def _check_support(item: GroupItem, policies: Collection[str], modes: Collection[str]) -> Iterator[Wrong]:
    """Check what comes of the item by what the controller can do."""
    policy, mode = _block(item, "schedulingPolicy"), _block(item, "disruptionMode")
    for name in POLICIES:
        if policy.get(name) is not None and name not in policies:
            yield Wrong(
                "FieldValueForbidden",
                f"{item.path}.schedulingPolicy",
                f"{name} scheduling policy is not supported by this controller",
            )
    for name in MODES:
        if mode.get(name) is not None and name not in modes:
            yield Wrong(
                "FieldValueForbidden",
                f"{item.path}.disruptionMode",
                f"the disruptionMode `{name}` is not supported by this controller",
            )
    if policy.get("basic") is not None and mode.get("all") is not None:
        message = "the disruptionMode `all` is not supported with the Basic scheduling policy"
        yield Wrong("FieldValueInvalid", f"{item.path}.disruptionMode", message)
