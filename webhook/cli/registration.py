"""Registering the webhook: the configurations that the policies need, applied in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from webhook.admission import Endpoint, NamespaceScope, WebhookNeeds, plan_configurations
from webhook.errors import ClusterError
from webhook.model.objects import ObjectKey

if TYPE_CHECKING:
    from webhook.cluster import WebhookConfigurations

_LOG = structlog.get_logger(__name__)
_INVALID = 422


async def register(
    live: WebhookConfigurations,
    needs: WebhookNeeds,
    endpoint: Endpoint,
    *,
    ca_bundle: str,
    scope: NamespaceScope,
    keep_bundles: bool = False,
) -> tuple[ObjectKey, ...]:
    """Apply the configurations; returns the keys of those that were written. Raises ClusterError.

    ``keep_bundles``: ``ca_bundle`` is for webhooks that have none.

    New expressions are compiled by the API server for the release before its own, so it may refuse one that a stored
    policy may use; then everything that the rules name is sent to us, which is slower and no less strict.
    """
    try:
        return await live.apply(plan_configurations(needs, endpoint, ca_bundle=ca_bundle, scope=scope), keep_bundles=keep_bundles)
    except ClusterError as error:
        if error.status != _INVALID or "matchConditions" not in str(error):
            raise
        _LOG.warning("match conditions not accepted; all that the rules name is sent", error=str(error))
        plain = needs.without_conditions()
        return await live.apply(plan_configurations(plain, endpoint, ca_bundle=ca_bundle, scope=scope), keep_bundles=keep_bundles)
