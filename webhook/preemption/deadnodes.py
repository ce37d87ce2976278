"""Nodes on which nothing runs any more, as far as the cluster can know.

A node that is cordoned, drained or under pressure still runs what it has; its pods are lost when they are taken, not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from webhook.groups import condition
from webhook.model.disruption import LossCause
from webhook.model.objects import Object, metadata_of
from webhook.preemption.facts import GroupFacts
from webhook.preemption.moments import moment

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""An operator's word that the machine is off: pods there may be deleted by force (KEP-2268)."""
_UNREACHABLE = "node.kubernetes.io/unreachable"
ABSENT_SECONDS = 10.0
"""How long a node must be missing before its pods count as lost. Pods and nodes come by two watches, so a pod can be bound to
a new node that ours does not know yet; pod garbage collection waits 40 s for the same reason (gc_controller.go)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadNode:
    """Why nothing runs on a node any more."""

    cause: LossCause
    since: datetime
    message: str
    is_gone: bool
    """Nobody will ever confirm that its pods ended: they may be deleted by force."""


def death_of(node_name: str, facts: GroupFacts) -> DeadNode | None:
    """Return why a member's node counts as dead; None while it lives or nobody can tell."""
    if not node_name or not facts.are_nodes_followed:
        return None
    node = facts.nodes.get(node_name)
    return _absence(node_name, facts) if node is None else _silence(node, facts.now)


def absence_ends_seconds(node_name: str, facts: GroupFacts) -> float | None:
    """Return in how many seconds a missing node will count as dead; None where it is there, or counts already."""
    if not facts.are_nodes_followed or not node_name or node_name in facts.nodes:
        return None
    missing = (facts.now - facts.absent_nodes.get(node_name, facts.now)).total_seconds()
    return ABSENT_SECONDS - missing if missing < ABSENT_SECONDS else None


def _absence(name: str, facts: GroupFacts) -> DeadNode | None:
    since = facts.absent_nodes.get(name)
    if since is None or facts.now - since < timedelta(seconds=ABSENT_SECONDS):
        return None
    return DeadNode(cause=LossCause.NODE_GONE, since=since, message=f"Node {name} does not exist any more", is_gone=True)


def _silence(node: Object, now: datetime) -> DeadNode | None:
    name, ready = metadata_of(node).get("name"), condition(node, "Ready") or {}
    taints = {str(taint.get("key")): taint for taint in (node.get("spec") or {}).get("taints") or ()}
    if not taints and ready.get("status") != "Unknown":
        return None  # as nearly all are
    if OUT_OF_SERVICE in taints:
        since = moment(taints[OUT_OF_SERVICE].get("timeAdded")) or now
        message = f"Node {name} carries the taint {OUT_OF_SERVICE}"
        return DeadNode(cause=LossCause.NODE_GONE, since=since, message=message, is_gone=True)
    if _UNREACHABLE not in taints and ready.get("status") != "Unknown":
        return None
    since = moment(ready.get("lastTransitionTime")) or moment((taints.get(_UNREACHABLE) or {}).get("timeAdded")) or now
    said = str(ready.get("message") or "its kubelet reports nothing")
    return DeadNode(cause=LossCause.NODE_SILENT, since=since, message=f"Node {name} is silent: {said}", is_gone=False)
