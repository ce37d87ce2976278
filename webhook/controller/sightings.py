"""What was seen to happen: which groups a change is of interest to, and what is gone and left no object behind."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import NamedTuple

from webhook.controller.members import MemberIndex, group_of
from webhook.groups import condition, node_of
from webhook.model.disruption import Loss, LossCause
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Object, ObjectKey, metadata_of, uid_of
from webhook.preemption import BUDGET_KIND, loss_of_gone

MOST_LOSSES = 64
"""Of one group: one of thousands that is deleted needs no list of all who went."""
_POD_GROUP = (SCHEDULING_GROUP, "PodGroup")


class Concern(NamedTuple):
    """Groups that are to be looked at."""

    groups: Collection[ObjectKey] = ()
    at_once: bool = False
    """A member was lost: each further one that goes doubles the time until the Job makes new ones."""


class Sightings:
    """Kept by every replica, also while another leads: what goes is seen once."""

    def __init__(
        self, members: MemberIndex, *, waiting: Callable[[str], Collection[ObjectKey]], clock: Callable[[], datetime]
    ) -> None:
        """Take whoever names the groups of a namespace whose restart is under way as ``waiting``."""
        self._members, self._waiting, self._clock = members, waiting, clock
        self._losses: dict[ObjectKey, dict[str, Loss]] = {}
        self.absent_nodes: dict[str, datetime] = {}
        """Since when nodes are missing."""

    def take(self, key: ObjectKey, old: Object | None, new: Object | None) -> Concern:
        """Take in one change and return whom it concerns."""
        match key.group, key.kind:
            case ("", "Pod"):
                return self._pod(key, old, new)
            case ("", "Node"):
                return self._node(key.name, old, new)
            case ("", "Namespace"):
                return Concern(self._waiting(key.name), at_once=True)
            case place if place == BUDGET_KIND:
                return Concern(self._waiting(key.namespace), at_once=True)
            case place if place == _POD_GROUP:
                if new is None:
                    self._losses.pop(key, None)
                return Concern((key,))
            case _:
                return Concern(self._members.owned_by(uid_of(new or old or {})))

    def losses(self, group: ObjectKey) -> Collection[Loss]:
        """Return the members of a group that were seen to go."""
        return tuple(self._losses.get(group, {}).values())

    def keep(self, group: ObjectKey, losses: Collection[Loss]) -> None:
        """Forget all losses of a group but these."""
        uids = {loss.uid for loss in losses}
        known = {uid: loss for uid, loss in self._losses.get(group, {}).items() if uid in uids}
        if known:
            self._losses[group] = known
        else:
            self._losses.pop(group, None)

    def forget_nodes(self) -> None:
        """Forget missing nodes that no pod of a group was on."""
        self.absent_nodes = {name: since for name, since in self.absent_nodes.items() if self._members.on_node(name)}

    def _pod(self, key: ObjectKey, old: Object | None, new: Object | None) -> Concern:
        group = group_of(key, new or old)
        if group is None:
            return Concern()
        is_going = _is_going(new) and not _is_going(old)
        if is_going or new is None:
            self._remember(group, new or old or {})
        return Concern((group,), at_once=bool(node_of(new or old or {})) and is_going)

    def _remember(self, group: ObjectKey, pod: Object) -> None:
        """Remember how a pod was lost: as it was seen first, unless it says more by now."""
        loss = loss_of_gone(pod, self._clock())
        if loss is None:
            return
        known = self._losses.setdefault(group, {})
        if loss.uid not in known or loss.cause not in (LossCause.DELETED, LossCause.FAILED):
            known[loss.uid] = loss
        if len(known) > MOST_LOSSES:
            del known[next(iter(known))]

    def _node(self, name: str, old: Object | None, new: Object | None) -> Concern:
        if new is None:
            self.absent_nodes[name] = self._clock()
        else:
            self.absent_nodes.pop(name, None)
        if old is not None and new is not None and _life(old) == _life(new):
            return Concern()
        return Concern(self._members.on_node(name), at_once=True)


def _is_going(pod: Object | None) -> bool:
    """Tell whether a pod is on the way out, has failed, or is not there."""
    if pod is None or metadata_of(pod).get("deletionTimestamp"):
        return True
    return (pod.get("status") or {}).get("phase") == "Failed"


def _life(node: Object) -> tuple[object, ...]:
    """Return what of a node says whether it lives."""
    return (node.get("spec") or {}).get("taints"), (condition(node, "Ready") or {}).get("status")
