"""Reading from a cluster, once, what the story of one object needs: its namespace, the nodes, and who preempted it."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.cluster import Api, fetch_snapshot
from webhook.errors import ClusterError
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Kind, ObjectKey, Resource, metadata_of
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot

_POD, _POD_GROUP = Kind("", "v1", "Pod"), Kind(SCHEDULING_GROUP, "v1beta1", "PodGroup")
_ALWAYS = (
    _POD,
    _POD_GROUP,
    Kind("batch", "v1", "Job"),
    Kind("policy", "v1", "PodDisruptionBudget"),
    Kind("events.k8s.io", "v1", "Event"),
)
_CLUSTER_WIDE = (Kind("", "v1", "Namespace"), Kind("", "v1", "Node"))
"""Read after the pods, so that a node which is missing is none that is only new."""
_OWNER_ROUNDS = 3
"""TrainJob, JobSet, Job, Pod: each round finds the owners of what the round before brought."""


class Survey:
    """What was read of one namespace, and what could not be."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._read: set[tuple[str, str]] = set()
        self.snapshot: Snapshot = EMPTY_SNAPSHOT
        self.notes: list[str] = []

    async def take(self, kind: Kind) -> Snapshot:
        """Read all that a story about an object of this kind needs. Raises ClusterError where nothing can be read at all."""
        await self._fetch((*_ALWAYS, kind), (self._namespace,))
        for _ in range(_OWNER_ROUNDS):
            await self._fetch(self._owners(), (self._namespace,))
        await self._fetch(_CLUSTER_WIDE, ())
        return self.snapshot

    async def names_of(self, preemptors: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Name the pods and groups with these UIDs in other namespaces, as far as they live and may be read.

        With each UID comes the node that the scheduler's event names; a group's is the word ``cluster``.
        """
        wanted = dict(preemptors)
        found: dict[str, str] = {}
        for node in sorted(set(wanted.values())):
            kind, selector = (_POD_GROUP, "") if node == "cluster" else (_POD, f"spec.nodeName={node}")
            try:
                objects = await self._api.list(kind, field_selector=selector)
            except ClusterError as error:
                if error.is_unreachable:
                    raise
                self.notes.append(f"note: the preemptor was not looked for among {kind.kind}s of other namespaces: {error}")
                continue
            found |= {str(metadata_of(one).get("uid")): str(ObjectKey.of(one)) for one in objects}
        return {uid: found[uid] for uid in wanted if uid in found}

    async def _fetch(self, kinds: Iterable[Kind], namespaces: tuple[str, ...]) -> None:
        """Read kind by kind, so that one that is forbidden costs only itself."""
        for kind in kinds:
            mark = (kind.group, kind.kind)
            if mark in self._read:
                continue
            self._read.add(mark)
            try:
                more = await fetch_snapshot(self._api, [kind], namespaces=namespaces)
            except ClusterError as error:
                if error.status != 403:
                    raise
                self.notes.append(f"warning: {kind.kind}s may not be read, so what they would tell is missing: {error}")
                continue
            self.snapshot = Snapshot({**self.snapshot.buckets, **more.buckets})

    def _owners(self) -> list[Kind]:
        """Return the kinds of all owners that were not read yet."""
        references = (
            reference
            for group, kind in tuple(self.snapshot.buckets)
            for obj in self.snapshot.list(group, kind)
            for reference in metadata_of(obj).get("ownerReferences") or ()
        )
        kinds = {Kind.parse(str(one.get("apiVersion") or ""), str(one.get("kind") or "")) for one in references}
        return sorted(kind for kind in kinds if kind.kind and kind != Kind("", "v1", "Node"))


async def served_kind(api: Api, kind: Kind) -> Kind:
    """Return a kind as the API server spells it; one in lower case is looked for among the resources of its group.

    Raises ClusterError with status 404 when it is not served.
    """
    if kind.kind != kind.kind.lower():
        return kind
    try:
        return await api.mapper.kind_of(Resource(kind.group, "*", kind.kind))
    except ClusterError as error:
        if error.status != 404:
            raise
        return await api.mapper.kind_of(Resource(kind.group, "*", f"{kind.kind}s"))
