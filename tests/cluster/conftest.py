"""A fake API server, and the room's own connection to it with times that suit a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.fake_api import FakeApi
from webhook.cluster import Api, Connection, connect
from webhook.settings import ClusterSettings

QUICK = ClusterSettings(
    request_seconds=2.0,
    idle_seconds=0.5,
    page_size=2,
    backoff_initial_seconds=0.02,
    backoff_limit_seconds=0.4,
    credentials_seconds=0.05,
)


@pytest.fixture
async def fake() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    yield server
    server.resume()
    await server.stop()


@pytest.fixture
async def connection(fake: FakeApi, tmp_path: Path) -> AsyncIterator[Connection]:
    async with await connect(fake.kubeconfig(tmp_path), settings=QUICK) as opened:
        yield opened


@pytest.fixture
def api(connection: Connection) -> Api:
    return Api.over(connection)
