"""What is known of one group, gathered from the snapshot, the policies in force, and what was seen and is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from webhook.controller.members import MemberIndex
from webhook.controller.memory import Memory, Remembered
from webhook.controller.planning import Planning
from webhook.controller.process import Feed, Policies
from webhook.controller.sightings import Sightings
from webhook.groups import recorded_policy
from webhook.model.groups import MANAGED_BY, MANAGED_BY_LABEL, PlannedGroup
from webhook.model.objects import Object, ObjectKey, labels_of, metadata_of
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Snapshot
from webhook.preemption import GroupFacts, gather_facts
from webhook.rules import ClusterView, World

_POLICY_SECONDS = 5.0
"""What one policy may take."""


class Gathering:
    """Answers what is known of a group."""

    def __init__(
        self,
        feed: Feed,
        policies: Policies,
        world: Callable[[Snapshot], World],
        members: MemberIndex,
        sightings: Sightings,
        *,
        view: Callable[[Snapshot, str], ClusterView],
    ) -> None:
        self._feed, self._policies, self._world = feed, policies, world
        self._members, self._sightings, self._view = members, sightings, view

    def facts(self, key: ObjectKey, memory: Memory, now: datetime) -> GroupFacts | None:
        """Return what is known of a group that we made, or asked the Job controller for; None of any other."""
        snapshot = self._feed.current
        pod_group = snapshot.get(key)
        if pod_group is None:
            return None
        facts = gather_facts(
            pod_group,
            self._members.pods(key.namespace, key.name, snapshot),
            snapshot,
            spec=DisruptionSpec(),
            now=now,
            losses=self._sightings.losses(key),
            absent_nodes=self._sightings.absent_nodes,
        )
        owner = facts.owner
        if not _is_ours(pod_group, owner):
            return None
        known = memory.of(pod_group)
        facts = replace(facts, short_since=known.short_since, intent=known.intent)
        if owner is None:
            return facts
        planning = self._planning(snapshot)
        planned = self._planned(planning, known, owner, key.name)
        return replace(facts, spec=planning.disruption(owner), planned=planned)

    def _planning(self, snapshot: Snapshot) -> Planning:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _POLICY_SECONDS
        return Planning(
            policies=self._policies.current,
            snapshot=snapshot,
            world=self._world(snapshot),
            expired=lambda: loop.time() > deadline,
            view=self._view,
        )

    def _planned(self, planning: Planning, known: Remembered, owner: Object, name: str) -> PlannedGroup | None:
        version = (metadata_of(owner).get("resourceVersion"), self._policies.current.revision)
        if known.planned[0] != version:
            known.planned = (version, planning.group(owner, name))
        return known.planned[1]


def _is_ours(pod_group: Object, owner: Object | None) -> bool:
    """Tell whether we look after a group: its workload carries our record, on either route."""
    if owner is None:
        return labels_of(pod_group).get(MANAGED_BY_LABEL) == MANAGED_BY
    return bool(recorded_policy(owner)[0])
