"""The room of the nodes, kept up from the feed for policies that ask for it."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cluster import SnapshotFeed
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, ObjectKey
from webhook.model.snapshot import Snapshot
from webhook.preemption import Capacity, NodeRoomView
from webhook.rules import ClusterView


class NodeRoom:
    """Follows a feed; costs nothing while no policy needs nodes and pods, for then the feed brings none."""

    def __init__(self, feed: SnapshotFeed, capabilities: Callable[[], Capabilities]) -> None:
        self._feed, self._capabilities = feed, capabilities
        self._capacity = Capacity()
        feed.listen(self._changed)

    def restart(self) -> None:
        """Count again: the feed follows other kinds now, and does not tell what it dropped."""
        self._capacity = Capacity.of(self._feed.current)

    def view(self, snapshot: Snapshot, namespace: str) -> ClusterView:
        """Return what expressions may see from a namespace."""
        return ClusterView(
            snapshot,
            namespace,
            room=NodeRoomView(lambda: self._capacity),
            capabilities=self._capabilities(),
            age_seconds=lambda: self._feed.age_seconds,
        )

    def _changed(self, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        self._capacity.change(key, old, new)
