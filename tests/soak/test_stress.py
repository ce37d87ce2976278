"""A webhook process on a real control plane under 500 callers, 10,000 idle connections and every way of being rude.

What is looked for is what nobody sees in a process of the test's own (tests/server/test_stress.py): its open files, its memory,
and whether one of thousands of reviews got an answer that is not its own.
"""

from __future__ import annotations

import asyncio
import re
import resource
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.controlplane.client import wait_for
from tests.controlplane.component import free_ports
from tests.e2e.installation import Installation, Process
from tests.server.running import PATIENCE, Connection, head
from tests.soak.pressing import HELLO, POLICY, Callers, drip, hang_up, together
from tests.soak.scene import Scene
from webhook.server.listening import allow_files
from webhook.settings import ServingSettings

STAMPING = Path(__file__).resolve().parents[2] / "policies/gang/labelled-jobs/policy.yaml"
CALLERS, REVIEWS = 500, 4
IDLE = 10_000
SLOW, HALF_OPEN, CUT = 500, 800, 1_000
"""Handshakes go on beside those that are never ended, and stay below the limit together: beyond it the oldest goes, and on a busy
machine that is one of a caller who behaves (tests/server/test_stress.py has that limit to itself)."""
ROUNDS = 3
FILES = 16
"""Descriptors that may be open more than before: watches that were begun anew, callers from the API server."""
GROWTH_MIB = 64.0
"""What the process may hold more than before the first round: memory is given back after each thousand connections that are gone,
and the last of them may be some less."""
LIMITS = ServingSettings()


@pytest.fixture
def files() -> Iterator[None]:
    """Let this process open as many files as the scene takes; the server raises its own limit."""
    before, wanted = resource.getrlimit(resource.RLIMIT_NOFILE), IDLE + CALLERS
    room = allow_files(wanted)
    try:
        if room < wanted:
            pytest.skip(f"{wanted} connections need more open files than the hard limit of {before[1]} allows")
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Pressed:
    """A webhook process, seen from outside."""

    def __init__(self, process: Process, status_port: int) -> None:
        self._process, self._url = process, f"http://127.0.0.1:{status_port}/metrics"

    @property
    def files(self) -> int:
        """Return how many files it has open."""
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def counted(self, series: str) -> int:
        """Return a number of its page; 0 where it was never counted."""
        with build_opener(ProxyHandler({})).open(self._url, timeout=PATIENCE) as answer:
            found = re.search(rf"^gangwarden_{re.escape(series)} (\S+)$", answer.read().decode(), re.MULTILINE)
        return int(float(found[1])) if found else 0

    def closed(self, reason: str) -> int:
        """Return how many connections it has closed for that."""
        return self.counted(f'connections_closed_total{{reason="{reason}"}}')


async def many(callers: Callers) -> None:
    """500 at the same time, with a connection each and with a new one for every review."""

    async def several() -> None:
        connection = await callers.connect()
        for _ in range(REVIEWS):
            await callers.ask(connection)
        connection.close()

    await together((several() for _ in range(CALLERS)), CALLERS)
    await together((callers.once() for _ in range(CALLERS * REVIEWS)), CALLERS)


async def idle(callers: Callers, server: Pressed) -> None:
    """10,000 connections, half of which had a review answered before: the server keeps what it has room for, and no more."""
    held: list[Connection] = []

    async def come(number: int) -> None:
        connection = await callers.connect()
        held.append(connection)
        if number % 2:
            await callers.ask(connection)

    before = server.closed("crowded")
    await together(come(number) for number in range(IDLE))
    assert await asyncio.to_thread(server.counted, "connections") <= LIMITS.connection_limit
    assert await asyncio.to_thread(server.closed, "crowded") - before >= IDLE - LIMITS.connection_limit
    for latest in held[-20:]:
        await callers.ask(latest)
    for connection in held:
        connection.close()


async def opened(callers: Callers, amount: int, *, tls: bool = True) -> list[Connection]:
    """Open so many connections and say nothing on them."""
    found: list[Connection] = []

    async def one() -> None:
        found.append(await callers.connect(tls=tls))

    await together(one() for _ in range(amount))
    return found


async def slow(callers: Callers, server: Pressed) -> None:
    """Headers and bodies by the byte, and handshakes of which nothing more comes: each is ended by the server."""
    before = {reason: server.closed(reason) for reason in ("slow", "handshake")}
    body = head(headers="Content-Type: application/json\r\nContent-Length: 1000\r\n") + b"\r\n"
    headers = head(headers="X-Slow: ")
    dripping = await opened(callers, 2 * SLOW)
    silent = await opened(callers, HALF_OPEN, tls=False)
    said = await asyncio.gather(
        *(drip(one, body if number % 2 else headers, b" ") for number, one in enumerate(dripping)),
        *(drip(one, HELLO, b"") for one in silent),
    )
    assert set(said) == {b""}
    assert await asyncio.to_thread(server.closed, "slow") - before["slow"] == 2 * SLOW
    assert await asyncio.to_thread(server.closed, "handshake") - before["handshake"] >= HALF_OPEN


async def press(scene: Scene, callers: Callers, server: Pressed) -> int:
    """Play one round; returns how many reviews of callers who behave were answered meanwhile."""
    async with callers, callers.behaving() as served:
        await many(callers)
        await idle(callers, server)
        await slow(callers, server)
        await together(hang_up(callers, scene.random) for _ in range(CUT))
    assert min(served.values()) > 100, served
    return served.total()


@pytest.mark.usefixtures("files")
async def test_crowds_idlers_and_rude_callers(scene: Scene, control_plane, tmp_path):
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "stamping.yaml").write_text(STAMPING.read_text())
    (policies / "even.yaml").write_text(POLICY)
    installed, port = Installation(control_plane, policies, tmp_path), free_ports(1)[0]
    behaved, sizes, rounds = 0, [], scene.often(ROUNDS)
    try:
        webhook = installed.start_webhook("serve", "--status-host=127.0.0.1", f"--status-port={port}")
        server, trust = Pressed(webhook, port), ssl.create_default_context(cafile=str(tmp_path / "certs/ca.crt"))
        connections, files, most = server.counted("connections"), server.files + FILES, webhook.resident_mib + GROWTH_MIB
        callers = Callers(installed.port, trust)
        for _ in range(rounds):
            behaved += await press(scene, callers, server)
            wait_for(lambda: server.counted("connections") <= connections, what="nobody is left")
            wait_for(lambda: server.files <= files, what=f"no more than {files} files are open")
            wait_for(lambda: webhook.resident_mib <= most, what=f"{most:.0f} MiB at most")
            sizes.append(webhook.resident_mib)
        print("MiB before:", round(most - GROWTH_MIB), "and after each round:", *map(round, sizes))
        assert set(callers.statuses) <= {200, 429}
        assert webhook.alive
        assert "Traceback" not in webhook.text()
        assert installed.is_called()
    finally:
        installed.close()
        print(installed.logs()[-20_000:])
    shed = callers.statuses[429]
    scene.done(
        f"{rounds} rounds of {CALLERS} callers, {IDLE:,} idle, {2 * SLOW + HALF_OPEN:,} slow, {CUT:,} cut",
        f"{callers.statuses[200]:,} verdicts, {behaved:,} of them of callers who behaved meanwhile, each its own; {shed:,} shed; "
        f"files as before, memory {sizes[-1] + GROWTH_MIB - most:+.0f} MiB",
    )
