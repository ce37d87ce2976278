"""Whose an object is, along the references that controllers write: a pod of a Job of a JobSet belongs to the JobSet."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.objects import Kind, Object, ObjectKey, controller_of, metadata_of
from webhook.model.snapshot import Snapshot

_MOST_STEPS = 6
"""TrainJob, JobSet, Job, Pod are three; a ring of references would have no end."""


def owners_above(obj: Object, snapshot: Snapshot) -> Iterator[ObjectKey]:
    """Yield the owners of an object, then the controllers above them as far as the snapshot knows them, nearest first."""
    namespace = str(metadata_of(obj).get("namespace") or "")
    for reference in metadata_of(obj).get("ownerReferences") or ():
        yield _key(reference, namespace)
    for above in controllers_above(obj, snapshot):
        reference = controller_of(above)
        if reference is not None:
            yield _key(reference, namespace)


def controllers_above(obj: Object, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the controller of an object, its controller and so on, as long as each is in the snapshot and the same by UID."""
    namespace = str(metadata_of(obj).get("namespace") or "")
    for _ in range(_MOST_STEPS):
        reference = controller_of(obj)
        found = snapshot.get(_key(reference, namespace)) if reference is not None else None
        if reference is None or found is None or metadata_of(found).get("uid") != reference.get("uid"):
            return
        yield found
        obj = found


def _key(reference: Object, namespace: str) -> ObjectKey:
    kind = Kind.parse(str(reference.get("apiVersion") or ""), str(reference.get("kind") or ""))
    return ObjectKey(kind.group, kind.kind, namespace, str(reference.get("name") or ""))
