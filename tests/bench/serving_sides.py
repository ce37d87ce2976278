"""The servers that are compared over HTTPS: built, started on loopback, and ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.controlplane.build import Program, ensure_program
from webhook.certs import Profile, mint_authority, mint_leaf

ROOT = Path(__file__).resolve().parents[2]
ANCHOR = "anchors/go-webhook"
OURS = "ours"
ENGINES = ("apiserver", "lean")
LOAD = Program("load", "./", module=Path(__file__).resolve().parent / "load")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What was built."""

    load: Path
    anchor: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A server that runs."""

    name: str
    url: str
    pid: int


def anchor_folder() -> Path | None:
    """Return the folder of the anchor, which a bare clone does not carry."""
    found = Path(os.environ.get("GANGWARDEN_SHARED", "") or ROOT.parent / "shared") / ANCHOR
    return found if (found / "go.mod").is_file() else None


def tools(folder: Path) -> Tools:
    """Build generator and anchor into the cache; raises BuildError."""
    return Tools(load=ensure_program(LOAD), anchor=ensure_program(Program("go-webhook", "./", module=folder)))


def bodies(folder: Path, scratch: Path) -> Sequence[Path]:
    """Write the bodies, by the anchor's own script."""
    subprocess.run([sys.executable, folder / "bench" / "bodies.py", "--out", scratch], check=True, capture_output=True)
    return scratch / "large.json", scratch / "small.json"


def certificate(scratch: Path) -> None:
    """Write the certificate that all servers serve: ECDSA P-256, as the webhook makes for itself."""
    profile, now = Profile(), datetime.now(UTC)
    leaf = mint_leaf(profile, mint_authority(profile, now), now)
    (scratch / "tls.crt").write_bytes(leaf.certificate)
    (scratch / "tls.key").write_bytes(leaf.key)


@contextmanager
def sides(made: Tools, folder: Path, scratch: Path) -> Iterator[tuple[Side, ...]]:
    """Run ours and the anchor's two engines until the block ends."""
    policies = folder / "bench" / "policies.yaml"
    with ExitStack() as stack:
        yield (
            stack.enter_context(_ours(policies, scratch)),
            *(stack.enter_context(_anchor(made.anchor, engine, policies, scratch)) for engine in ENGINES),
        )


@contextmanager
def _ours(policies: Path, scratch: Path) -> Iterator[Side]:
    command = [sys.executable, "-m", "tests.bench.serving_process", policies, scratch / "tls.crt", scratch / "tls.key"]
    # The log goes down a pipe that somebody reads, as the container runtime does.
    reading = _process(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with reading as reader, _process(command, stdout=subprocess.PIPE, stderr=reader.stdin) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Side(name=OURS, url=f"https://127.0.0.1:{port}/validate/fail?timeout=10s", pid=process.pid)


@contextmanager
def _anchor(program: Path, engine: str, policies: Path, scratch: Path) -> Iterator[Side]:
    address = f"127.0.0.1:{_free_port()}"
    files = {"policies": policies, "cert": scratch / "tls.crt", "key": scratch / "tls.key", "engine": engine, "listen": address}
    command = [program, *(f"--{name}={value}" for name, value in files.items())]
    with _process(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.readline()  # printed before it listens; the generator's first call waits for the rest
        assert b"serving on" in said, said
        yield Side(name=engine, url=f"https://{address}/validate?timeout=10s", pid=process.pid)


@contextmanager
def _process(command: Sequence[str | Path], **streams: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=ROOT, **streams)  # type: ignore[call-overload]  # streams are Popen's own
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
