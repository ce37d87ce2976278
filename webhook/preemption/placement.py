"""Which nodes a pod may run on, by what its spec and the node say; room is not looked at.

Source: scheduler plugins NodeName, NodeUnschedulable, TaintToleration, NodeAffinity; component-helpers/scheduling/corev1. Not
modelled, and named in ``unmodelled``: affinity between pods, topology spread, host ports, volumes, devices by claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.model.objects import Object

_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPING_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node, as far as it decides who may run on it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Object, ...] = ()
    unschedulable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What a pod's spec demands of its node's name, labels and taints."""

    node_name: str = ""
    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Object, ...] | None = None
    """Required node affinity: one of these terms must hold; None where there is none."""
    tolerations: tuple[Object, ...] = ()

    @classmethod
    def of(cls, pod_spec: Object) -> Placement:
        """Read a pod's spec."""
        selector, required = _mapping(pod_spec, "nodeSelector"), _required(pod_spec)
        return cls(
            node_name=str(pod_spec.get("nodeName") or ""),
            selector=tuple((str(key), str(value)) for key, value in selector.items()),
            terms=None if required is None else tuple(_objects(required.get("nodeSelectorTerms"))),
            tolerations=tuple(_objects(pod_spec.get("tolerations"))),
        )

    def obstacle(self, place: Place) -> str:
        """Say why not on this node, as a phrase for a sum over nodes; empty if it may."""
        if self.node_name and self.node_name != place.name:
            return "of another name"
        if any(place.labels.get(key) != value for key, value in self.selector):
            return "outside the nodeSelector"
        if self.terms is not None and not any(_term_holds(term, place) for term in self.terms):
            return "outside the required nodeAffinity"
        if place.unschedulable and not self._tolerates(_UNSCHEDULABLE):
            return "cordoned"
        if any(taint.get("effect") in _KEEPING_OFF and not self._tolerates(taint) for taint in place.taints):
            return "with a taint that is not tolerated"
        return ""

    def _tolerates(self, taint: Object) -> bool:
        return any(_tolerates(toleration, taint) for toleration in self.tolerations)


def unmodelled(pod_spec: Object) -> tuple[str, ...]:
    """Name what may keep a pod off a node and is not looked at here."""
    affinity = _mapping(pod_spec, "affinity")
    named = {
        "podAffinity": bool(_mapping(affinity, "podAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")),
        "podAntiAffinity": bool(_mapping(affinity, "podAntiAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")),
        "topologySpreadConstraints": bool(pod_spec.get("topologySpreadConstraints")),
        "resourceClaims": bool(pod_spec.get("resourceClaims")),
        "hostPorts": any(port.get("hostPort") for port in _ports(pod_spec)),
        "persistentVolumeClaims": any("persistentVolumeClaim" in volume for volume in _objects(pod_spec.get("volumes"))),
    }
    return tuple(name for name, is_there in named.items() if is_there)


def _tolerates(toleration: Object, taint: Object) -> bool:
    """Tell whether a toleration covers a taint; operators on numbers are alpha and cover nothing here."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    operator, key = toleration.get("operator") or "Equal", toleration.get("key") or ""
    if key and key != taint.get("key"):
        return False
    if operator == "Exists":
        return True
    return bool(key) and operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")


def _term_holds(term: Object, place: Place) -> bool:
    """Tell whether a term holds; one that says nothing matches nothing."""
    expressions, fields = _objects(term.get("matchExpressions")), _objects(term.get("matchFields"))
    if not expressions and not fields:
        return False
    return all(_holds(each, place.labels) for each in expressions) and all(
        _holds(each, {"metadata.name": place.name}) for each in fields
    )


def _holds(requirement: Object, labels: Mapping[str, str]) -> bool:
    given, found = requirement.get("values"), labels.get(str(requirement.get("key")))
    values: Sequence[Any] = given if isinstance(given, list | tuple) else ()
    match requirement.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, found, values)
        case _:
            return False


def _compares(operator: str, found: str | None, values: Sequence[Any]) -> bool:
    try:
        left, right = int(found or ""), int(values[0])
    except (ValueError, IndexError, TypeError, OverflowError):
        return False
    return left > right if operator == "Gt" else left < right


def _required(pod_spec: Object) -> Object | None:
    node = _mapping(_mapping(pod_spec, "affinity"), "nodeAffinity")
    found = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    return found if isinstance(found, dict) else None


def _ports(pod_spec: Object) -> Iterator[Object]:
    for container in _objects(pod_spec.get("containers")):
        yield from _objects(container.get("ports"))


def _mapping(value: Object, key: str) -> Object:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _objects(value: Any) -> list[Object]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list | tuple) else []
