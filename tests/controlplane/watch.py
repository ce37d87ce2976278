"""A watch of the API server that tells of every event at the moment it comes, for scenes where polling would miss some."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from tests.controlplane.client import path_of
from tests.controlplane.cluster import ControlPlane

Take = Callable[[dict[str, Any], float], None]
"""Called with an event, and with the monotonic time at which it came; from a thread of the watch."""
END_SECONDS = 10.0


@contextlib.contextmanager
def watching(cluster: ControlPlane, resource: str, namespace: str, take: Take) -> Iterator[None]:
    """Tell ``take`` of everything that is and that changes, until the block ends; what ``take`` raises is raised there."""
    connection = _open(cluster)
    connection.request("GET", f"{path_of(resource, namespace)}?watch=true")
    response = connection.getresponse()
    if response.status != 200:
        raise AssertionError(f"watch of {resource}: {response.status} {response.read()[:300]!r}")
    failures: list[Exception] = []
    reader = threading.Thread(target=_read, args=(response, take, failures), name=f"watch {resource}", daemon=True)
    reader.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread out of its reading
        reader.join(END_SECONDS)
        connection.close()
    if failures:
        raise failures[0]


def _open(cluster: ControlPlane) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    context.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
    address = urlsplit(cluster.server)
    connection = http.client.HTTPSConnection(str(address.hostname), address.port or 443, context=context)
    connection.connect()
    return connection


def _read(response: http.client.HTTPResponse, take: Take, failures: list[Exception]) -> None:
    while True:
        try:
            line = response.readline()
        except (OSError, ValueError, http.client.HTTPException):
            return  # the other thread has ended it
        if not line:
            return
        now = time.monotonic()
        try:
            take(json.loads(line), now)
        except Exception as error:  # noqa: BLE001 - it is told where the watch was opened
            failures.append(error)
            return
