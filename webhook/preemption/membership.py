"""Which pods are members of a group: those that the group's owner made, not those that only say so.

Anybody who may create pods may name any PodGroup of the namespace (nothing checks it), and a stranger's pod counts for the
scheduler. For us it does not: a stranger must not be able to get somebody else's group restarted by deleting its own pod.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.model.groups import OWNER_UID_LABEL, SCHEDULING_GROUP
from webhook.model.objects import Kind, Object, controller_of, labels_of, metadata_of
from webhook.model.ownership import controllers_above
from webhook.model.snapshot import Snapshot


def owner_reference(pod_group: Object) -> Object | None:
    """Return the reference to the workload that a PodGroup was made for; None where it names none.

    The Job controller refers to its Job as controller and to the Workload besides; ours refer to the workload that our label
    names, without being controlled by it.
    """
    uid = labels_of(pod_group).get(OWNER_UID_LABEL)
    references = [one for one in metadata_of(pod_group).get("ownerReferences") or () if not _is_group_object(one)]
    made_for = [one for one in references if uid and one.get("uid") == uid]
    return next(iter((*made_for, controller_of(pod_group), *references))) if references else None


def split_members(pods: Iterable[Object], owner_uid: str, snapshot: Snapshot) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Split the pods that name a group into its members and strangers."""
    members: list[Object] = []
    strangers: list[Object] = []
    for pod in pods:
        (members if is_proved(pod, owner_uid, snapshot) else strangers).append(pod)
    return tuple(members), tuple(strangers)


def is_proved(pod: Object, owner_uid: str, snapshot: Snapshot) -> bool:
    """Tell whether the controllers above a pod lead to an owner, by UID; one that is not in the snapshot proves nothing."""
    nearest = controller_of(pod)
    if nearest is None or not owner_uid:
        return False
    if nearest.get("uid") == owner_uid:
        return True
    return any((controller_of(above) or {}).get("uid") == owner_uid for above in controllers_above(pod, snapshot))


def _is_group_object(reference: Object) -> bool:
    return Kind.parse(str(reference.get("apiVersion") or ""), "").group == SCHEDULING_GROUP
