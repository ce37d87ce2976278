"""A running server on a free port, clients that speak TLS to it byte by byte, and a reviewer that does as it is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from webhook.certs import ClientAuthority, Material, Profile, Tls, mint_authority, mint_leaf
from webhook.errors import ReviewError
from webhook.model.access import Answers
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.verdicts import Admitted, Answer, Reviewed
from webhook.server import AccessAsker, Callers, Metrics, Reviewer, build_app, serve
from webhook.settings import EvaluationSettings, ServingSettings

PATIENCE = 30.0  # seconds until a test gives up; nothing measures time against it
Expired = Callable[[], bool]


def new_material() -> Material:
    now, profile = datetime.now(UTC), Profile()
    authority = mint_authority(profile, now)
    leaf = mint_leaf(profile, authority, now)
    return Material(ca=authority.certificate, ca_key=authority.key, certificate=leaf.certificate, key=leaf.key)


MATERIAL = new_material()


def trust(*materials: Material) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=b"".join(each.ca for each in materials or (MATERIAL,)).decode())


TRUSTING = trust()


def review(name: str = "train", **request: Any) -> bytes:
    """Return an AdmissionReview that creates a Job of this name."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "team"}}
    full = {
        "uid": "u-1",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "name": name,
        "namespace": "team",
        "operation": "CREATE",
        "userInfo": {},
        "object": job,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": full | request}).encode()


def admit(_name: str, _expired: Expired) -> Answer:
    return Admitted()


@dataclass
class Told:
    """A reviewer that answers by the object's name as a test says, and remembers what it was asked."""

    answer: Callable[[str, Expired], Answer] = admit
    asked: list[tuple[Phase, FailurePolicy, str]] = field(default_factory=list)

    def review(
        self,
        body: Object,
        *,
        phase: Phase,
        failure_policy: FailurePolicy,
        expired: Expired,
        answers: Answers | None = None,
        levels: int | None = None,
    ) -> Reviewed:
        if not isinstance(body, dict) or "request" not in body:
            raise ReviewError("the AdmissionReview has no request")
        name = body["request"]["name"]
        self.asked.append((phase, failure_policy, name))
        answer = self.answer(name, expired)
        allowed = isinstance(answer, Admitted)
        return Reviewed(document={"response": {"uid": body["request"]["uid"], "allowed": allowed}}, answer=answer)


class Response:
    """An answer, read whole."""

    def __init__(self, head: bytes, body: bytes) -> None:
        line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.status = int(line.split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}
        self.text = body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Connection:
    """One TLS connection, spoken to in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> Response:
        async with asyncio.timeout(PATIENCE):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = Response(head, b"").headers["content-length"]
            return Response(head, await self.reader.readexactly(int(length)))

    async def post(self, body: bytes, path: str = "/validate/fail", headers: str = "") -> Response:
        await self.send(request(body, path, headers))
        return await self.answer()

    async def rest(self) -> bytes:
        """Read until the server closes; this ends only if it does."""
        received = bytearray()
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                while chunk := await self.reader.read(65536):
                    received += chunk
        return bytes(received)

    def close(self) -> None:
        self.writer.transport.abort()


def head(path: str = "/validate/fail", headers: str = "", method: str = "POST") -> bytes:
    """Return the first lines of a request, without the empty one that ends them."""
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}".encode()


def request(body: bytes, path: str = "/validate/fail", headers: str = "") -> bytes:
    kind = "" if "content-type" in headers.lower() else "Content-Type: application/json\r\n"
    return head(path, f"{kind}Content-Length: {len(body)}\r\n{headers}") + b"\r\n" + body


@dataclass
class Running:
    """A server that runs."""

    port: int
    tls: Tls
    stop: asyncio.Event
    metrics: Metrics
    reviewer: Told
    task: asyncio.Task[None]
    open: list[Connection] = field(default_factory=list)

    async def connect(self, context: ssl.SSLContext | None = None) -> Connection:
        opened = asyncio.open_connection("127.0.0.1", self.port, ssl=context or TRUSTING, server_hostname="localhost")
        connection = Connection(*await asyncio.wait_for(opened, PATIENCE))
        self.open.append(connection)
        return connection

    async def post(self, body: bytes, path: str = "/validate/fail", headers: str = "") -> Response:
        return await (await self.connect()).post(body, path, headers)

    async def get(self, path: str, headers: str = "") -> Response:
        connection = await self.connect()
        await connection.send(head(path, headers, method="GET") + b"\r\n")
        return await connection.answer()

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"gangwarden_{name}", labels) or 0.0


@contextlib.asynccontextmanager
async def running(
    answer: Callable[[str, Expired], Answer] = admit,
    *,
    unmet: list[str] | None = None,
    evaluation: EvaluationSettings | None = None,
    evictions: Told | None = None,
    reviewer: Reviewer | None = None,
    clock: Callable[[], float] | None = None,
    access: AccessAsker | None = None,
    clients: ClientAuthority | None = None,
    callers: Callable[[Metrics, Tls], Callers] | None = None,
    **limits: Any,
) -> AsyncIterator[Running]:
    """Run a server with these limits until the block ends; without a reviewer it answers as the test says."""
    serving = ServingSettings(**({"host": "127.0.0.1", "port": 0, "drain_seconds": 0.0, "shutdown_seconds": 5} | limits))
    stop, metrics, told, tls = asyncio.Event(), Metrics(CollectorRegistry()), Told(answer), Tls(MATERIAL, clients)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    app = build_app(
        reviewer or told,
        lambda: unmet or [],
        metrics=metrics,
        serving=serving,
        evaluation=evaluation or EvaluationSettings(),
        stop=stop,
        evictions=evictions,
        access=access,
        callers=callers(metrics, tls) if callers else None,
        **({"clock": clock} if clock else {}),
    )
    task = asyncio.create_task(serve(app, tls.context, serving, stop=stop, started=port.set_result, metrics=metrics))
    await asyncio.wait({task, port}, return_when=asyncio.FIRST_COMPLETED)
    if not port.done():
        await task  # raises why
    server = Running(await port, tls, stop, metrics, told, task)
    try:
        yield server
    finally:
        stop.set()
        for connection in server.open:
            connection.close()
        await asyncio.wait_for(server.task, PATIENCE)
