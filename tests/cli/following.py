"""A command that goes on until Ctrl-C, as a process, and what it has said so far."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0  # seconds until a test gives up; nothing measures time against it


class Following:
    """A running command that says something anew after every edit."""

    def __init__(self, folder: Path, *args: str) -> None:
        command = [str(Path(sys.executable).parent / "gangwarden"), *args]
        self.folder, self.text, self._seen = folder, "", 0
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.text += line

    def hear(self, words: str) -> None:
        """Wait until something new with these words was said."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.text[self._seen :]:
            assert time.monotonic() < deadline, f"never said {words!r}, but: {self.text[self._seen :]}"
            assert self.process.poll() is None, self.text
            time.sleep(0.02)
        self._seen += self.text[self._seen :].index(words) + len(words)

    def save(self, name: str, before: str, after: str) -> None:
        """Replace a part of a file."""
        path = self.folder / name
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    def end(self) -> int:
        """Press Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def close(self) -> None:
        """Leave nothing running."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def following(folder: Path, *args: str) -> Iterator[Following]:
    """Run a command in a folder, and end it whatever becomes of the test."""
    running = Following(folder, *args)
    try:
        yield running
    finally:
        running.close()
