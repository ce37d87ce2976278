"""How a connection ends: at once, whatever the other side does."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from tests.cluster.fake_api import FakeApi
from tests.cluster.test_connection import serving
from tests.controlplane.certificates import Authority
from webhook.cluster import connect
from webhook.cluster.connection import Call

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextlib.contextmanager
def silent(context: ssl.SSLContext) -> Iterator[int]:
    """A server that begins to answer its first caller and then neither speaks nor listens; the connection stays."""
    ended = threading.Event()

    def answer() -> None:
        with contextlib.suppress(OSError), context.wrap_socket(listener.accept()[0], server_side=True) as caller:
            caller.recv(65536)
            caller.sendall(HEAD)
            ended.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            thread.join(60)


async def watch_and_leave(kubeconfig: str) -> None:
    async with (
        await connect(kubeconfig, verify=False) as connection,
        contextlib.aclosing(connection.lines(Call("GET", "/watch"), key="watch")) as lines,
    ):
        assert await anext(lines) == b""


@pytest.mark.filterwarnings("error")
def test_a_process_ends_while_the_api_server_says_no_farewell(tmp_path: Path) -> None:
    """A watch is always open, and uvloop cannot close a loop with a TLS connection that still waits for the other side."""
    authority = Authority("silent")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    with silent(serving(tmp_path, authority)) as port:
        fake = FakeApi(tls=ssl.create_default_context(), port=port)
        uvloop.run(watch_and_leave(fake.kubeconfig(tmp_path, ca=str(tmp_path / "ca.crt"))))
