"""Which pods name which PodGroup, kept up to date change by change.

A namespace may hold 50,000 pods in a thousand groups; looking through all of them at every change of one would cost
the square of that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from webhook.groups import has_ended
from webhook.model.objects import Object, ObjectKey
from webhook.model.snapshot import Snapshot


class MemberIndex:
    """Pod names by namespace and PodGroup name."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], set[str]] = defaultdict(set)

    def on_change(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        """Take in one change of any object; only pods count."""
        if (key.group, key.kind) != ("", "Pod"):
            return
        before, after = _group_of(old), _group_of(new)
        if before and before != after:
            self._forget((key.namespace, before), key.name)
        if after:
            self._names[key.namespace, after].add(key.name)

    def members(self, namespace: str, pod_group: str, snapshot: Snapshot) -> Iterator[Object]:
        """Yield the pods that name a PodGroup and have not ended, as the scheduler counts them."""
        for name in sorted(self._names.get((namespace, pod_group), ())):
            pod = snapshot.get(ObjectKey("", "Pod", namespace, name))
            if pod is not None and not has_ended(pod):
                yield pod

    def _forget(self, place: tuple[str, str], name: str) -> None:
        names = self._names[place]
        names.discard(name)
        if not names:
            del self._names[place]


def _group_of(pod: Object | None) -> str:
    reference = ((pod or {}).get("spec") or {}).get("schedulingGroup") or {}
    return str(reference.get("podGroupName") or "")
