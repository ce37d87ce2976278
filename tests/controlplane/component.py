"""One program of the control plane as a child process: started apart from our terminal, logged to a file, ended by handle."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below Linux's ephemeral range (32768 and up), so that no outgoing connection takes a port before we bind it again."""
STOP_SECONDS = 5.0
"""The API server waits a minute for open watches to end by themselves; nothing is lost by killing it, etcd has the data."""
TAIL_LINES = 25


class ComponentError(Exception):
    """A program ended or did not become ready; the text carries the end of its log."""


class Component:
    """A program with its command line; it can be started and stopped again and again."""

    def __init__(self, name: str, command: Sequence[str], directory: Path) -> None:
        self.name, self.command, self.log = name, tuple(command), directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Tell whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Return the process id."""
        if self._process is None:
            raise ComponentError(f"{self.name} was not started")
        return self._process.pid

    def start(self) -> None:
        """Start the process; in a session of its own, so that Ctrl-C reaches us first and the order of ending is ours."""
        if self.is_running:
            raise ComponentError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def stop(self, *, kill: bool = False) -> None:
        """End the process by SIGTERM (or SIGKILL at once); one that does not listen is killed after a while."""
        if self._process is None:
            return
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL if kill else signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def tail(self) -> str:
        """Return the last lines of the log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(f"  {line}" for line in lines[-TAIL_LINES:])

    def failure(self, what: str) -> ComponentError:
        """Build the error that says what went wrong, with the end of the log."""
        return ComponentError(f"{self.name}: {what}; the end of {self.log}:\n{self.tail()}")


def free_ports(count: int) -> list[int]:
    """Choose loopback ports that nobody listens on just now; whoever binds them must be ready to lose the race."""
    chosen: list[int] = []
    candidates = random.sample(range(FIRST_PORT, LAST_PORT), 500)
    while len(chosen) < count:
        port = candidates.pop()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                chosen.append(port)
    return chosen
