"""What the nodes hold and what is left of it, kept up as pods and nodes come and go.

A cluster of 50,000 pods changes thousands of times a second and is asked about now and then, so each change costs a
subtraction, and sums over a topology domain are made when somebody asks and kept until a node of it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from webhook.model.objects import Object, ObjectKey, labels_of
from webhook.model.snapshot import Snapshot
from webhook.preemption.demand import Amounts, amounts_of, demand_of
from webhook.preemption.placement import Place

NODE, POD = ("", "Node"), ("", "Pod")
EVERYWHERE = ""
"""The topology key of the one domain that holds every node."""
_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True, eq=False)
class NodeRoom:
    """A node and its room."""

    place: Place
    allocatable: Amounts
    free: dict[str, int]


@dataclass(slots=True, eq=False)
class Domain:
    """The nodes that carry one value of a topology key."""

    name: str
    nodes: dict[str, NodeRoom] = field(default_factory=dict)
    _sums: dict[bool, dict[str, int]] = field(default_factory=dict)

    def all(self) -> list[NodeRoom]:
        """Return the nodes as they are now: a large review asks from a thread while changes come in."""
        return list(self.nodes.values())

    def total(self, *, empty: bool) -> Amounts:
        """Return the sum of what is free, or of what would be if no pod ran."""
        if empty not in self._sums:
            self._sums[empty] = _sum(node.allocatable if empty else node.free for node in self.all())
        return self._sums[empty]

    def changed(self) -> None:
        """Forget the sums."""
        self._sums.clear()


class Capacity:
    """The room of all nodes. One thread changes it; others may ask, and may see a change in its middle."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeRoom] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._domains: dict[str, dict[str, Domain]] = {}

    @classmethod
    def of(cls, snapshot: Snapshot) -> Capacity:
        """Read a whole snapshot."""
        found = cls()
        for kind in (NODE, POD):
            for obj in snapshot.list(*kind):
                found.change(ObjectKey.of(obj), None, obj)
        return found

    def change(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        """Take in one change; other kinds than nodes and pods change nothing."""
        if (key.group, key.kind) == POD:
            self._change_pod(old, new)
        elif (key.group, key.kind) == NODE:
            self._drop_node(key.name)
            if new is not None:
                self._add_node(key.name, new)

    def domains(self, key: str) -> Mapping[str, Domain]:
        """Return the domains of a topology key by its values; nodes without the label are in none."""
        if key not in self._domains:
            found = self._domains[key] = {}
            for name, node in list(self._nodes.items()):
                _enter(found, key, name, node)
        return self._domains[key]

    def _change_pod(self, old: Object | None, new: Object | None) -> None:
        before, after = _occupied(old), _occupied(new)
        if before == after:
            return
        for (node, amounts), sign in ((before, -1), (after, 1)):
            if node:
                self._use(node, amounts, sign)

    def _use(self, name: str, amounts: Amounts, sign: int) -> None:
        used = self._used.setdefault(name, {})
        node = self._nodes.get(name)
        for resource, amount in amounts.items():
            used[resource] = used.get(resource, 0) + sign * amount
            if node is not None:
                node.free[resource] = node.free.get(resource, 0) - sign * amount
        if not any(used.values()):
            del self._used[name]
        if node is not None:
            for domain in self._domains_of(node):
                domain.changed()

    def _add_node(self, name: str, obj: Object) -> None:
        spec, labels = obj.get("spec") or {}, labels_of(obj)
        allocatable = amounts_of((obj.get("status") or {}).get("allocatable"))
        used = self._used.get(name, {})
        node = self._nodes[name] = NodeRoom(
            place=Place(
                name=name, labels=labels, taints=tuple(spec.get("taints") or ()), unschedulable=bool(spec.get("unschedulable"))
            ),
            allocatable=allocatable,
            free={
                resource: allocatable.get(resource, 0) - used.get(resource, 0) for resource in allocatable.keys() | used.keys()
            },
        )
        for key, domains in self._domains.items():
            _enter(domains, key, name, node)

    def _drop_node(self, name: str) -> None:
        node = self._nodes.pop(name, None)
        if node is None:
            return
        for key, domains in self._domains.items():
            value = _value(key, node)
            if value is not None:
                domain = domains[value]
                del domain.nodes[name]
                domain.changed()
                if not domain.nodes:
                    del domains[value]

    def _domains_of(self, node: NodeRoom) -> Iterator[Domain]:
        for key, domains in self._domains.items():
            value = _value(key, node)
            if value is not None:
                yield domains[value]


def _enter(domains: dict[str, Domain], key: str, name: str, node: NodeRoom) -> None:
    value = _value(key, node)
    if value is not None:
        domain = domains.setdefault(value, Domain(value))
        domain.nodes[name] = node
        domain.changed()


def _value(key: str, node: NodeRoom) -> str | None:
    return "" if key == EVERYWHERE else node.place.labels.get(key)


def _occupied(pod: Object | None) -> tuple[str, Amounts]:
    """Return a pod's node and what it takes there; no node for one that waits or is over."""
    spec = (pod or {}).get("spec") or {}
    node = str(spec.get("nodeName") or "")
    if not node or ((pod or {}).get("status") or {}).get("phase") in _OVER:
        return "", {}
    return node, demand_of(spec)


def _sum(amounts: Iterable[Amounts]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in amounts:
        for resource, amount in list(each.items()):
            total[resource] = total.get(resource, 0) + amount
    return total
