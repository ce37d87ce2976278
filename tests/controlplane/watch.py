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
    watch = _Watch(cluster, f"{path_of(resource, namespace)}?watch=true&timeoutSeconds={LIFE_SECONDS}", take)
    watch.begin()
    try:
        yield
    finally:
        watch.end()
    if watch.failure:
        raise watch.failure


class _Watch:
    """One watch, which goes on where it was when the API server ends it: it does so to who reads too slowly on a busy machine."""

    def __init__(self, cluster: ControlPlane, path: str, take: Take) -> None:
        self._cluster, self._path, self._take = cluster, path, take
        self._ending = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"watch {path}", daemon=True)
        self._version = ""
        self.failure: Exception | None = None

    def begin(self) -> None:
        self._open()
        self._reader.start()

    def end(self) -> None:
        self._ending.set()
        with contextlib.suppress(OSError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread out of its reading
        self._reader.join(END_SECONDS)
        self._connection.close()

    def _open(self) -> None:
        self._connection = _connect(self._cluster)
        self._connection.request("GET", self._path + (f"&resourceVersion={self._version}" if self._version else ""))
        self._response = self._connection.getresponse()
        if self._response.status != 200:
            raise AssertionError(f"watch {self._path}: {self._response.status} {self._response.read()[:300]!r}")

    def _read(self) -> None:
        try:
            while self._read_to_the_end() and not self._ending.is_set():
                self._connection.close()
                self._open()
        except Exception as error:  # noqa: BLE001 - it is told where the watch was opened
            if not self._ending.is_set():
                self.failure = error

    def _read_to_the_end(self) -> bool:
        """Read until the API server ends it; True, for one that tells nothing more fails."""
        seen = self._version
        while line := self._response.readline():
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise AssertionError(f"watch {self._path}: {event['object']}")
            self._version = event["object"]["metadata"]["resourceVersion"]
            self._take(event, time.monotonic())
        if self._version == seen and not self._ending.is_set():
            raise AssertionError(f"watch {self._path}: the API server ended it again without having told anything")
        return True


def _connect(cluster: ControlPlane) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    context.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
    address = urlsplit(cluster.server)
    connection = http.client.HTTPSConnection(str(address.hostname), address.port or 443, context=context)
    connection.connect()
    return connection
