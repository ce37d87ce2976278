"""Which kinds the WorkloadPolicies in force group, as this API server serves them.

Policies name resources, objects have kinds, and only discovery knows which belongs to which. A kind whose definition is not
installed is no obstacle: it is looked for again, and followed as soon as it is there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

import structlog

from webhook.admission import member_resources, owner_resources
from webhook.cli.looking import look_until_answered
from webhook.cluster import Api
from webhook.errors import ClusterError
from webhook.model.objects import Kind, Resource
from webhook.policies import PolicyStore

_LOG = structlog.get_logger(__name__)
_LOOK_SECONDS = 15.0
"""How often a kind is looked for that was not served so far; one request a group."""


class OwnerKinds:
    """Holds ``current``, the kinds of workloads to follow; ``changed`` is called when there are others."""

    def __init__(self, api: Api, store: PolicyStore, changed: Callable[[], None]) -> None:
        self._api, self._store, self._changed = api, store, changed
        self._found: dict[Resource, Kind] = {}
        self._wake = asyncio.Event()
        self.current: tuple[Kind, ...] = ()
        self.of_members: tuple[Kind, ...] = ()
        """What tells whose a new pod is, where pods get their group one by one: workloads, and what is between."""

    def places(self) -> frozenset[tuple[str, str]]:
        """Return group and kind of every workload that is followed."""
        return frozenset((kind.group, kind.kind) for kind in self.current)

    def look_soon(self) -> None:
        """Say that the policies are others now."""
        self._wake.set()

    async def look_first(self, timeout_seconds: float) -> None:
        """Look until the API server has answered for every resource; raises ClusterError when it does not in time."""
        await look_until_answered(self._look, timeout_seconds)

    async def run(self) -> None:
        """Look again for what is missing, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK_SECONDS)
            self._wake.clear()
            try:
                await self._look()
            except ClusterError as error:
                _LOG.warning("kinds of workloads not looked up", error=str(error))

    async def _look(self) -> None:
        policies = self._store.current
        found = await self._kinds(owner_resources(policies))
        of_members: tuple[Kind, ...] = ()
        for resource, between in member_resources(policies).items():
            if kinds := await self._kinds((resource,)):  # what is between is of interest only where the workload can be
                of_members = (*of_members, *kinds, *await self._kinds(between))
        of_members = tuple(dict.fromkeys(of_members))
        if (found, of_members) != (self.current, self.of_members):
            self.current, self.of_members = found, of_members
            _LOG.info("following workloads", kinds=[str(kind) for kind in dict.fromkeys((*found, *of_members))])
            self._changed()

    async def _kinds(self, resources: Iterable[Resource]) -> tuple[Kind, ...]:
        """Return the kinds of those resources that are served, once each."""
        known = {resource: await self._find(resource) for resource in resources}
        return tuple(dict.fromkeys(kind for kind in known.values() if kind is not None))

    async def _find(self, resource: Resource) -> Kind | None:
        if resource not in self._found:
            try:
                self._found[resource] = await self._api.mapper.kind_of(resource)
            except ClusterError as error:
                if error.status != 404:
                    raise
        return self._found.get(resource)
