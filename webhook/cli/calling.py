"""Seeing from outside that the API server calls the webhook: by what becomes of a Job that is not stored."""

from __future__ import annotations

from webhook.cli.looking import look_until_answered
from webhook.cluster import Api, probe_capabilities
from webhook.errors import ClusterError
from webhook.model.groups import GANG_LABEL
from webhook.model.objects import Object

_DENIED = ('admission webhook "', 'gangwarden.dev" denied the request')
"""As the API server says it; a native policy that denies proves nothing (webhook/errors/statuserror.go, ToStatusErr)."""


async def look_for_a_call(api: Api, *, namespace: str, timeout_seconds: float) -> str:
    """Ask the API server again and again to admit a labelled Job (dry run); returns by what the webhook was recognised.

    Raises the last ClusterError when it was not called in time.
    """
    seen: list[str] = []

    async def look() -> None:
        seen.append(await _recognised(api, namespace))

    await look_until_answered(look, timeout_seconds)
    return seen[-1]


async def _recognised(api: Api, namespace: str) -> str:
    try:
        spec = (await api.create(_job(namespace), dry_run=True))["spec"]
    except ClusterError as error:
        if all(part in str(error) for part in _DENIED):
            return f"the webhook is called, and refused the Job: {error}"
        raise
    group = spec["template"]["spec"].get("schedulingGroup") or spec.get("scheduling")
    if group:
        return f"the webhook is called: a Job labelled {GANG_LABEL} gets its group"
    if not (await probe_capabilities(api, namespace=namespace)).group_objects:
        return (
            "the API server serves no PodGroups (feature gate GenericWorkload), so no Job gets a group, and a call cannot be seen"
        )
    text = f"a Job labelled {GANG_LABEL} was admitted in namespace {namespace} without a group: the webhook was not asked"
    raise ClusterError(text, verb="probe", reason="NotCalled")


def _job(namespace: str) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "generateName": "gangwarden-call-", "labels": {GANG_LABEL: "true"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}},
    }
