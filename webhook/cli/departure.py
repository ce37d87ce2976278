"""Taking Gangwarden away, so that nothing fails closed, no replica brings the configurations back, and no gang waits for ever.

The order matters. First the native policies' bindings go: from then on no Job is refused for lack of a stamp. Then the
replicas are told to end, and while they still answer what was sent to them, the configurations go. When nothing stamps any
more, what was stamped gets its groups, whether a controller is alive or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from webhook.admission import CONFIGURATION_NAME, SnapshotWorld
from webhook.cli.owner_kinds import OwnerKinds
from webhook.cluster import Api, EventRecorder, Executor, Failed, WebhookConfigurations, fetch_snapshot, probe_capabilities
from webhook.controller import CONTROLLER_KINDS, Upkeep
from webhook.errors import ClusterError
from webhook.model.actions import Apply
from webhook.model.groups import Capabilities
from webhook.model.objects import Kind, Object, ObjectKey, metadata_of
from webhook.model.snapshot import Snapshot
from webhook.policies import PolicyStore, load_policies

_POD = Kind("", "v1", "Pod")
_BINDINGS = ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")
_LOOK_SECONDS = 0.5
_DISCOVERY_SECONDS = 60.0
_PLAN_SECONDS = 5.0
"""For the expressions of one workload, as the controller gives them."""


async def unbind(api: Api, names: Sequence[str]) -> list[str]:
    """Delete the bindings of native policies by name; returns what was there."""
    group = "admissionregistration.k8s.io"
    return await delete_by_key(api, (ObjectKey(group, kind, "", name) for name in names for kind in _BINDINGS))


async def withdraw(api: Api, deployment: ObjectKey | None, *, patience_seconds: float) -> list[str]:
    """Delete the configurations for good: the Deployment's replicas, which would write them again, end first.

    Without a ``deployment`` the replicas are somebody else's business. Raises ClusterError where pods do not end in time;
    the configurations are gone by then.
    """
    live = WebhookConfigurations(api, CONFIGURATION_NAME)
    found = await _scale_down(api, deployment) if deployment else None
    removed = [f"{one} deleted" for one in await live.delete()]
    if found is not None:
        await _await_end(api, found, patience_seconds)
        removed += [f"{one} deleted" for one in await live.delete()]  # one may have been in the middle of writing them
    return removed


async def end(api: Api, deployment: ObjectKey, *, patience_seconds: float) -> None:
    """Scale a Deployment to zero and wait for its pods to end; one that is not there is fine."""
    found = await _scale_down(api, deployment)
    if found is not None:
        await _await_end(api, found, patience_seconds)


async def delete_by_key(api: Api, keys: Iterable[ObjectKey]) -> list[str]:
    """Delete objects; returns what was there."""
    removed = []
    for key in keys:
        live = await api.find(key)
        if live is not None:
            await api.delete(key, uid=str(metadata_of(live)["uid"]))
            removed.append(f"{key} deleted")
    return removed


async def _scale_down(api: Api, deployment: ObjectKey) -> Object | None:
    found = await api.find(deployment)
    if found is not None:
        await api.merge_patch(deployment, {"spec": {"replicas": 0}}, subresource="scale")
    return found


async def _await_end(api: Api, deployment: Object, patience_seconds: float) -> None:
    namespace, labels = metadata_of(deployment)["namespace"], deployment["spec"]["selector"].get("matchLabels") or {}
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    try:
        async with asyncio.timeout(patience_seconds):
            while await api.list(_POD, namespace=namespace, label_selector=selector):  # noqa: ASYNC110 - for seconds, once
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        text = f"pods of it have not ended after {patience_seconds:g} s, and may still write what is to go"
        key = ObjectKey.of(deployment)
        raise ClusterError(f"{key}: {text}", verb="delete", key=str(key), reason="Timeout") from None


async def settle(api: Api, paths: Sequence[str | Path], *, namespaces: Sequence[str]) -> list[str]:
    """Create every group object that a stamped workload waits for; returns a line for each that was made or could not be."""
    store = PolicyStore(load_policies(paths))
    owners = OwnerKinds(api, store, lambda: None)
    await owners.look_first(_DISCOVERY_SECONDS)
    capabilities = await probe_capabilities(api, namespace=next(iter(namespaces), "default"))
    fixed = {(kind.group, kind.kind): kind for kind in (*CONTROLLER_KINDS, *owners.current)}
    needed = [Kind(place[0], "", place[1]) for place in sorted(store.current.needs) if place not in fixed]
    snapshot = await fetch_snapshot(api, (*fixed.values(), *needed), namespaces=namespaces)
    executor, told = Executor(api, EventRecorder(api, instance="departure")), []
    for action in _missing(store, snapshot, capabilities, places=[("batch", "Job"), *owners.places()]):
        for outcome in await executor.perform([action]):
            key = ObjectKey.of(action.object)
            told.append(f"{key} not created: {outcome.error}" if isinstance(outcome, Failed) else f"{key} created")
    return told


def _missing(
    store: PolicyStore, snapshot: Snapshot, capabilities: Capabilities, *, places: Sequence[tuple[str, str]]
) -> Iterator[Apply]:
    loop = asyncio.get_running_loop()
    for workload in (one for place in dict.fromkeys(places) for one in snapshot.list(*place)):
        upkeep = Upkeep(
            policies=store.current,
            snapshot=snapshot,
            world=SnapshotWorld(snapshot=snapshot, files=store.current.params),
            capabilities=capabilities,
            now=datetime.now(UTC),
            silent_wait_seconds=float("inf"),
            native_seconds=float("inf"),
            expired=partial(_is_past, loop.time() + _PLAN_SECONDS),
            members=lambda *_: (),
        )
        yield from (action for action in upkeep.plan(workload) if isinstance(action, Apply) and action.is_new)


def _is_past(deadline: float) -> bool:
    return asyncio.get_running_loop().time() > deadline
