"""What the cluster was last seen to do with group fields; looked at again and again, for gates change with upgrades."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import structlog

from webhook.cli.looking import look_until_answered
from webhook.cluster import Api, job_controller_makes_groups, probe_capabilities
from webhook.errors import ClusterError
from webhook.model.groups import Capabilities

_LOG = structlog.get_logger(__name__)
_LOOK_SECONDS = 60.0
"""Some requests a minute, none of which stores anything; a control plane upgrade takes longer than that."""
_CANARY_LOOKS = 5
"""A canary is written and deleted, so it flies at every fifth look only."""
_CANARY_SECONDS = 20.0
"""How long the Job controller has for one; it takes less than a second where it is not drowned in work."""


class CapabilityWatch:
    """Holds ``current``. Of use after the first look only: a webhook that took unknown for no would ungroup gangs.

    With a ``canary_namespace`` it also finds out what the Job controller does; without, that stays unknown.
    """

    def __init__(self, api: Api, *, canary_namespace: str = "", probe_namespace: str = "default") -> None:
        self._api, self._canary_namespace, self._probe_namespace = api, canary_namespace, probe_namespace
        self._looks = 0
        self.current = Capabilities()

    async def look_first(self, timeout_seconds: float) -> None:
        """Look until it succeeds; raises the last ClusterError when it does not in time."""
        await look_until_answered(self._look, timeout_seconds)

    async def run(self) -> None:
        """Look repeatedly until cancelled; where the API server does not answer, what was known stays."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._look()
            except ClusterError as error:
                _LOG.warning("capabilities not probed", error=str(error))

    async def _look(self) -> None:
        found = await probe_capabilities(self._api, known=self.current, namespace=self._probe_namespace)
        native_groups = self.current.native_groups and found.native_jobs
        if self._canary_namespace and found.native_jobs and self._looks % _CANARY_LOOKS == 0:
            native_groups = await self._fly()
        self._looks += 1
        self._become(replace(found, native_groups=native_groups))

    async def _fly(self) -> bool:
        """Ask the Job controller; whatever goes wrong, it is not relied on until it has answered."""
        try:
            return await job_controller_makes_groups(self._api, self._canary_namespace, patience_seconds=_CANARY_SECONDS)
        except ClusterError as error:
            _LOG.warning("the canary for the Job controller failed", error=str(error))
            return False

    def _become(self, found: Capabilities) -> None:
        if self._looks > 1 and found != self.current:
            _LOG.warning("the cluster's capabilities changed", before=str(self.current), now=str(found))
        self.current = found
