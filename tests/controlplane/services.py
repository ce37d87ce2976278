"""A stand-in for kube-proxy, for the API server's own calls: a Service's address leads to a ready pod of the stand-in kubelet.

The API server is told to dial cluster addresses through a proxy (egress selector, HTTP CONNECT over a Unix socket), which looks
up Service and EndpointSlices as they are and connects to loopback. So a chart's webhook Service is used as it stands.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

import yaml

from tests.controlplane.client import Client

SERVICES, SLICES = "v1/services", "discovery.k8s.io/v1/endpointslices"


class ServiceProxy:
    """Listens on a Unix socket; ``lead_to`` makes it useful once client and kubelet are there."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="gangwarden-egress-"))  # short: a socket's path has 107 bytes
        self._socket = self.directory / "proxy.sock"
        self._server = _Server(str(self._socket), _Handler)
        self._server.find = lambda _host, _port: None

    @property
    def config(self) -> Path:
        """Return the file for ``--egress-selector-config-file``."""
        path = self.directory / "egress.yaml"
        connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(self._socket)}}}
        selections = [{"name": "cluster", "connection": connection}]
        head = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
        path.write_text(yaml.safe_dump(head | {"egressSelections": selections}))
        return path

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._server.serve_forever, name="service-proxy", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def lead_to(self, client: Client, real_address: Callable[[str], str]) -> None:
        """Resolve addresses of Services by this client, and those of pods by ``real_address``."""
        self._server.find = lambda host, port: _endpoint(client, real_address, host, port)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    find: Callable[[str, int], tuple[str, int] | None]


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        """Answer one CONNECT, then carry bytes both ways until one side ends."""
        request = self.rfile.readline().split()
        while self.rfile.readline().strip():
            pass
        host, _, port = request[1].decode().rpartition(":")
        assert isinstance(self.server, _Server)
        found = self.server.find(host, int(port))
        try:
            if found is None:
                raise ConnectionRefusedError
            upstream = socket.create_connection(found, timeout=5)
        except OSError:
            self.wfile.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            return
        upstream.settimeout(None)
        with upstream:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            there = threading.Thread(target=_pump, args=(self.connection, upstream), daemon=True)
            there.start()
            _pump(upstream, self.connection)
            there.join(5)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _endpoint(client: Client, real_address: Callable[[str], str], host: str, port: int) -> tuple[str, int] | None:
    """Return where a ready pod behind a Service's address and port listens."""
    service = next((one for one in client.list(SERVICES) if one["spec"].get("clusterIP") == host), None)
    if service is None:
        return None
    meta = service["metadata"]
    name = next(one.get("name", "") for one in service["spec"]["ports"] if one["port"] == port)
    found = []
    for piece in client.list(SLICES, meta["namespace"], labels=f"kubernetes.io/service-name={meta['name']}"):
        target = next((one["port"] for one in piece.get("ports") or [] if one.get("name", "") == name), None)
        ready = [one for one in piece.get("endpoints") or [] if (one.get("conditions") or {}).get("ready")]
        found += [(real_address(one["addresses"][0]), target) for one in ready if target]
    return random.choice(found) if found else None
