"""A line to the API server: bytes out, bytes in, with credentials that stay fresh.

Everything of ``kubernetes.aio`` and ``aiohttp`` ends here. The typed client is not used: its models cost 17 times the
CPU and 36 times the memory of plain JSON on a list of 50,000 pods (measured).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Any, Self

import aiohttp
import structlog
from kubernetes.aio.client import ApiClient
from kubernetes.aio.config import ConfigException

from webhook.cluster.answers import Answer, decode, refusal
from webhook.cluster.credentials import Credentials, load_credentials
from webhook.errors import ClusterError, GangwardenError
from webhook.settings import ClusterSettings

_LOG = structlog.get_logger(__name__)
_REFRESH_PAUSE_SECONDS = 10.0
"""A refused token is read again at most this often, so that a wrong one does not double every call."""
_CLOCKS_AGREE = timedelta(seconds=10)
"""Less says nothing: an answer is dated in whole seconds, and read by a process that may be busy."""


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP call to the API server."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    """JSON to send; the library encodes it."""
    content_type: str = "application/json"


def user_agent() -> str:
    """Return ``gangwarden/VERSION``, by which the API server's audit log and metrics know us."""
    try:
        return f"gangwarden/{version('gangwarden')}"
    except PackageNotFoundError:  # run from a checkout that was not installed
        return "gangwarden/0"


async def connect(
    kubeconfig: str | None = None, context: str | None = None, *, settings: ClusterSettings | None = None, verify: bool = True
) -> Connection:
    """Open a connection by a kubeconfig, or inside a pod by its service account.

    With ``verify`` the API server is asked for its version, so that a wrong address or a refused identity is said at
    once. Raises ClusterError, or UsageError for a kubeconfig that is not there.
    """
    load = partial(load_credentials, kubeconfig, context)
    connection = Connection(load, await load(), settings or ClusterSettings())
    if verify:
        try:
            connection.server_version = await connection.fetch_version()
        except BaseException:
            await connection.close()
            raise
    return connection


class Connection:
    """An open connection. Closes with ``close()`` or ``async with``."""

    def __init__(self, load: Callable[[], Awaitable[Credentials]], first: Credentials, settings: ClusterSettings) -> None:
        self.server_version = ""
        self.settings = settings
        self._load = load
        self._credentials = first
        self._client = _client(first)
        self._retired: Any = None
        self._refreshed = float("-inf")
        self._refreshing = asyncio.Lock()
        self._dated, self._told_of_clock = ("", datetime.now(UTC)), False
        self._keeper = asyncio.create_task(self._keep_fresh(), name="cluster-credentials")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @property
    def server(self) -> str:
        """Return the address of the API server."""
        return str(self._credentials.configuration.host)

    @property
    def namespace(self) -> str:
        """Return the namespace of the kubeconfig's context, in which kubectl looks by default; empty where it names none."""
        return self._credentials.namespace

    def now(self) -> datetime:
        """Return the time by the API server's clock, which judges certificates, as far as its last answer tells.

        Answers carry whole seconds and travel; where the clocks agree as closely as that, our own is returned.
        """
        local = datetime.now(UTC)
        try:
            ahead = parsedate_to_datetime(self._dated[0]) - self._dated[1]
        except (ValueError, TypeError):  # TypeError: a date without a zone
            return local
        wrong = abs(ahead) > _CLOCKS_AGREE
        if wrong and not self._told_of_clock:
            _LOG.warning("the clock of this machine is wrong by the API server's", seconds=round(ahead.total_seconds()))
        self._told_of_clock = wrong
        return local + ahead if wrong else local

    async def close(self) -> None:
        """Close every stream and connection."""
        self._keeper.cancel()
        await asyncio.wait({self._keeper})
        for client in (self._client, self._retired):
            if client is not None:
                await client.close()

    async def fetch_version(self) -> str:
        """Ask for ``gitVersion``; anyone who may log in may read it."""
        answer = await self.call(Call("GET", "/version"), timeout_seconds=self.settings.request_seconds)
        found = decode(answer.body)
        if not answer.is_success or not isinstance(found, dict):
            raise refusal(answer, "connect", self.server)
        return str(found.get("gitVersion", ""))

    async def call(self, call: Call, *, timeout_seconds: float) -> Answer:
        """Make one call and read all of its answer; raises ClusterError when none came in time."""
        limits = aiohttp.ClientTimeout(total=timeout_seconds)
        answer = await self._answer(call, limits)
        if answer.status == 401 and await self._renew_refused():
            answer = await self._answer(call, limits)
        return answer

    async def lines(self, call: Call, *, key: str) -> AsyncGenerator[bytes, None]:
        """Yield an empty line when a watch is open, then its lines until it ends.

        Raises ClusterError on refusal, a broken stream or long silence.
        The lines are split here: aiohttp's ``readline`` refuses those above its buffer, and objects may be 3 MiB.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=self.settings.connect_seconds, sock_read=self.settings.idle_seconds
        )
        with self._translated("watch", key):
            response = await self._open(call, limits)
            try:
                if response.status != 200:
                    if response.status == 401:
                        await self._renew_refused()
                    raise refusal(await _read(response), "watch", key)
                yield b""
                parts: list[bytes] = []
                async for chunk in response.content.iter_any():
                    head, *rest = chunk.split(b"\n")
                    parts.append(head)
                    for following in rest:
                        yield b"".join(parts)
                        parts = [following]
            finally:
                _cut(response)

    async def _answer(self, call: Call, limits: aiohttp.ClientTimeout) -> Answer:
        with self._translated(call.method.lower(), call.path):
            response = await self._open(call, limits)
            self._dated = response.headers.get("Date", ""), datetime.now(UTC)
            return await _read(response)

    async def _open(self, call: Call, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        client = self._client
        method, url, headers, body, _ = await client.param_serialize(
            call.method,
            call.path,
            query_params=list(call.query),
            header_params={"Accept": "application/json", "Content-Type": call.content_type},
            body=call.body,
            auth_settings=["BearerToken"],
        )
        answer = await client.call_api(method, url, headers, body, _request_timeout=limits)
        response: aiohttp.ClientResponse = answer.response
        return response

    @contextlib.contextmanager
    def _translated(self, verb: str, key: str) -> Iterator[None]:
        """Turn what the transport raises into a ClusterError without a status: nobody answered."""
        try:
            yield
        except TimeoutError as error:
            text = f"{verb} {key}: {self.server} did not answer in time"
            raise ClusterError(text, verb=verb, key=key, reason="Timeout") from error
        except (aiohttp.ClientError, OSError, ConfigException) as error:
            text = f"{verb} {key}: {self.server} cannot be reached: {str(error) or type(error).__name__}"
            raise ClusterError(text, verb=verb, key=key, reason="Unreachable") from error

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(self.settings.credentials_seconds)
            if self._credentials.is_stale(datetime.now(UTC)):
                await self._refresh()

    async def _renew_refused(self) -> bool:
        """Read the credentials again because they were refused; False: that was done a moment ago."""
        if asyncio.get_running_loop().time() - self._refreshed < _REFRESH_PAUSE_SECONDS:
            return False
        return await self._refresh()

    async def _refresh(self) -> bool:
        """Read the credentials again; when that fails the old ones stay, with a word in the log."""
        async with self._refreshing:
            self._refreshed = asyncio.get_running_loop().time()
            try:
                fresh = await self._load()
                if _same_line(fresh, self._credentials):
                    self._client.configuration.api_key = fresh.configuration.api_key
                else:
                    await self._swap(_client(fresh))
            except (GangwardenError, OSError) as error:  # OSError: ssl.SSLError of a pair that does not fit (yet)
                _LOG.warning("credentials could not be read again; the old ones stay in use", error=str(error))
                return False
            self._credentials = fresh
            return True

    async def _swap(self, client: Any) -> None:
        """Use a new client from now on. Watches on the old one run on until they end, ten minutes at most."""
        former, self._retired, self._client = self._retired, self._client, client
        if former is not None:
            await former.close()


def _same_line(one: Credentials, other: Credentials) -> bool:
    """Tell whether only the token differs: one TLS context belongs to one ApiClient (kubernetes.aio.client.rest)."""
    a, b = one.configuration, other.configuration
    names = ("host", "ssl_ca_cert", "cert_file", "key_file", "verify_ssl", "tls_server_name", "proxy")
    return one.tls_stamp == other.tls_stamp and all(getattr(a, name) == getattr(b, name) for name in names)


async def _refuse_redirect(_session: object, _context: object, asked: aiohttp.TraceRequestRedirectParams) -> None:
    """Follow nobody: an API server never redirects, and what we send holds credentials, Secrets and other people's objects."""
    where = asked.response.headers.get("Location", "")[:200]
    asked.response.close()
    raise aiohttp.ClientError(f"it redirects to {where!r}, and only the address of the API server is spoken to")


def _client(credentials: Credentials) -> Any:
    traces = aiohttp.TraceConfig()
    traces.on_request_redirect.append(_refuse_redirect)
    credentials.configuration.trace_configs = [traces]
    try:
        client = ApiClient(credentials.configuration)
    except OSError as error:
        raise ClusterError(
            f"the certificates for {credentials.configuration.host} cannot be used: {error}", verb="connect"
        ) from error
    client.user_agent = user_agent()
    return client


def _cut(response: aiohttp.ClientResponse) -> None:
    """Close a stream at once: the farewell of TLS waits for the other side, for longer than the event loop may last."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


async def _read(response: aiohttp.ClientResponse) -> Answer:
    async with response:
        body = await response.read()
    after = response.headers.get("Retry-After", "")
    return Answer(response.status, body, float(after) if after.isdigit() else None)
