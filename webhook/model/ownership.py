"""Whose an object is, along the references that controllers write: a pod of a Job of a JobSet belongs to the JobSet."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.objects import Kind, Object, ObjectKey, controller_of, metadata_of
from webhook.model.snapshot import Snapshot

_MOST_STEPS = 6
"""TrainJob, JobSet, Job, Pod are three; a ring of references would have no end."""


def controllers_above(obj: Object, snapshot: Snapshot) -> Iterator[Object]:
    """Yield the controller of an object, its controller and so on, as long as each is in the snapshot and the same by UID."""
    namespace = str(metadata_of(obj).get("namespace") or "")
    for _ in range(_MOST_STEPS):
        reference = controller_of(obj)
        found = snapshot.get(key_of_owner(reference, namespace)) if reference is not None else None
        if reference is None or found is None or metadata_of(found).get("uid") != reference.get("uid"):
            return
        yield found
        obj = found


def key_of_owner(reference: Object, namespace: str) -> ObjectKey:
    """Return whom an ownerReference in this namespace means."""
    kind = Kind.parse(str(reference.get("apiVersion") or ""), str(reference.get("kind") or ""))
    return ObjectKey(kind.group, kind.kind, namespace, str(reference.get("name") or ""))
