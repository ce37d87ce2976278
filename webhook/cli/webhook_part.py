"""The webhook's half of a process: certificates, the HTTPS endpoint, and the configurations that point to it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from webhook.admission import CONFIGURATION_NAME, Endpoint, NamespaceScope, webhook_needs
from webhook.certs import FileStore, Material, MaterialStore, Profile, Rotator, Tls
from webhook.cli.authentication import Authentication, Credentials
from webhook.cli.registration import register
from webhook.cluster import AccessReviews, Api, SecretStore, WebhookConfigurations
from webhook.errors import GangwardenError, UsageError
from webhook.policies import PolicyStore
from webhook.server import Metrics, Reviewer, build_app, serve
from webhook.settings import Settings

_LOG = structlog.get_logger(__name__)
_TRUST_SECONDS = 10.0
"""How often the live configurations are read: a GitOps tool, or the version before ours during a rollout, may write there at
any time."""
_RETRY_SECONDS = 2.0


class WebhookPart:
    """Serves reviews and keeps what the API server needs to reach them."""

    def __init__(  # noqa: PLR0917 - the parts of one process
        self,
        api: Api,
        store: PolicyStore,
        metrics: Metrics,
        settings: Settings,
        material: MaterialStore,
        profile: Profile,
        *,
        given_for: Sequence[str] | None = None,
        authentication: Authentication | None = None,
    ) -> None:
        """``given_for``: names that a certificate of somebody else must carry: it is checked, never made. None: it is ours.

        ``authentication``: how callers must be known; None: anybody may call.
        """
        self._credentials = Credentials(authentication or Authentication(), settings.authentication)
        self._api, self._store, self._metrics, self._settings = api, store, metrics, settings
        self._material_store, self._profile, self._given_for = material, profile, given_for
        self._configurations = WebhookConfigurations(api, CONFIGURATION_NAME)
        self._changed = asyncio.Event()
        self._distrust = ""

    def policies_changed(self) -> None:
        """Say that the policy set is another one, so that the configurations must follow."""
        self._changed.set()

    async def run(
        self,
        reviewer: Reviewer,
        readiness: Callable[[], list[str]],
        *,
        stop: asyncio.Event,
        endpoint: Endpoint | None,
        scope: NamespaceScope,
        evictions: Reviewer | None = None,
    ) -> None:
        """Serve until ``stop`` is set and all is drained. With an endpoint the configurations are kept as well."""
        rotator = self._rotator(endpoint)
        material = await self._step(rotator)
        tls = Tls(material, self._credentials.clients)
        callers = self._credentials.callers(self._metrics, tls, self._api, endpoint)
        rotator.attach(tls, material)
        listening = asyncio.Event()

        def unmet() -> list[str]:
            return [*readiness(), *([self._distrust] if self._distrust else [])]

        self._metrics.ready_when("webhook", lambda: not unmet() and not stop.is_set())
        app = build_app(
            reviewer,
            unmet,
            metrics=self._metrics,
            serving=self._settings.serving,
            evaluation=self._settings.evaluation,
            stop=stop,
            evictions=evictions,
            access=AccessReviews(self._api, self._settings.cluster),
            callers=callers,
        )

        def started(port: int) -> None:
            _LOG.info("serving", port=port)
            listening.set()

        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(
                serve(app, tls.context, self._settings.serving, stop=stop, started=started, metrics=self._metrics)
            )
            tasks.create_task(rotator.run(lambda: self._renew(rotator), stop=stop))
            beside = [tasks.create_task(self._watch_trust(rotator)), tasks.create_task(self._credentials.follow(tls, callers))]
            await listening.wait()
            if endpoint is not None:
                beside.append(tasks.create_task(self._keep(endpoint, scope, rotator, stop=stop)))
            await serving
            for task in beside:
                task.cancel()

    def _rotator(self, endpoint: Endpoint | None) -> Rotator:
        """Return what keeps the certificates; those of others it publishes only where we keep the configurations."""
        foreign = self._given_for is not None and endpoint is None
        return Rotator(
            self._material_store,
            profile=self._profile,
            clock=self._api.connection.now,
            publisher=WebhookConfigurations(self._api, CONFIGURATION_NAME, foreign=foreign),
        )

    async def _step(self, rotator: Rotator) -> Material:
        return await rotator.renew() if self._given_for is None else await rotator.follow(self._given_for)

    async def _renew(self, rotator: Rotator) -> Material:
        material = await self._step(rotator)
        held = rotator.held
        if held is not None and held.leaf is not None:
            self._metrics.certificate_expires("serving", held.leaf.not_after.timestamp())
            self._metrics.certificate_expires("authority", held.authorities[0].not_after.timestamp())
        return material

    async def _keep(self, endpoint: Endpoint, scope: NamespaceScope, rotator: Rotator, *, stop: asyncio.Event) -> None:
        """Apply the configurations now, whenever the policies change, and every few seconds.

        Others write there as well, and one that was deleted judges nothing. A refusal is told and tried again; a process
        that is about to go leaves them alone, so that whoever takes them away has the last word.
        """
        while not stop.is_set():
            self._changed.clear()
            try:
                await self._apply(endpoint, scope, await self._step(rotator))
            except GangwardenError as error:
                _LOG.warning("webhook configurations not written", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(self._profile.settings.check_seconds, _TRUST_SECONDS))

    async def _apply(self, endpoint: Endpoint, scope: NamespaceScope, material: Material) -> None:
        """Write what the policies need. The rotation keeps the bundles: here they are for webhooks that have none yet."""
        bundle = base64.b64encode(material.ca).decode()
        needs = webhook_needs(self._store.current)
        written = await register(self._configurations, needs, endpoint, ca_bundle=bundle, scope=scope, keep_bundles=True)
        for key in written:
            _LOG.info("webhook configuration written", key=str(key))

    async def _watch_trust(self, rotator: Rotator) -> None:
        while True:
            try:
                reason = await rotator.distrust()
                self._distrust = reason and f"the API server does not trust the served certificate: {reason}"
            except GangwardenError as error:
                _LOG.warning("the live caBundle could not be compared", error=str(error))
            await asyncio.sleep(_TRUST_SECONDS)


def material_store(api: Api, *, directory: str, secret: str) -> MaterialStore:
    """Return where certificates are kept: the Secret that replicas share, or a folder."""
    if not secret:
        return FileStore(Path(directory))
    namespace, _, name = secret.partition("/")
    if not namespace or not name:
        raise UsageError(f"--cert-secret {secret} must be NAMESPACE/NAME")
    return SecretStore(api, namespace=namespace, name=name)
