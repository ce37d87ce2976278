"""Taking Gangwarden away, so that nothing fails closed, no replica brings the configurations back, and no gang waits for ever.

The order matters. First the native policies' bindings go: from then on no Job is refused for lack of a stamp. Then the
replicas are told to end, and while they still answer what was sent to them, the configurations go. When nothing stamps any
more, what was stamped gets its groups, whether a controller is alive or not; and when the controllers have ended, what they had
suspended for a restart goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from webhook.admission import CONFIGURATION_NAME, PolicySet, SnapshotWorld, disruption_of
from webhook.cli.owner_kinds import OwnerKinds
from webhook.cluster import Api, Done, EventRecorder, Executor, Failed, WebhookConfigurations, fetch_snapshot, probe_capabilities
from webhook.controller import CONTROLLER_KINDS, Upkeep
from webhook.errors import ClusterError
from webhook.groups import is_suspended
from webhook.model.actions import Apply, Resume
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
    return [f"{key} deleted" for key in keys if await api.delete_found(key)]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """What is left in the cluster when nothing of ours runs any more."""

    policies: PolicySet
    snapshot: Snapshot
    capabilities: Capabilities
    places: tuple[tuple[str, str], ...]
    """Group and kind of the workloads that the policies group."""

    @property
    def workloads(self) -> Iterator[Object]:
        """Yield every workload that may be ours to look after."""
        for place in self.places:
            yield from self.snapshot.list(*place)


async def survey(api: Api, paths: Sequence[str | Path], *, namespaces: Sequence[str]) -> Remainder:
    """Read once what the controller follows, by the policies at these paths."""
    store = PolicyStore(load_policies(paths))
    owners = OwnerKinds(api, store, lambda: None)
    await owners.look_first(_DISCOVERY_SECONDS)
    fixed = {(kind.group, kind.kind): kind for kind in (*CONTROLLER_KINDS, *owners.current)}
    needed = [Kind(place[0], "", place[1]) for place in sorted(store.current.needs) if place not in fixed]
    return Remainder(
        policies=store.current,
        snapshot=await fetch_snapshot(api, (*fixed.values(), *needed), namespaces=namespaces),
        capabilities=await probe_capabilities(api, namespace=next(iter(namespaces), "default")),
        places=tuple(dict.fromkeys([("batch", "Job"), *owners.places()])),
    )


async def settle(api: Api, left: Remainder) -> list[str]:
    """Create every group object that a stamped workload waits for; returns a line for each that was made or could not be."""
    return await _perform(api, ((ObjectKey.of(action.object), action) for action in _missing(left)), done="created")


async def release(api: Api, left: Remainder) -> list[str]:
    """Resume the workloads that a restart of ours left suspended, and nobody else's; returns a line for each."""
    actions = []
    for workload in left.workloads:
        said = disruption_of(left.policies, workload)
        path = said[1].suspend_path if said else "spec.suspend"
        if is_suspended(workload) and path:
            meta = metadata_of(workload)
            reason = "Gangwarden is taken away in the middle of its restart."
            actions.append(Resume(key=ObjectKey.of(workload), uid=str(meta["uid"]), path=path, reason=reason))
    return await _perform(api, ((action.key, action) for action in actions), done="resumed")


async def _perform(api: Api, actions: Iterable[tuple[ObjectKey, Apply | Resume]], *, done: str) -> list[str]:
    """Do one after the other; what fails is told and hinders nothing, what was not ours to do is passed over."""
    executor, told = Executor(api, EventRecorder(api, instance="departure")), []
    for key, action in actions:
        for outcome in await executor.perform([action]):
            if isinstance(outcome, Failed):
                told.append(f"{key} not {done}: {outcome.error}")
            elif isinstance(outcome, Done):
                told.append(f"{key} {done}")
    return told


def _missing(left: Remainder) -> Iterator[Apply]:
    loop = asyncio.get_running_loop()
    for workload in left.workloads:
        upkeep = Upkeep(
            policies=left.policies,
            snapshot=left.snapshot,
            world=SnapshotWorld(snapshot=left.snapshot, files=left.policies.params),
            capabilities=left.capabilities,
            now=datetime.now(UTC),
            silent_wait_seconds=float("inf"),
            native_seconds=float("inf"),
            expired=partial(_is_past, loop.time() + _PLAN_SECONDS),
            members=lambda *_: (),
        )
        yield from (action for action in upkeep.plan(workload) if isinstance(action, Apply) and action.is_new)


def _is_past(deadline: float) -> bool:
    return asyncio.get_running_loop().time() > deadline
