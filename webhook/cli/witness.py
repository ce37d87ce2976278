"""Who preempted a pod, from the scheduler's event on it: the only place where Kubernetes says so, by UID and for an hour."""

from __future__ import annotations

import structlog

from webhook.cluster import Api
from webhook.errors import ClusterError
from webhook.model.objects import Kind
from webhook.preemption import preemptor_in

_EVENT = Kind("", "v1", "Event")
_LOG = structlog.get_logger(__name__)


class PreemptionWitness:
    """Fits ``controller.Witness``."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def __call__(self, namespace: str, pod_uid: str) -> str:
        """Return the UID of who preempted a pod; empty where no event says so, or it cannot be read."""
        selector = f"involvedObject.uid={pod_uid},reason=Preempted"
        try:
            events = await self._api.list(_EVENT, namespace=namespace, field_selector=selector)
        except ClusterError as error:
            _LOG.warning("events not read", namespace=namespace, error=str(error))
            return ""
        return next((uid for event in events if (uid := preemptor_in(str(event.get("message") or "")))), "")
