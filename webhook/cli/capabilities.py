"""What the API server was last seen to do with group fields; looked at again and again, for gates change with upgrades."""

from __future__ import annotations

import asyncio

import structlog

from webhook.cluster import Api, probe_capabilities
from webhook.errors import ClusterError
from webhook.model.groups import Capabilities

_LOG = structlog.get_logger(__name__)
_LOOK_SECONDS = 60.0
"""Two dry-run requests a minute; a control plane upgrade takes longer than that."""
_FIRST_LOOK_SECONDS = 1.0


class CapabilityWatch:
    """Holds ``current``. Of use after the first look only: a webhook that took unknown for no would ungroup gangs."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.current = Capabilities()

    async def look_first(self, timeout_seconds: float) -> None:
        """Look until it succeeds; raises the last ClusterError when it does not in time."""
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        while True:
            try:
                await self._look()
            except ClusterError:
                if asyncio.get_running_loop().time() + _FIRST_LOOK_SECONDS > deadline:
                    raise
                await asyncio.sleep(_FIRST_LOOK_SECONDS)
            else:
                return

    async def run(self) -> None:
        """Look repeatedly until cancelled; where the API server does not answer, what was known stays."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._look()
            except ClusterError as error:
                _LOG.warning("capabilities not probed", error=str(error))

    async def _look(self) -> None:
        found = await probe_capabilities(self._api, known=self.current)
        if found != self.current:
            _LOG.info("capabilities changed", before=str(self.current), now=str(found))
        self.current = found
