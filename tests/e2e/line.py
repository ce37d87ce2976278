"""A line to the API server that a test may cut: what is sent then is lost, and nobody is told."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from typing import Self
from urllib.parse import urlsplit

from tests.controlplane.cluster import ControlPlane


class Line:
    """Listens on loopback and carries bytes to the API server and back."""

    def __init__(self, cluster: ControlPlane) -> None:
        address = urlsplit(cluster.server)
        self.there = (str(address.hostname), address.port or 443)
        self.is_cut = False
        self.open: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.line = self

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._server.serve_forever, name="line", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more, and drop what is open."""
        self._server.shutdown()
        self._server.server_close()
        self.mend()

    @property
    def url(self) -> str:
        """Where to call instead of the API server."""
        return f"https://127.0.0.1:{self._server.server_address[1]}"

    def cut(self) -> None:
        """Lose everything that is sent from now on; connections stay open."""
        self.is_cut = True

    def mend(self) -> None:
        """Carry what is sent over new connections; those in which something was lost are dropped."""
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.is_cut = False


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    line: Line


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        line = self.server.line
        with contextlib.suppress(OSError), socket.create_connection(line.there) as upstream:
            ends = {self.request, upstream}
            line.open |= ends
            back = threading.Thread(target=_carry, args=(line, upstream, self.request), daemon=True)
            back.start()
            _carry(line, self.request, upstream)
            back.join()
            line.open -= ends


def _carry(line: Line, source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if not line.is_cut:
                sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
