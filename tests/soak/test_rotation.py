"""Certificates that live for seconds are rotated in a loop under load: no call fails, whether its connection is new or old."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import CollectorRegistry

from tests import builders
from tests.certs.fakes import Registered
from tests.server.running import Connection
from tests.soak.scene import Scene
from webhook.certs import FileStore, Profile, Rotator, Tls
from webhook.certs.inspection import bundle_fingerprints
from webhook.cli.reviewer import LiveReviewer
from webhook.model.groups import Capabilities
from webhook.model.snapshot import snapshot_of
from webhook.policies import PolicyStore, bundled_policies, load_policies
from webhook.server import Metrics, build_app, serve
from webhook.settings import CertificateSettings, EvaluationSettings, ServingSettings

DAY = 24 * 60 * 60
QUICK = CertificateSettings(
    ca_days=150 / DAY,
    leaf_days=25 / DAY,
    renew_after_fraction=0.08,  # after 2 s, so a busy machine still has 23 s left
    clock_skew_seconds=1.0,  # certificates know whole seconds only
    overlap_seconds=2.0,
    check_seconds=0.1,
)
LEAVES = 30
NEWCOMERS, REGULARS = 2, 2
LAG_SECONDS = 1.0
"""How late a caller hears of a new bundle; below the overlap, as an API server is."""


class Published:
    """The webhook configuration: its bundle, and the older one that a caller may still hold."""

    def __init__(self) -> None:
        self._bundles: deque[tuple[float, bytes]] = deque(maxlen=50)
        self._version = 0

    async def published(self) -> tuple[Registered, ...]:
        bundle = self._bundles[-1][1] if self._bundles else b""
        return (Registered(place="0", version=str(self._version), bundle=bundle),)

    async def publish(self, bundle: bytes, versions: Mapping[str, str]) -> None:
        self._version += 1
        self._bundles.append((asyncio.get_running_loop().time(), bundle))

    def as_heard(self, lag: float) -> bytes:
        """Return the bundle as a caller knows it that hears of news this late."""
        limit = asyncio.get_running_loop().time() - lag
        return next((bundle for at, bundle in reversed(self._bundles) if at <= limit), self._bundles[0][1])


class Load:
    """Callers, and what they counted."""

    def __init__(self, port: int, published: Published, scene: Scene) -> None:
        self.port, self.published, self.random = port, published, scene.random
        self.calls = self.handshakes = 0
        self.failures: list[str] = []
        self.body = json.dumps(builders.review(builders.job().gang().build())).encode()

    async def newcomer(self, stop: asyncio.Event) -> None:
        """Open a connection for every call."""
        while not stop.is_set():
            connection = await self._connect()
            if connection is not None:
                await self._call(connection)
                connection.close()

    async def regular(self, stop: asyncio.Event) -> None:
        """Keep one connection from beginning to end, across all rotations."""
        connection = await self._connect()
        while not stop.is_set() and connection is not None and await self._call(connection):  # noqa: ASYNC110 - a pace, no wait
            await asyncio.sleep(0.01)
        if connection is not None:
            connection.close()

    async def _connect(self) -> Connection | None:
        bundle = self.published.as_heard(self.random.uniform(0, LAG_SECONDS))
        context = ssl.create_default_context(cadata=bundle.decode())
        try:
            streams = await asyncio.open_connection("localhost", self.port, ssl=context, server_hostname="localhost")
        except OSError as error:
            self.failures.append(f"handshake: {error!r}")
            return None
        self.handshakes += 1
        return Connection(*streams)

    async def _call(self, connection: Connection) -> bool:
        try:
            answer = await connection.post(self.body, self.random.choice(("/mutate/ignore", "/validate/fail")))
        except (OSError, EOFError, TimeoutError) as error:
            self.failures.append(f"call: {error!r}")
            return False
        self.calls += 1
        if answer.status != 200 or "allowed" not in answer.json["response"]:
            self.failures.append(f"answer: {answer.status} {answer.text[:200]}")
        return True


async def test_short_lived_certificates_rotate_under_load(scene: Scene, tmp_path: Path):
    published, serving = Published(), ServingSettings(host="127.0.0.1", port=0, drain_seconds=0.0, shutdown_seconds=5)
    profile, store, stop = Profile(settings=QUICK), FileStore(tmp_path), asyncio.Event()
    rotator = Rotator(store, profile=profile, clock=lambda: datetime.now(UTC), publisher=published)
    first = await rotator.renew()
    tls = Tls(first)
    rotator.attach(tls, first)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    app = build_app(
        reviewer(), list, metrics=Metrics(CollectorRegistry()), serving=serving, evaluation=EvaluationSettings(), stop=stop
    )
    leaves, authorities, ended = {tls.served}, set(), asyncio.Event()

    async def renew() -> None:
        material = await rotator.renew()
        leaves.add(tls.served)
        authorities.update(bundle_fingerprints(material.ca))
        if len(leaves) > scene.often(LEAVES):
            ended.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, tls.context, serving, stop=stop, started=port.set_result))
        tasks.create_task(rotator.run(renew, stop=stop))
        load = Load(await port, published, scene)
        callers = [tasks.create_task(load.newcomer(ended)) for _ in range(NEWCOMERS)]
        callers += [tasks.create_task(load.regular(ended)) for _ in range(REGULARS)]
        await asyncio.wait(callers)
        stop.set()
    assert load.failures == []
    assert len(authorities) > 2
    scene.done(
        f"{len(leaves)} certificates of {len(authorities)} authorities, {load.handshakes:,} handshakes, {load.calls:,} calls",
        "0 failed",
    )


def reviewer() -> LiveReviewer:
    """Return what decides in production, with the shipped policies."""
    snapshot, policies = snapshot_of([builders.namespace()]), PolicyStore(load_policies([bundled_policies()]))
    known = Capabilities(group_objects=True)
    return LiveReviewer(policies, lambda: snapshot, lambda: known, limits=EvaluationSettings())
