"""Which workloads an object may belong to."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.objects import Object, ObjectKey, controller_of, metadata_of
from webhook.model.ownership import controllers_above, key_of_owner
from webhook.model.snapshot import Snapshot


def owners_above(obj: Object, snapshot: Snapshot) -> Iterator[ObjectKey]:
    """Yield the owners of an object, then the controllers above them as far as the snapshot knows them, nearest first."""
    namespace = str(metadata_of(obj).get("namespace") or "")
    for reference in metadata_of(obj).get("ownerReferences") or ():
        yield key_of_owner(reference, namespace)
    for above in controllers_above(obj, snapshot):
        reference = controller_of(above)
        if reference is not None:
            yield key_of_owner(reference, namespace)
