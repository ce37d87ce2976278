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


class CapabilityWatch:
    """Holds ``current``; unknown counts as no until the first look succeeds."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.current = Capabilities()

    async def look(self) -> None:
        """Probe once; where the API server does not answer, what was known stays."""
        try:
            found = await probe_capabilities(self._api)
        except ClusterError as error:
            _LOG.warning("capabilities not probed", error=str(error))
            return
        if found != self.current:
            _LOG.info("capabilities changed", before=str(self.current), now=str(found))
        self.current = found

    async def run(self) -> None:
        """Look repeatedly until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.look()
