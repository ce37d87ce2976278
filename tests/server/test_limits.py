"""Every limit over a real TLS socket, with small values: who is slow or too large is cut, the rest is served."""

import asyncio
import contextlib
import threading

import pytest

from tests.server.running import PATIENCE, Connection, Expired, Running, head, request, review, running
from webhook.model.verdicts import Admitted, Answer

LONG = 60.0  # a limit that no test reaches


async def drip(connection: Connection, data: bytes = b"x") -> None:
    """Send a byte now and then until the server has had enough."""
    with contextlib.suppress(ConnectionError, RuntimeError):
        while not connection.writer.is_closing():
            await connection.send(data)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"P", id="one byte"),
        pytest.param(head(), id="headers without an end"),
        pytest.param(
            head(headers="Content-Type: application/json\r\nContent-Length: 100\r\n") + b"\r\n", id="headers without a body"
        ),
        pytest.param(request(review())[:-10], id="a body without its end"),
        pytest.param(
            head(headers="Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n") + b"\r\n5\r\nab", id="half a chunk"
        ),
    ],
)
@pytest.mark.parametrize("dripping", [False, True], ids=["stalls", "drips"])
async def test_a_request_that_never_ends_is_cut(begun: bytes, *, dripping: bool) -> None:
    async with running(request_seconds=0.2, first_byte_seconds=LONG) as server:
        slow = await server.connect()
        await slow.send(begun)
        dripper = asyncio.create_task(drip(slow) if dripping and not begun.endswith(b"\r\n") else asyncio.sleep(0))
        assert b"HTTP/1.1 200" not in await slow.rest()
        slow.close()
        await dripper
        assert (await server.post(review())).status == 200


async def test_a_dripping_body_is_cut() -> None:
    async with running(request_seconds=0.2) as server:
        slow = await server.connect()
        await slow.send(head(headers="Content-Type: application/json\r\nContent-Length: 100000\r\n") + b"\r\n")
        dripper = asyncio.create_task(drip(slow))
        assert await slow.rest() == b""
        slow.close()
        await dripper


async def test_a_silent_connection_is_closed_after_its_own_time() -> None:
    async with running(first_byte_seconds=0.1) as server:
        assert await (await server.connect()).rest() == b""


async def test_a_silent_connection_outlives_the_time_for_requests() -> None:
    async with running(request_seconds=0.1, first_byte_seconds=LONG) as server:
        silent, stalled = await server.connect(), await server.connect()
        await stalled.send(b"POST")
        await stalled.rest()  # the clock of requests has run out by now
        assert (await silent.post(review())).status == 200


async def test_an_idle_connection_outlives_the_time_for_requests() -> None:
    async with running(request_seconds=0.1) as server:
        idle, stalled = await server.connect(), await server.connect()
        assert (await idle.post(review())).status == 200
        await stalled.send(b"POST")
        await stalled.rest()
        assert (await idle.post(review())).status == 200


async def test_an_idle_connection_is_closed_in_the_end() -> None:
    async with running(keep_alive_seconds=0) as server:
        idle = await server.connect()
        await idle.post(review())
        assert await idle.rest() == b""


async def test_blank_lines_do_not_keep_a_connection_for_ever() -> None:
    async with running(keep_alive_seconds=1) as server:
        idle = await server.connect()
        await idle.post(review())
        await idle.send(b"\r\n")
        assert await idle.rest() == b""


async def test_a_connection_without_a_handshake_is_closed() -> None:
    async with running(handshake_seconds=0.1) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        bare = Connection(reader, writer)
        assert await bare.rest() == b""
        bare.close()


@pytest.mark.parametrize("pieces", [1, 40], ids=["at once", "in pieces"])
async def test_headers_over_the_cap_are_refused(pieces: int) -> None:
    async with running(header_limit_bytes=4096) as server:
        connection = await server.connect()
        with contextlib.suppress(ConnectionError):
            for index in range(pieces):
                field = f"X-{index}: {'y' * (8000 // pieces)}\r\n"
                await connection.send(head(headers=field) if index == 0 else field.encode())
            await connection.send(b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        assert (await connection.rest()).startswith(b"HTTP/1.1 431 ")
        assert (await server.post(review())).status == 200


async def test_a_long_path_counts_as_a_header() -> None:
    async with running(header_limit_bytes=4096) as server:
        connection = await server.connect()
        await connection.send(head("/validate/fail?" + "x" * 5000) + b"\r\n")
        assert (await connection.rest()).startswith(b"HTTP/1.1 431 ")


async def test_the_cap_counts_each_request_anew() -> None:
    async with running(header_limit_bytes=4096) as server:
        connection = await server.connect()
        for _ in range(4):
            assert (await connection.post(review(), headers=f"X-Pad: {'y' * 2000}\r\n")).status == 200


async def test_a_flood_of_headers_ends_early() -> None:
    async with running() as server:
        connection = await server.connect()
        sent = 0
        await connection.send(head())
        with contextlib.suppress(ConnectionError, RuntimeError):
            while sent < 64 * 1024 * 1024 and not connection.writer.is_closing():
                await connection.send(b"X-Flood: " + b"y" * 16_000 + b"\r\n")
                sent += 16_000
                await asyncio.sleep(0)
        assert sent < 16 * 1024 * 1024


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
async def test_a_body_over_the_cap_is_answered_and_the_upload_ends(*, chunked: bool) -> None:
    async with running(body_limit_bytes=100_000) as server:
        connection = await server.connect()
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {64 * 1024 * 1024}"
        await connection.send(head(headers=f"Content-Type: application/json\r\n{length}\r\n") + b"\r\n")
        piece = (b"4e20\r\n" if chunked else b"") + b"x" * 20_000 + (b"\r\n" if chunked else b"")
        uploading = asyncio.create_task(drip(connection, piece))
        answer = await connection.answer()
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        await connection.rest()
        connection.close()
        await uploading
        assert server.reviewer.asked == []


async def test_a_body_just_within_the_cap_is_decided() -> None:
    body = review()
    async with running(body_limit_bytes=len(body)) as server:
        assert (await server.post(body)).status == 200
        assert (await server.post(body + b" ")).status == 413


async def begin(connection: Connection, size: int) -> None:
    """Send all of a body but its last byte."""
    body = review(padding="x" * size)
    await connection.send(request(body)[:-1])


async def eventually(server: Running, status: int) -> None:
    """Ask until the answer has this status."""
    async with asyncio.timeout(PATIENCE):
        while (answer := await server.post(review())).status != status:
            pass
    if status == 429:
        assert answer.headers["retry-after"] == "1"


async def test_more_reviews_than_fit_are_shed_and_places_are_given_back() -> None:
    async with running(in_flight_limit=2) as server:
        held = [await server.connect() for _ in range(2)]
        for connection in held:
            await begin(connection, 10)
        await eventually(server, 429)
        await held[0].send(b"}")
        assert (await held[0].answer()).status == 200
        held[1].close()
        await eventually(server, 200)
        assert server.counted("admission_requests_total", path="/validate/fail", operation="other", kind="", verdict="shed") >= 1


async def test_more_bytes_than_fit_are_shed_and_given_back() -> None:
    async with running(in_flight_limit_bytes=100_000) as server:
        holding = await server.connect()
        await begin(holding, 99_500)
        await eventually(server, 429)
        await holding.send(b"}")
        assert (await holding.answer()).status == 200
        await eventually(server, 200)


async def test_announcing_a_large_body_takes_nobody_s_place() -> None:
    async with running(in_flight_limit_bytes=100_000) as server:
        liar = await server.connect()
        await liar.send(head(headers="Content-Type: application/json\r\nContent-Length: 99999\r\n") + b"\r\n{")
        assert (await server.post(review())).status == 200


async def test_over_the_cap_the_connection_that_rests_longest_is_closed() -> None:
    async with running(connection_limit=2) as server:
        first, second = await server.connect(), await server.connect()
        assert (await second.post(review())).status == (await first.post(review())).status == 200
        assert (await server.post(review())).status == 200
        assert await second.rest() == b""
        assert (await first.post(review())).status == 200
        assert server.counted("connections_closed_total", reason="crowded") == 1


async def test_the_newest_is_closed_only_where_all_others_are_being_answered() -> None:
    begun, go = threading.Event(), threading.Event()

    def wait(_name: str, _expired: Expired) -> Answer:
        begun.set()
        assert go.wait(PATIENCE)
        return Admitted()

    async with running(wait, connection_limit=1, inline_limit_bytes=0) as server:
        busy = await server.connect()
        await busy.send(request(review()))
        await asyncio.to_thread(begun.wait, PATIENCE)
        assert await (await server.connect()).rest() == b""
        assert server.counted("connections_closed_total", reason="full") == 1
        go.set()
        assert (await busy.answer()).status == 200


async def test_a_hundred_callers_at_once_are_all_answered() -> None:
    async with running(in_flight_limit=50) as server:
        connections = [await server.connect() for _ in range(100)]
        answers = await asyncio.gather(*(each.post(review()) for each in connections))
        assert {answer.status for answer in answers} <= {200, 429}
        assert {(await each.post(review())).status for each in connections} == {200}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x16\x03\x01 hello\r\n\r\n", id="no HTTP"),
        pytest.param(b"POST /%ff%00\xff HTTP/1.1\r\nHost: x\r\n\r\n", id="a path that is no text"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="two lengths"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
    ],
)
async def test_what_is_no_request_is_refused(sent: bytes) -> None:
    async with running(request_seconds=1.0, keep_alive_seconds=1) as server:
        connection = await server.connect()
        await connection.send(sent)
        assert b" 200 " not in await connection.rest()
        assert (await server.post(review())).status == 200


async def test_a_caller_that_does_not_read_is_cut() -> None:
    async with running(request_seconds=0.2, header_limit_bytes=1 << 20) as server:
        for _ in range(3000):
            server.metrics.evaluated("p" * 1000 + str(_), "allow")  # a page of 3 MB
        connection = await server.connect()
        connection.writer.transport.pause_reading()
        await connection.send((head("/metrics", method="GET") + b"\r\n") * 20)
        async with asyncio.timeout(PATIENCE):
            while not connection.writer.is_closing():
                with contextlib.suppress(ConnectionError):
                    await connection.send(b"\r\n")
                await asyncio.sleep(0.01)
