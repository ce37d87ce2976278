"""One process in a cluster, joined from its rooms: what is loaded, who follows what, who ends when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from webhook.admission import Endpoint, NamespaceScope, exceptions_of, guards_evictions
from webhook.certs import load_profile
from webhook.cli.authentication import Authentication
from webhook.cli.capabilities import CapabilityWatch
from webhook.cli.controller_part import ControllerPart, identity
from webhook.cli.evictions import GUARD_KINDS, EvictionReviewer
from webhook.cli.ledger import PolicyLedger
from webhook.cli.node_room import NodeRoom
from webhook.cli.options import endpoint_names
from webhook.cli.owner_kinds import OwnerKinds
from webhook.cli.reviewer import LiveReviewer
from webhook.cli.webhook_part import WebhookPart, material_store
from webhook.cluster import Api, EventRecorder, SnapshotFeed, connect
from webhook.controller import CONTROLLER_KINDS, KEEPER_KINDS, MemberIndex
from webhook.errors import GangwardenError
from webhook.model.groups import ALPHA_SCHEDULING_VERSION, COMPOSITE_POD_GROUP, SCHEDULING_GROUP
from webhook.model.objects import Kind
from webhook.policies import Kept, PolicyStore, PolicyWatcher, Swap, bundled_policies, bundled_profile, load_policies
from webhook.preemption import EvictionGate
from webhook.server import Metrics, build_status_app, serve, stop_on_signals
from webhook.settings import Settings

_LOG = structlog.get_logger(__name__)
_SYNC_SECONDS = 60.0
"""How long a start waits for the first snapshot."""
_COMPOSITES = Kind.parse(ALPHA_SCHEDULING_VERSION, COMPOSITE_POD_GROUP)
_REVIEW_KINDS = (Kind("", "v1", "Namespace"), Kind(SCHEDULING_GROUP, "v1beta1", "PodGroup"))
"""What every review may look at: namespaces for selectors, groups to tell a copied record from one of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a process is to do."""

    webhook: bool
    controller: bool
    kubeconfig: str | None = None
    context: str | None = None
    policies: tuple[str, ...] = ()
    """Policy files and folders; none: the shipped ones."""
    host: str = ""
    port: int = 9443
    cert_dir: str = ""
    cert_secret: str = ""
    cert_profile: str = ""
    """What certificates are to look like; empty: the shipped profile."""
    endpoint: Endpoint | None = None
    """Where the API server reaches us; None: somebody else keeps the webhook configurations."""
    scope: NamespaceScope = field(default_factory=NamespaceScope)
    """Which namespaces are sent; its ``only`` are also the only ones that are followed."""
    longest_hold_seconds: float = 3600.0
    """How long evictions of one group may wait in all."""
    authentication: Authentication = field(default_factory=Authentication)
    """How callers must be known; by default anybody may call."""
    cert_given: bool = False
    """The certificate is somebody else's: read and checked, never made."""
    namespace: str = "gangwarden-system"
    restarts: bool = True
    """Restart groups that lost a member."""
    status_host: str = ""
    status_port: int | None = None
    """Where a process tells how it is, and which policies it has; None: nowhere. A webhook tells the first beside its reviews."""
    alpha: tuple[str, ...] = ()
    """What may be used although it is alpha in Kubernetes."""
    canary_namespace: str = ""
    """Where a suspended Job and two pods may be made to see what Job controller and scheduler do; empty: nowhere."""


class ClusterProcess:
    """Runs the parts of a plan until SIGTERM, or until one of them fails."""

    def __init__(self, plan: Plan, settings: Settings | None = None) -> None:
        given = settings or Settings()
        self._plan = plan
        self._settings = replace(
            given,
            serving=replace(given.serving, host=plan.host or given.serving.host, port=plan.port),
            controller=replace(given.controller, namespace=plan.namespace),
            disruption=replace(given.disruption, restarts=given.disruption.restarts and plan.restarts),
            guard=replace(given.guard, longest_hold_seconds=plan.longest_hold_seconds),
        )
        self._paths: Sequence[str | Path] = plan.policies or (bundled_policies(),)
        self._metrics = Metrics(CollectorRegistry())
        self._store = PolicyStore(load_policies(self._paths, limits=self._settings.reload))
        self._ledger = PolicyLedger(self._store, plan.endpoint, plan.scope, now=time.time())
        self._count_policies()
        for warning in self._store.current.warnings:
            _LOG.warning("policies", warning=warning)

    async def run(self) -> None:
        """Run to the end; raises ClusterError or CertificateError when it cannot start."""
        stop = asyncio.Event()
        stop_on_signals(stop)
        async with await connect(self._plan.kubeconfig, self._plan.context) as connection:
            api = Api.over(connection)
            capabilities = self._capabilities(api)
            try:
                await self._run_parts(api, capabilities, stop)
            except* GangwardenError as failures:
                raise _first(failures) from failures

    def _capabilities(self, api: Api) -> CapabilityWatch:
        """Watch what the cluster can do; who may write events tells of changes on the controller's Lease."""
        lease = {"namespace": self._settings.controller.namespace, "name": self._settings.controller.lease_name}
        return CapabilityWatch(
            api,
            canary_namespace=self._plan.canary_namespace,
            probe_namespace=self._probe_namespace(),
            about={"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": lease},
            tell=EventRecorder(api, instance=identity()).post if self._plan.controller else None,
            alpha=self._plan.alpha,
        )

    async def _run_parts(self, api: Api, capabilities: CapabilityWatch, stop: asyncio.Event) -> None:
        feed = SnapshotFeed(api, self._kinds(), namespaces=self._plan.scope.only)
        owners = OwnerKinds(api, self._store, lambda: feed.want(self._kinds(owners)))
        self._metrics.snapshot_ages(lambda: feed.age_seconds)
        room = NodeRoom(feed, lambda: capabilities.current)
        evictions = self._evictions(feed) if self._plan.webhook else None
        webhook = self._webhook_part(api) if self._plan.webhook else None
        watcher = PolicyWatcher(
            self._paths,
            self._store,
            settings=self._settings.reload,
            told=lambda swap: self._told(swap, feed, room, webhook, owners),
        )
        controller = None
        if self._plan.controller:
            controller = ControllerPart(
                api,
                feed,
                self._store,
                capabilities=lambda: capabilities.current,
                settings=self._settings.controller,
                disruption=self._settings.disruption,
                view=room.view,
                owners=owners.places,
                registry=self._metrics.registry,
                doubt=capabilities.doubt,
            )
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(feed.run())]
            tasks.create_task(watcher.run(stop))
            if self._plan.status_port is not None:
                tasks.create_task(self._tell_status(feed, self._plan.status_port, stop))
            await _unless(stop, self._know(feed, capabilities, owners))
            if not stop.is_set():
                beside.append(tasks.create_task(capabilities.run()))
                beside.append(tasks.create_task(owners.run()))
            if controller is not None and not stop.is_set():
                beside.append(tasks.create_task(controller.run()))
            if webhook is not None and not stop.is_set():
                await self._serve(webhook, feed, capabilities, room, evictions, stop)
            await stop.wait()
            for task in beside:
                task.cancel()

    @staticmethod
    async def _know(feed: SnapshotFeed, capabilities: CapabilityWatch, owners: OwnerKinds) -> None:
        """Wait until all are known: without them, an answer would be a guess."""
        await capabilities.look_first(_SYNC_SECONDS)
        await owners.look_first(_SYNC_SECONDS)
        await feed.wait_synced(_SYNC_SECONDS)

    async def _serve(  # noqa: PLR0917 - the parts of one process
        self,
        webhook: WebhookPart,
        feed: SnapshotFeed,
        capabilities: CapabilityWatch,
        room: NodeRoom,
        evictions: EvictionReviewer | None,
        stop: asyncio.Event,
    ) -> None:
        reviewer = LiveReviewer(
            self._store,
            lambda: feed.current,
            lambda: capabilities.current,
            limits=self._settings.evaluation,
            view=room.view,
            doubt=capabilities.doubt,
        )
        await webhook.run(
            reviewer,
            lambda: _unmet(feed),
            stop=stop,
            endpoint=self._plan.endpoint,
            scope=self._plan.scope,
            evictions=evictions,
        )

    def _evictions(self, feed: SnapshotFeed) -> EvictionReviewer:
        """Return the reviewer of evictions; before the feed begins, for an index that missed the first changes misses pods."""
        gate = EvictionGate(self._settings.guard, MemberIndex(feed).pods)
        return EvictionReviewer(self._store, lambda: feed.current, gate)

    async def _tell_status(self, feed: SnapshotFeed, port: int, stop: asyncio.Event) -> None:
        """Answer on health, readiness, metrics and policies: without TLS, for there is nothing secret in them."""
        place = replace(
            self._settings.serving, host=self._plan.status_host or self._settings.serving.host, port=port, drain_seconds=0.0
        )
        app = build_status_app(lambda: _unmet(feed), metrics=self._metrics, stop=stop, policies=self._ledger.page)
        await serve(app, None, place, stop=stop, started=lambda given: _LOG.info("telling status", port=given))

    def _webhook_part(self, api: Api) -> WebhookPart:
        path = Path(self._plan.cert_profile) if self._plan.cert_profile else bundled_profile()
        profile = load_profile(path, self._settings.certificates)
        return WebhookPart(
            api,
            self._store,
            self._metrics,
            self._settings,
            material_store(api, directory=self._plan.cert_dir, secret=self._plan.cert_secret),
            profile.with_dns_names(*endpoint_names(self._plan.endpoint)),
            given_for=endpoint_names(self._plan.endpoint)[:1] if self._plan.cert_given else None,
            authentication=self._plan.authentication,
        )

    def _probe_namespace(self) -> str:
        """Return where fields are tried out by dry runs: where nothing else may be done, in a namespace that is ours."""
        return next(iter(self._plan.scope.only), "default")

    def _told(self, swap: Swap, feed: SnapshotFeed, room: NodeRoom, webhook: WebhookPart | None, owners: OwnerKinds) -> None:
        self._metrics.reload_took(swap.seconds)
        self._ledger.note(swap, now=time.time())
        if isinstance(swap, Kept):
            self._metrics.reload_failed()
            _LOG.error("policies not reloaded; the previous set stays in force", revision=swap.revision, because=swap.because)
            return
        self._count_policies()
        _LOG.info("policies reloaded", revision=swap.revision, policies=swap.policies, warnings=swap.warnings)
        feed.want(self._kinds(owners))
        owners.look_soon()
        room.restart()
        if webhook is not None:
            webhook.policies_changed()

    def _count_policies(self) -> None:
        policies = self._store.current
        self._metrics.reload_succeeded(policies.revision, time.time())
        self._metrics.exceptions_in_force(
            {(one.name, one.source.policy_name): one.source.expires.timestamp() for one in exceptions_of(policies)}
        )

    def _kinds(self, owners: OwnerKinds | None = None) -> tuple[Kind, ...]:
        """Return what is followed: the fixed kinds of the parts, and what the policies in force look at and group."""
        followed = list(owners.of_members) if owners else []
        if self._plan.webhook and guards_evictions(self._store.current):
            followed += [*(owners.current if owners else ()), *GUARD_KINDS]
        if self._plan.controller:
            followed += [*(owners.current if owners else ()), *CONTROLLER_KINDS]
            followed += KEEPER_KINDS
            followed += (_COMPOSITES,) if COMPOSITE_POD_GROUP in self._plan.alpha else ()
        fixed = {(kind.group, kind.kind): kind for kind in (*_REVIEW_KINDS, *followed)}
        needed = {place: Kind(place[0], "", place[1]) for place in sorted(self._store.current.needs) if place not in fixed}
        return (*fixed.values(), *needed.values())


def _unmet(feed: SnapshotFeed) -> list[str]:
    return [] if feed.synced() else list(feed.problems())


async def _unless(stop: asyncio.Event, waiting: Coroutine[Any, Any, None]) -> None:
    """Wait for something, or for the end: a process that is told to go while it starts must not be killed for waiting."""
    task, stopping = asyncio.ensure_future(waiting), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
    finally:
        task.cancel()
        stopping.cancel()


def _first(failures: BaseExceptionGroup[GangwardenError]) -> GangwardenError:
    found = failures.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
