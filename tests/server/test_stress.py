"""Callers that are many, slow, rude or no callers at all: real ones are answered meanwhile, and afterwards nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import shutil
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tests.server.running import MATERIAL, PATIENCE, Connection, Running, head, request, review, running, trust
from webhook.admission.configurations import _TIMEOUT_SECONDS
from webhook.server import listening
from webhook.server.deadlines import SHARE
from webhook.settings import EvaluationSettings, ServingSettings

CALLERS = 500
UNHURRIED = {"handshake_seconds": 60.0, "request_seconds": 60.0}
"""All handshakes go on side by side, so each takes as long as all of them."""
JSON = "Content-Type: application/json\r\n"


@pytest.fixture(autouse=True)
def quiet() -> object:
    """Keep a line for each of thousands of reviews out of the report."""
    with capture_logs():
        yield


async def bare(server: Running, sent: bytes = b"") -> Connection:
    """Open a connection without TLS."""
    connection = Connection(*await asyncio.open_connection("127.0.0.1", server.port))
    server.open.append(connection)
    await connection.send(sent)
    return connection


async def eventually(server: Running, name: str, at_least: float, **labels: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while server.counted(name, **labels) < at_least:  # noqa: ASYNC110 - counted by nobody who could tell
            await asyncio.sleep(0.01)


async def gone(server: Running) -> None:
    """Wait until no connection is left."""
    async with asyncio.timeout(PATIENCE):
        while server.counted("connections"):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


# --- many ---


async def test_500_callers_at_once_are_served_or_shed_in_words_while_health_is_told() -> None:
    """All of a body but its last byte is sent, so that all are there at the same time whatever the machine is busy with."""
    async with running(in_flight_limit=200, **UNHURRIED) as server:
        callers = await asyncio.gather(*(server.connect() for _ in range(CALLERS)))
        for caller in callers:
            await caller.send(request(review())[:-1])
        turned_away = {"path": "/validate/fail", "operation": "other", "kind": "", "verdict": "shed"}
        await eventually(server, "admission_requests_total", CALLERS - 200, **turned_away)
        assert (await server.get("/healthz")).status == 200
        assert (await server.get("/readyz")).status == 200
        for caller in callers:
            await caller.send(b"}")
        answers = await asyncio.gather(*(caller.answer() for caller in callers))
        assert Counter(answer.status for answer in answers) == {200: 200, 429: CALLERS - 200}
        shed = next(answer for answer in answers if answer.status == 429)
        assert (shed.text, shed.headers["retry-after"]) == ("200 reviews are being decided already; try again", "1")
        again = await asyncio.gather(*(caller.post(review()) for caller in callers[:200]))
        assert {answer.status for answer in again} == {200}


async def test_500_callers_that_come_without_a_warning_are_all_answered() -> None:
    async with running(**UNHURRIED) as server:
        answers = await asyncio.gather(*(server.post(review()) for _ in range(CALLERS)))
        assert Counter(answer.status for answer in answers) == {200: CALLERS}
        assert server.counted("connections") == CALLERS


async def test_idle_connections_keep_nobody_out() -> None:
    async with running(connection_limit=50) as server:
        regular = await server.connect()
        for _ in range(5):
            await asyncio.gather(*(server.connect() for _ in range(40)))
            assert (await regular.post(review())).status == 200
            assert (await server.post(review())).status == 200
        assert server.counted("connections") <= 50
        assert server.counted("connections_closed_total", reason="crowded") >= 5 * 41 + 1 - 50


async def test_connections_that_drip_their_headers_keep_nobody_out() -> None:
    async with running(connection_limit=20, request_seconds=60.0) as server:
        for _ in range(60):
            await (await server.connect()).send(head())
        assert (await server.post(review())).status == 200
        assert server.counted("connections") <= 20


async def test_callers_that_do_not_read_keep_nobody_out() -> None:
    async with running(connection_limit=4, request_seconds=60.0) as server:
        for index in range(3000):
            server.metrics.evaluated("p" * 1000 + str(index), "allow")  # a page of 3 MB, more than a socket takes
        for _ in range(6):
            deaf = await server.connect()
            deaf.writer.transport.pause_reading()
            await deaf.send(head("/metrics", method="GET") + b"\r\n")
        assert (await server.post(review())).status == 200
        assert server.counted("connections_closed_total", reason="crowded") >= 3


async def test_handshakes_that_never_end_keep_nobody_out() -> None:
    async with running(handshake_limit=4, handshake_seconds=60.0) as server:
        for _ in range(12):
            await bare(server, b"\x16\x03\x01\x02\x00\x01\x00")
            assert (await server.post(review())).status == 200
        await eventually(server, "connections_closed_total", 8, reason="handshake")
        assert server.counted("connections") == 12


# --- slow and rude ---

RUDE = [
    pytest.param(b"\x15\x03\x03\x00\x02\x02\x28", id="an alert instead of a handshake"),
    pytest.param(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", id="HTTP without TLS"),
    pytest.param(b"\x16\x03\x01\x40\x00" + b"\x00" * 1000, id="a handshake of zeroes"),
    pytest.param(b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000, id="a record that is too long"),
    pytest.param(b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10", id="SSL 2"),
    pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="half a hello"),
]


@pytest.mark.parametrize("sent", RUDE)
async def test_what_is_no_handshake_is_closed(sent: bytes) -> None:
    async with running(handshake_seconds=1.0) as server:
        rude = await bare(server, sent)
        assert b"HTTP" not in await rude.rest()
        await eventually(server, "connections_closed_total", 1, reason="handshake")
        assert (await server.post(review())).status == 200


class Shielded:
    """TLS over a plain connection whose bytes a test may spoil."""

    def __init__(self, plain: Connection, context: ssl.SSLContext) -> None:
        self.plain, self._in, self._out = plain, ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")

    async def shake(self) -> None:
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                await self.plain.send(self._out.read())
                return
            await self.plain.send(self._out.read())
            self._in.write(await self.plain.reader.read(65536))

    async def send(self, data: bytes) -> None:
        self._tls.write(data)
        await self.plain.send(self._out.read())


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(b"\x17\x03\x03\x00\x20" + b"\x00" * 32, id="a record of zeroes"),
        pytest.param(b"\x15\x03\x03\x00\x02\x02\x28", id="an alert in the clear"),
        pytest.param(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", id="a second hello"),
    ],
)
async def test_a_connection_whose_records_are_spoilt_is_closed_and_its_place_is_free(spoilt: bytes) -> None:
    async with running(request_seconds=60.0) as server:
        shielded = Shielded(await bare(server), trust())
        await shielded.shake()
        await shielded.send(request(review())[:-1])
        await shielded.plain.send(spoilt)
        assert b"HTTP" not in await shielded.plain.rest()
        await gone(server)
        assert (await server.post(review())).status == 200


@pytest.mark.skipif(shutil.which("openssl") is None, reason="only the openssl command asks for it")
async def test_nobody_renegotiates(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each would cost us a signature, without a new connection that is counted."""
    authority = tmp_path_factory.mktemp("tls") / "ca.crt"
    authority.write_bytes(MATERIAL.ca)
    async with running() as server:
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2", "-CAfile", str(authority)]
        done = await asyncio.to_thread(subprocess.run, command, input=b"R\n", capture_output=True, timeout=PATIENCE, check=False)
        said = (done.stdout + done.stderr).decode(errors="replace")
        assert "Verify return code: 0 (ok)" in said
        assert "RENEGOTIATING" in said
        assert "no renegotiation" in said


# --- HTTP that is odd ---


async def test_a_caller_that_asks_before_it_sends_is_told_to_go_on() -> None:
    async with running() as server:
        asking = await server.connect()
        whole = request(review(), headers="Expect: 100-continue\r\n")
        headers, _, body = whole.partition(b"\r\n\r\n")
        await asking.send(headers + b"\r\n\r\n")
        assert await asyncio.wait_for(asking.reader.readuntil(b"\r\n\r\n"), PATIENCE) == b"HTTP/1.1 100 Continue\r\n\r\n"
        await asking.send(body)
        assert (await asking.answer()).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [("Content-Type: text/plain\r\nContent-Length: 9\r\n", 415), (JSON + f"Content-Length: {1 << 40}\r\n", 413)],
)
async def test_a_caller_that_asks_is_refused_before_it_sends(headers: str, status: int) -> None:
    async with running() as server:
        asking = await server.connect()
        await asking.send(head(headers=headers + "Expect: 100-continue\r\n") + b"\r\n")
        assert (await asking.answer()).status == status


@pytest.mark.parametrize("headers", ["", "Connection: keep-alive\r\n"])
async def test_http_10_is_answered_and_closed(headers: str) -> None:
    async with running() as server:
        old = await server.connect()
        await old.send(request(review(), headers=headers).replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert (await old.answer()).status == 200
        assert await old.rest() == b""


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "TLS/1.3"])
async def test_an_upgrade_is_not_taken_up(protocol: str) -> None:
    async with running(request_seconds=0.3, keep_alive_seconds=1) as server:
        upgrading = await server.connect()
        wish = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AAMAAABk\r\n"
        await upgrading.send(request(review(), headers=wish))
        received = await upgrading.rest()
        assert b"HTTP/1.1 101" not in received
        assert b"uid" not in received
        assert (await server.post(review())).status == 200


async def test_requests_in_one_piece_are_answered_in_their_order() -> None:
    async with running() as server:
        eager = await server.connect()
        await eager.send(b"".join(request(review(f"job-{index}", uid=f"u-{index}")) for index in range(100)))
        answers = [await eager.answer() for _ in range(100)]
        assert [answer.json["response"]["uid"] for answer in answers] == [f"u-{index}" for index in range(100)]


CHUNKED = JSON + "Transfer-Encoding: chunked\r\n"
GARBAGE = [
    pytest.param(b"zz\r\n{}\r\n0\r\n\r\n", id="a size that is no number"),
    pytest.param(b"-1\r\n{}\r\n0\r\n\r\n", id="a negative size"),
    pytest.param(b"ffffffffffffffffff\r\n{}", id="a size beyond 64 bits"),
    pytest.param(b"2\r\n{}x\r\n0\r\n\r\n", id="more than was said"),
    pytest.param(b"2\r\n{}\r\n0\r\n\x00: \x00\r\n\r\n", id="a trailer that is none"),
]


@pytest.mark.parametrize("sent", GARBAGE)
async def test_chunks_that_are_none_are_refused_or_cut(sent: bytes) -> None:
    async with running(request_seconds=0.5) as server:
        connection = await server.connect()
        await connection.send(head(headers=CHUNKED) + b"\r\n" + sent)
        received = await connection.rest()
        assert b"allowed" not in received
        assert received.startswith(b"HTTP/1.1 4") or not received
        assert (await server.post(review())).status == 200


FLOODS = {
    "trailers": b"X-Flood: " + b"y" * 1000 + b"\r\n",
    "one trailer": b"y" * 1000,
    "chunk extensions": b"1;" + b"y" * 1000 + b"\r\n \r\n",
    "chunks of a byte": b"1\r\n \r\n" * 200,
}


@pytest.mark.parametrize("kind", FLOODS)
async def test_what_comes_beside_the_body_is_bounded_too(kind: str) -> None:
    begun = b"2\r\n{}\r\n0\r\n" if "trailer" in kind else b""
    async with running(request_seconds=60.0) as server:
        connection, sent = await server.connect(), 0
        await connection.send(head(headers=CHUNKED) + b"\r\n" + begun + (b"X: " if kind == "one trailer" else b""))
        with contextlib.suppress(ConnectionError, RuntimeError):
            while sent < 64 * 1024 * 1024 and not connection.writer.is_closing():
                await connection.send(FLOODS[kind])
                sent += len(FLOODS[kind])
                await asyncio.sleep(0)
        assert sent < 16 * 1024 * 1024
        assert server.counted("connections_closed_total", reason="headers") == 1
        assert (await server.post(review())).status == 200


async def test_chunks_of_a_usual_size_are_no_flood() -> None:
    body = review(padding="x" * 2_000_000)
    pieces = [body[at : at + 4096] for at in range(0, len(body), 4096)]
    async with running() as server:
        connection = await server.connect()
        await connection.send(head(headers=CHUNKED) + b"\r\n")
        for piece in pieces:
            await connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await connection.send(b"0\r\nX-Sum: 1\r\n\r\n")
        assert (await connection.answer()).status == 200


@pytest.mark.parametrize(
    "field",
    [pytest.param("a:\r\n", id="empty"), pytest.param("Cookie: x\r\n", id="the same"), pytest.param("a: b\r\n", id="short")],
)
async def test_many_small_headers_are_as_many_as_their_bytes(field: str) -> None:
    async with running() as server:
        few, many = await server.connect(), await server.connect()
        assert (await few.post(review(), headers=field * 500)).status == 200
        await many.send(request(review(), headers=field * 10_000))
        assert (await many.rest()).startswith(b"HTTP/1.1 431 ")


async def test_a_body_that_nobody_reads_does_not_take_the_clock_away() -> None:
    """Its answer is out after the headers; what comes then stops uvicorn's clock of idle connections, and ends in no request."""
    async with running(keep_alive_seconds=1) as server:
        rude = await server.connect()
        await rude.send(head(headers="Content-Type: text/plain\r\nContent-Length: 3\r\n") + b"\r\n")
        assert (await rude.answer()).status == 415
        for piece in (b"a", b"b", b"c"):
            await rude.send(piece)
            await server.get("/healthz")
        assert await rude.rest() == b""


# --- what the system gives ---


@contextlib.asynccontextmanager
async def files(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> AsyncIterator[list[tuple[int, int]]]:
    """Let the system have these limits of open files; yields what they were set to."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    yield asked


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "room"),
    [
        pytest.param(1024, 524_288, [(5256, 524_288)], 5000, id="raised as far as needed"),
        pytest.param(1024, 2256, [(2256, 2256)], 2000, id="raised as far as allowed"),
        pytest.param(1024, -1, [(5256, -1)], 5000, id="without a limit above"),
        pytest.param(-1, -1, [], 5000, id="without a limit"),
        pytest.param(65_536, 65_536, [], 5000, id="enough"),
        pytest.param(100, 100, [(100, 100)], 2, id="hardly any"),
    ],
)
async def test_open_files_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, asked: list[tuple[int, int]], room: int
) -> None:
    async with files(monkeypatch, soft, hard) as seen:
        assert listening.allow_files(5000) == room
        assert seen == asked


@pytest.mark.parametrize(("hard", "limits"), [(65_536, (4000, 1000)), (2256, (1600, 400)), (258, (1, 1))])
async def test_fewer_files_are_fewer_connections(monkeypatch: pytest.MonkeyPatch, hard: int, limits: tuple[int, int]) -> None:
    async with files(monkeypatch, 64, hard):
        assert listening.connection_limits(ServingSettings()) == limits


async def test_a_system_without_files_costs_one_idle_connection_and_no_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as server:
        idle = await server.connect()
        await idle.post(review())
        refusals, accept = iter([OSError(24, "Too many open files")]), socket.socket.accept

        def reluctant(listener: socket.socket) -> tuple[socket.socket, object]:
            for refusal in refusals:
                raise refusal
            return accept(listener)

        monkeypatch.setattr(socket.socket, "accept", reluctant)
        assert (await server.post(review())).status == 200
        assert await idle.rest() == b""


def test_the_limits_fit_together() -> None:
    """Whoever changes one of them finds here what it has to do with the others."""
    serving, evaluation = ServingSettings(), EvaluationSettings()
    assert evaluation.deadline_seconds < _TIMEOUT_SECONDS * SHARE
    assert serving.body_limit_bytes == 16 * 1024 * 1024
    assert serving.in_flight_limit_bytes >= 2 * serving.body_limit_bytes
    assert serving.keep_alive_seconds > 90 < serving.first_byte_seconds
    assert evaluation.deadline_seconds + serving.drain_seconds <= serving.shutdown_seconds
    assert serving.in_flight_limit >= CALLERS
