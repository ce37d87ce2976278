"""Everything that is known of one group at one moment: what judging and planning look at, and nothing else.

Gathering costs what the group's own members cost: pods and losses come by name from an index, nodes are looked up, and the
budgets of the namespace are handed on unread until somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from webhook.groups import node_of
from webhook.model.disruption import Intent, Loss
from webhook.model.groups import PlannedGroup
from webhook.model.objects import Object, ObjectKey, metadata_of
from webhook.model.ownership import key_of_owner
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Bucket, Snapshot
from webhook.preemption.membership import owner_reference, split_members

BUDGET_KIND = ("policy", "PodDisruptionBudget")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """One group, seen at one moment."""

    pod_group: Object
    spec: DisruptionSpec
    now: datetime
    planned: PlannedGroup | None = None
    """What its policy asks for: how many pods, and the quorum before any repair. None: the policy is gone, or it has none."""
    owner_reference: Object | None
    """Whom the PodGroup says it was made for."""
    owner: Object | None
    """The workload of that reference, the same by UID."""
    is_owner_followed: bool
    """Workloads of its kind are watched; else nothing can be said of an owner that is not there."""
    members: tuple[Object, ...]
    """Pods that name the group and that its owner made, the ended ones too."""
    strangers: tuple[Object, ...] = ()
    """Pods that name the group and are not proved to be the owner's."""
    nodes: Mapping[str, Object]
    """The members' nodes by name; one that is missing here does not exist."""
    are_nodes_followed: bool = True
    absent_nodes: Mapping[str, datetime] = field(default_factory=lambda: MappingProxyType({}))
    """Since when a node was seen to be missing. A pod can be bound to a node of which the watch has not told yet."""
    namespace: Object | None = None
    budgets: Bucket | None = None
    """The PodDisruptionBudgets of the namespace by name; None where they are not watched."""
    losses: tuple[Loss, ...] = ()
    """Of members that were seen to go, as they were seen; some of them may be there still, and no longer say why."""
    short_since: datetime | None = None
    """Since when fewer members than the quorum were seen to work (``Health.is_short``)."""
    intent: Intent | None = None

    @property
    def name(self) -> str:
        """Return the PodGroup's name."""
        return str(metadata_of(self.pod_group)["name"])

    @property
    def namespace_name(self) -> str:
        """Return the namespace's name."""
        return str(metadata_of(self.pod_group)["namespace"])

    @property
    def owner_uid(self) -> str:
        """Return the UID of the workload it was made for; empty where it names none."""
        return str((self.owner_reference or {}).get("uid") or "")

    @property
    def owner_named(self) -> str:
        """Return what a sentence calls the workload: its kind and name."""
        reference = self.owner_reference or {}
        return f"{reference.get('kind')} {reference.get('name')}"

    @property
    def quorum(self) -> int | None:
        """Return the PodGroup's minCount as it stands; None for a basic group, of which nothing is kept together."""
        gang = ((self.pod_group.get("spec") or {}).get("schedulingPolicy") or {}).get("gang")
        return None if gang is None else int(gang.get("minCount", 1))

    @property
    def asked(self) -> int | None:
        """Return the quorum that was asked for, before any repair: the policy's word, else what the PodGroup says."""
        return self.planned.min_count if self.planned is not None else self.quorum


def gather_facts(
    pod_group: Object,
    pods: Iterable[Object],
    snapshot: Snapshot,
    *,
    spec: DisruptionSpec,
    now: datetime,
    planned: PlannedGroup | None = None,
    losses: Iterable[Loss] = (),
    absent_nodes: Mapping[str, datetime] = MappingProxyType({}),
    short_since: datetime | None = None,
    intent: Intent | None = None,
) -> GroupFacts:
    """Gather what is known of a group.

    ``pods`` are all that name it, ended ones too. ``losses``, ``absent_nodes`` and ``short_since`` are what the watcher
    remembers; entries about nodes that are there are of no effect.
    """
    namespace = str(metadata_of(pod_group)["namespace"])
    reference = owner_reference(pod_group)
    members, strangers = split_members(pods, str((reference or {}).get("uid") or ""), snapshot)
    return GroupFacts(
        pod_group=pod_group,
        spec=spec,
        now=now,
        planned=planned,
        owner_reference=reference,
        owner=owner_of(pod_group, snapshot),
        is_owner_followed=reference is not None and _is_followed(key_of_owner(reference, namespace), snapshot),
        members=members,
        strangers=strangers,
        nodes=_nodes(members, snapshot),
        are_nodes_followed=snapshot.knows("", "Node"),
        absent_nodes=absent_nodes,
        namespace=snapshot.get(ObjectKey("", "Namespace", "", namespace)),
        budgets=snapshot.bucket(*BUDGET_KIND, namespace) if snapshot.knows(*BUDGET_KIND) else None,
        losses=tuple(losses),
        short_since=short_since,
        intent=intent,
    )


def owner_of(pod_group: Object, snapshot: Snapshot) -> Object | None:
    """Return the workload that a PodGroup was made for, the same by UID; None where it is gone or not known."""
    reference, namespace = owner_reference(pod_group), str(metadata_of(pod_group)["namespace"])
    found = snapshot.get(key_of_owner(reference, namespace)) if reference is not None else None
    return found if found is not None and metadata_of(found).get("uid") == (reference or {}).get("uid") else None


def _is_followed(key: ObjectKey, snapshot: Snapshot) -> bool:
    return snapshot.knows(key.group, key.kind)


def _nodes(members: Iterable[Object], snapshot: Snapshot) -> Mapping[str, Object]:
    names = {node_of(pod) for pod in members} - {""}
    found = {name: snapshot.get(ObjectKey("", "Node", "", name)) for name in names}
    return {name: node for name, node in found.items() if node is not None}
