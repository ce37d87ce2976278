"""Callers of a webhook process who are many, idle, slow or rude, and those who behave meanwhile and check every verdict."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from itertools import count
from random import Random
from typing import Self

from tests import builders
from tests.server.running import PATIENCE, Connection, head, request

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: even}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
  matchConditions: [{name: pressed, expression: object.metadata.name.startsWith('pressed-')}]
  validations:
  - expression: object.spec.parallelism % 2 == 0
    messageExpression: "'no to ' + object.metadata.name"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: even}
spec: {policyName: even, validationActions: [Deny]}
"""
"""Half of the reviews here are refused, each in words of its own: an answer that went astray is seen."""
AT_ONCE = 100
"""How many connections are opened at the same time, where they are thousands."""
DRIP_SECONDS = 0.5
"""Between two bytes of a slow caller: far below any clock of a server that starts anew with each byte."""
PACE_SECONDS = 0.02
"""Between two reviews of a caller who behaves, so that what is measured is the crowd and not him."""
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""The beginning of a handshake."""


class Callers:
    """All callers of one server, and what came of their reviews."""

    def __init__(self, port: int, trusting: ssl.SSLContext) -> None:
        self._port, self._context, self._numbers = port, trusting, count()
        self.statuses: Counter[int] = Counter()
        self._opened: list[Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        await asyncio.sleep(0)  # in which the event loop forgets them

    async def connect(self, *, tls: bool = True) -> Connection:
        """Open a connection, with its handshake or without; it is closed with the callers at the latest."""
        shielded = {"ssl": self._context, "server_hostname": "localhost"} if tls else {}
        opening = asyncio.open_connection("127.0.0.1", self._port, **shielded)
        connection = Connection(*await asyncio.wait_for(opening, PATIENCE))
        self._opened.append(connection)
        return connection

    async def ask(self, connection: Connection, headers: str = "") -> int:
        """Have a new review answered; AssertionError unless that is its own verdict, or 429 in words. Returns the status."""
        number = next(self._numbers)
        name, uid = f"pressed-{number}", f"u-{number}"
        made = builders.review(builders.job(name).parallelism(number).build(), uid=uid)
        answer = await connection.post(json.dumps(made).encode(), headers=headers)
        self.statuses[answer.status] += 1
        if answer.status == 429:
            assert answer.headers["retry-after"], answer.text
            assert "try again" in answer.text
            return 429
        said = answer.json["response"] if answer.status == 200 else {}
        words = said.get("status", {}).get("message", "")
        assert (said.get("uid"), said.get("allowed")) == (uid, number % 2 == 0), f"{name}: {answer.status} {answer.text}"
        assert said["allowed"] or f"no to {name}" in words, answer.text
        return 200

    async def once(self) -> int:
        """Have a review answered on a connection that ends with it, as the caller wishes."""
        connection = await self.connect()
        status = await self.ask(connection, headers="Connection: close\r\n")
        assert await connection.rest() == b""
        connection.close()
        return status

    @contextlib.asynccontextmanager
    async def behaving(self) -> AsyncIterator[Counter[str]]:
        """Have two callers who behave served all the while, one of them on one connection; yields how many reviews they had.

        AssertionError, or an error of the connection, in the block's place if a single one was not.
        """
        served: Counter[str] = Counter()
        ended = asyncio.Event()

        async def repeat(kind: str, ask: Callable[[], Awaitable[int]]) -> None:
            while not ended.is_set():
                assert await ask() == 200, f"{kind}: shed"
                served[kind] += 1
                await asyncio.sleep(PACE_SECONDS)

        lasting = await self.connect()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(repeat("on one connection", lambda: self.ask(lasting)))
            tasks.create_task(repeat("on a new one each", self.once))
            try:
                yield served
            finally:
                ended.set()


async def together(made: Iterable[Awaitable[object]], at_once: int = AT_ONCE) -> None:
    """Await all of them, so many at the same time; the first error ends it."""
    places = asyncio.Semaphore(at_once)

    async def placed(one: Awaitable[object]) -> None:
        async with places:
            await one

    async with asyncio.TaskGroup() as tasks:
        for one in made:
            tasks.create_task(placed(one))


async def drip(connection: Connection, begun: bytes, piece: bytes) -> bytes:
    """Begin a request and go on with it by a byte now and then, until the server ends it; returns what it said."""
    ended = asyncio.create_task(connection.rest())
    with contextlib.suppress(ConnectionError, RuntimeError):
        await connection.send(begun)
        while not (await asyncio.wait({ended}, timeout=DRIP_SECONDS))[0]:
            await connection.send(piece)
    return await ended


async def hang_up(callers: Callers, random: Random) -> None:
    """End a connection in the middle of something."""
    whole = request(json.dumps(builders.review(builders.job("pressed-cut").build())).encode())
    begun = random.choice((HELLO[: random.randrange(len(HELLO))], head(), whole[: random.randrange(len(whole))], whole))
    connection = await callers.connect(tls=begun not in HELLO)
    await connection.send(begun)
    connection.close()
