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
LIFE_SECONDS = 86_400
"""The API server ends a watch after 30 to 60 minutes unless it is asked for more."""


@contextlib.contextmanager
def watching(cluster: ControlPlane, resource: str, namespace: str, take: Take) -> Iterator[None]:
    """Tell ``take`` of everything that is and that changes, until the block ends; what ``take`` raises is raised there."""
    connection = _open(cluster)
    connection.request("GET", f"{path_of(resource, namespace)}?watch=true&timeoutSeconds={LIFE_SECONDS}")
    response = connection.getresponse()
    if response.status != 200:
        raise AssertionError(f"watch of {resource}: {response.status} {response.read()[:300]!r}")
    failures: list[Exception] = []
    ending = threading.Event()
    reader = threading.Thread(target=_read, args=(response, take, failures, ending), name=f"watch {resource}", daemon=True)
    reader.start()
    try:
        yield
    finally:
        ending.set()
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


def _read(response: http.client.HTTPResponse, take: Take, failures: list[Exception], ending: threading.Event) -> None:
    ended: Exception
    try:
        while line := response.readline():
            take(json.loads(line), time.monotonic())
        ended = AssertionError("the API server ended the watch")
    except Exception as error:  # noqa: BLE001 - it is told where the watch was opened
        ended = error
    if not ending.is_set():
        failures.append(ended)
