"""What is known of the cluster at one moment: an immutable view over trimmed objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from webhook.model.objects import Object, ObjectKey

Bucket = Mapping[str, Object]
"""Objects of one kind in one namespace, by name."""

_NOTHING: Bucket = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objects by (group, kind), namespace (empty: cluster-scoped) and name.

    Buckets are shared between snapshots and never changed: a writer replaces a bucket and builds a new snapshot.
    """

    buckets: Mapping[tuple[str, str], Mapping[str, Bucket]] = field(default_factory=lambda: MappingProxyType({}))

    def get(self, key: ObjectKey) -> Object | None:
        """Return one object, or None."""
        return self.buckets.get((key.group, key.kind), {}).get(key.namespace, {}).get(key.name)

    def list(self, group: str, kind: str, *, namespace: str | None = None) -> Iterator[Object]:
        """Yield the objects of a kind, in one namespace or in all."""
        spaces = self.buckets.get((group, kind), {})
        chosen = spaces.values() if namespace is None else (spaces.get(namespace, {}),)
        for bucket in chosen:
            yield from bucket.values()

    def bucket(self, group: str, kind: str, namespace: str) -> Bucket:
        """Return the objects of a kind in one namespace, by name, without looking at any."""
        return self.buckets.get((group, kind), {}).get(namespace, _NOTHING)

    def knows(self, group: str, kind: str) -> bool:
        """Tell whether this kind is watched at all; a kind that is not watched is unknown, not absent."""
        return (group, kind) in self.buckets


def snapshot_of(objects: Iterator[Object] | list[Object] | tuple[Object, ...]) -> Snapshot:
    """Build a snapshot from a plain list of objects, as offline commands and tests do."""
    buckets: dict[tuple[str, str], dict[str, dict[str, Object]]] = {}
    for obj in objects:
        key = ObjectKey.of(obj)
        buckets.setdefault((key.group, key.kind), {}).setdefault(key.namespace, {})[key.name] = obj
    return Snapshot(buckets)


EMPTY_SNAPSHOT = Snapshot()
"""Nothing is known: what an offline command has without ``--snapshot``."""
