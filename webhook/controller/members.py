"""Which pods name which PodGroup, on which nodes they are, and whose the PodGroups are, kept up to date change by change.

A namespace may hold 50,000 pods in a thousand groups; looking through all of them at every change of one would cost
the square of that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Protocol, TypeVar

from webhook.groups import has_ended, node_of
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot
from webhook.preemption import owner_reference

Place = TypeVar("Place")
Name = TypeVar("Name")
_GROUP = (SCHEDULING_GROUP, "PodGroup")


class Listened(Protocol):
    """Whoever tells of changes."""

    def listen(self, listener: Callable[[ObjectKey, Object | None, Object | None], None]) -> None:
        """Call the listener with key, old and new object after every change."""


class MemberIndex:
    """Pod names by namespace and PodGroup name; PodGroups by node and by owner. Must hear of changes before its readers do."""

    def __init__(self, feed: Listened | None = None) -> None:
        self._names: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._on_node: dict[str, Counter[ObjectKey]] = defaultdict(Counter)
        self._owned: dict[str, set[ObjectKey]] = defaultdict(set)
        if feed is not None:
            feed.listen(self.on_change)

    def on_change(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        """Take in one change of any object; only pods and PodGroups count."""
        if (key.group, key.kind) == ("", "Pod"):
            self._on_pod(key, old, new)
        elif (key.group, key.kind) == _GROUP:
            self._on_group(key, old, new)

    def members(self, namespace: str, pod_group: str, snapshot: Snapshot) -> Iterator[Object]:
        """Yield the pods that name a PodGroup and have not ended, as the scheduler counts them."""
        return (pod for pod in self.pods(namespace, pod_group, snapshot) if not has_ended(pod))

    def pods(self, namespace: str, pod_group: str, snapshot: Snapshot) -> Iterator[Object]:
        """Yield all pods that name a PodGroup."""
        for name in sorted(self._names.get((namespace, pod_group), ())):
            pod = snapshot.get(ObjectKey("", "Pod", namespace, name))
            if pod is not None:
                yield pod

    def on_node(self, node: str) -> Collection[ObjectKey]:
        """Return the PodGroups that have pods on a node."""
        return tuple(self._on_node.get(node, ()))

    def owned_by(self, uid: str) -> Collection[ObjectKey]:
        """Return the PodGroups that were made for a workload."""
        return tuple(sorted(self._owned.get(uid, ())))

    def _on_pod(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        before, after = group_of(key, old), group_of(key, new)
        if before is not None and before != after:
            _forget(self._names, (key.namespace, before.name), key.name)
        if after is not None:
            self._names[key.namespace, after.name].add(key.name)
        self._move((before, node_of(old or {})), (after, node_of(new or {})))

    def _move(self, before: tuple[ObjectKey | None, str], after: tuple[ObjectKey | None, str]) -> None:
        if before == after:
            return
        for (group, node), change in ((after, 1), (before, -1)):
            if group is None or not node:
                continue
            counts = self._on_node[node]
            counts[group] += change
            if counts[group] <= 0:
                del counts[group]
            if not counts:
                del self._on_node[node]

    def _on_group(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        before, after = _owner_uid(old), _owner_uid(new)
        if before and before != after:
            _forget(self._owned, before, key)
        if after:
            self._owned[after].add(key)


def group_of(key: ObjectKey, pod: Object | None) -> ObjectKey | None:
    """Return the PodGroup that a pod names, or None."""
    reference = ((pod or {}).get("spec") or {}).get("schedulingGroup") or {}
    name = str(reference.get("podGroupName") or "")
    return ObjectKey(*_GROUP, key.namespace, name) if name else None


def _owner_uid(pod_group: Object | None) -> str:
    reference = owner_reference(pod_group) if pod_group is not None and metadata_of(pod_group) else None
    return str((reference or {}).get("uid") or "")


def _forget(sets: dict[Place, set[Name]], place: Place, name: Name) -> None:
    names = sets[place]
    names.discard(name)
    if not names:
        del sets[place]
