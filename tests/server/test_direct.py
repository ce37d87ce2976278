"""What is answered at once and what goes the way of all requests is answered alike, byte for byte but for the date."""

from __future__ import annotations

import asyncio
import re

import pytest
from starlette.responses import Response

from tests.server.running import Connection, Running, Told, head, request, review, running
from webhook.errors import ReviewError
from webhook.model.verdicts import Answer, Denied
from webhook.server.direct import _split
from webhook.server.reviewing import ReviewHandler

DATE = re.compile(rb"date: [^\r]+\r\n")
BODY = review()


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which reviews took the way of all requests."""
    taken: list[str] = []
    handle = ReviewHandler.handle

    async def noted(self: ReviewHandler, asked: object) -> Response:
        taken.append(self._endpoint.path)
        return await handle(self, asked)

    monkeypatch.setattr(ReviewHandler, "handle", noted)
    return taken


async def raw(connection: Connection, sent: bytes) -> bytes:
    """Send a request and return the answer as it came, without its date."""
    await connection.send(sent)
    lines = await connection.reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", lines)
    assert length
    return DATE.sub(b"", lines + await connection.reader.readexactly(int(length[1])))


async def test_an_api_server_s_reviews_are_answered_at_once(slowly: list[str]) -> None:
    async with running() as server:
        connection = await server.connect()
        for size in (0, 0, 5, 70_000, 0, 30):
            assert (await connection.post(review(padding="x" * size))).status == 200
        assert slowly == []
        assert len(server.reviewer.asked) == 6
        assert (
            server.counted("admission_requests_total", path="/validate/fail", operation="CREATE", kind="Job", verdict="allow")
            == 6
        )


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param("Expect: none\r\n", id="expects something"),
        pytest.param("Content-Type: application/json; charset=utf-8\r\n", id="a parameter"),
        pytest.param("Connection: close\r\n", id="wants to close"),
        pytest.param("X-One: 1\r\nX-One: 2\r\n", id="the same header twice"),
    ],
)
@pytest.mark.parametrize("body", [BODY, b"{", review(operation="NOTHING")], ids=["good", "no JSON", "bad"])
async def test_both_ways_say_the_same(slowly: list[str], odd: str, body: bytes) -> None:
    async with running() as server:
        at_once = [await raw(connection, request(body)) for connection in [await server.connect()] for _ in range(3)]
        assert slowly == []
        other = await raw(await server.connect(), request(body, headers=odd))
        assert slowly == ["/validate/fail"]
        assert {*at_once, other.replace(b"connection: close\r\n", b"")} == {at_once[0]}


def refuse(name: str, _expired: object) -> Answer:
    if name == "busy":
        raise ReviewError("too much is going on", status=429)
    if name == "bug":
        raise RuntimeError("secret")
    return Denied(message="no")


@pytest.mark.parametrize(("name", "status"), [("train", 200), ("busy", 429), ("bug", 500)])
async def test_refusals_and_bugs_are_told_at_once_too(slowly: list[str], name: str, status: int) -> None:
    async with running(refuse) as server:
        connection = await server.connect()
        answers = [await connection.post(review(name)) for _ in range(3)]
        assert [answer.status for answer in answers] == [status] * 3
        assert [answer.headers.get("retry-after") for answer in answers] == ["1" if status == 429 else None] * 3
        assert slowly == []
        assert "secret" not in answers[0].text


async def test_requests_that_come_together_are_answered_in_their_order(slowly: list[str]) -> None:
    async with running() as server:
        connection = await server.connect()
        await connection.post(review())
        names = [f"job-{number}" for number in range(6)]
        sent = [request(review(name, uid=name), headers="Expect: none\r\n" if name == "job-2" else "") for name in names]
        await connection.send(b"".join(sent))
        told = [(await connection.answer()).json["response"]["uid"] for _ in names]
        assert told == names
        assert "/validate/fail" in slowly


async def test_a_known_head_does_not_let_a_larger_body_pass() -> None:
    async with running(body_limit_bytes=len(BODY)) as server:
        connection = await server.connect()
        assert [(await connection.post(BODY)).status for _ in range(3)] == [200] * 3
        assert (await connection.post(BODY + b" ")).status == 413


async def test_a_review_in_pieces_is_answered_when_its_last_byte_comes(slowly: list[str]) -> None:
    async with running() as server:
        connection = await server.connect()
        for cut in (1, 40, len(request(BODY)) - 1):
            sent = request(BODY)
            await connection.send(sent[:cut])
            await asyncio.sleep(0.01)
            await connection.send(sent[cut:])
            assert (await connection.answer()).status == 200
        assert slowly == []


async def test_a_caller_who_hangs_up_in_a_body_gives_its_place_back() -> None:
    async with running(in_flight_limit=1) as server:
        begun = await server.connect()
        await begun.send(request(BODY)[:-1])
        await _until(server, 429)
        begun.close()
        await _until(server, 200)
        assert (
            server.counted("admission_requests_total", path="/validate/fail", operation="other", kind="", verdict="abandoned")
            == 1
        )


async def _until(server: Running, status: int) -> None:
    async with asyncio.timeout(60):
        while (await server.post(BODY)).status != status:
            pass


async def test_other_paths_and_methods_are_none_of_its_business() -> None:
    async with running(evictions=Told()) as server:
        connection = await server.connect()
        assert (await connection.post(BODY, "/nowhere")).status == 404
        assert (await connection.post(BODY, "/evictions")).status == 200
        await connection.send(head(method="GET") + b"\r\n")
        assert (await connection.answer()).status == 405


@pytest.mark.parametrize(
    ("data", "shape", "body"),
    [
        (b"P\r\nContent-Length: 2\r\nA: b\r\n\r\n{}", b"P\r\nContent-Length: \r\nA: b\r\n\r\n", b"{}"),
        (b"P\r\nContent-Length: 3\r\n\r\n{}", b"", b""),
        (b"P\r\nContent-Length: 1\r\n\r\n{}", b"", b""),
        (b"P\r\nContent-Length: 02\r\n\r\n{}", b"", b""),
        (b"P\r\nContent-Length: +2\r\n\r\n{}", b"", b""),
        (b"P\r\nContent-Length: 0\r\n\r\n", b"", b""),
        (b"P\r\nX: 1\r\n\r\n\r\nContent-Length: 2\r\n{}", b"", b""),
        (b"P\r\ncontent-length: 2\r\n\r\n{}", b"", b""),
        (b"P\r\nContent-Length: 2", b"", b""),
        (b"", b"", b""),
    ],
)
def test_only_a_whole_request_is_taken_apart(data: bytes, shape: bytes, body: bytes) -> None:
    assert _split(data) == (shape, body)
