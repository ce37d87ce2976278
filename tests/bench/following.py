"""What a process of ours costs in a large cluster, seen from outside: memory that the kernel counts, CPU that it was given.

The whole process runs as it does in a cluster, over HTTPS against an API server on loopback; nothing in it is replaced.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Fact, Section
from tests.bench.large_cluster import NODES, PODS, LargeCluster, replacements
from webhook.policies import bundled_policies

COMMANDS = {"serve": "webhook", "run": "webhook and controller"}
A_SECOND, SECONDS, ROUNDS = 2_000, 8, 2
START_SECONDS = 300.0
"""A busy machine takes its time; what is measured is CPU and memory."""
_QUIET_SECONDS = 0.5
_IDLE_CPU_SECONDS = 0.02
"""What a process may take in that time and still count as quiet: a leader renews its Lease."""
METHOD = f"""\
The process that `gangwarden serve` (or `run`, which is the controller as well) is, with the shipped policies and one that asks
`cluster.fit`, against an API server on loopback with TLS: {NODES:,} nodes and {PODS:,} pods. When it serves, pods end here and
there and are replaced, {A_SECOND:,} changes a second for {SECONDS} seconds (gone, created, bound, running), each event sent by
itself; then no watch may be resumed, and all is read a second time. Memory is what the kernel counts, the most of the whole
run and what is held at its end; *bare* is the same process beside a cluster without nodes and pods. CPU is what the kernel
counted from the first change until the process was quiet again, for each second in which changes came: below 1 it keeps up with
less than one core. The bars of the project are 200 MB above the bare process, and less than one core."""
_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: asks-for-room}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
  validations: [{expression: "cluster.fit(object.spec.template.spec, 1).fits"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: asks-for-room}
spec: {policyName: asks-for-room, validationActions: [Audit]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one process took."""

    most_mb: float
    settled_mb: float
    cores: float
    delivered_seconds: float
    start_seconds: float
    """CPU until it served."""


def measure() -> Section:
    """Measure both commands, each beside an empty cluster and beside a large one, in turns."""
    facts = []
    for command, what in COMMANDS.items():
        bare, large = [], []
        for _ in range(ROUNDS):
            bare.append(_cost(command, nodes=0, pods=0))
            large.append(_cost(command, nodes=NODES, pods=PODS))
        facts += list(_facts(what, bare, large))
    return Section(title="A process in a large cluster", method=METHOD, facts=tuple(facts))


def _facts(what: str, bare: list[Cost], large: list[Cost]) -> Iterator[Fact]:
    pairs = list(zip(bare, large, strict=True))
    yield Fact(what=f"{what}, bare", unit="MB", values=tuple(one.settled_mb for one in bare))
    yield Fact(what=f"{what}, the most above bare", unit="MB", values=tuple(big.most_mb - one.settled_mb for one, big in pairs))
    yield Fact(
        what=f"{what}, above bare in the end", unit="MB", values=tuple(big.settled_mb - one.settled_mb for one, big in pairs)
    )
    yield Fact(what=f"{what}, CPU of {A_SECOND:,} changes a second", unit="cores", values=tuple(big.cores for big in large))
    yield Fact(what=f"{what}, time in which they were taken", unit="s", values=tuple(big.delivered_seconds for big in large))
    yield Fact(what=f"{what}, CPU of the start", unit="s", values=tuple(big.start_seconds for big in large))


def _cost(command: str, *, nodes: int, pods: int) -> Cost:
    with tempfile.TemporaryDirectory(prefix="gangwarden-bench-") as directory:
        return asyncio.run(_observed(command, Path(directory), nodes=nodes, pods=pods))


async def _observed(command: str, folder: Path, *, nodes: int, pods: int) -> Cost:
    cluster = LargeCluster(folder, nodes=nodes, pods=pods)
    changes = replacements(pods, A_SECOND * SECONDS) if pods else []
    await cluster.start()
    try:
        with _process(command, cluster.kubeconfig(folder, ca=str(folder / "ca.crt"), token="t"), folder) as pid:
            log = folder / "log"
            await _until(lambda: b'"event":"serving"' in log.read_bytes())
            began = await _quiet_cpu(pid)
            took = await cluster.churn(iter(changes), a_second=A_SECOND) if changes else 0.0
            spent = await _quiet_cpu(pid) - began
            await cluster.expire()
            await _until(lambda: cluster.lists == 4)
            await _quiet_cpu(pid)
            most, settled = _memory(pid)
    finally:
        await cluster.stop()
    return Cost(most_mb=most, settled_mb=settled, cores=spent / SECONDS, delivered_seconds=took, start_seconds=began)


@contextmanager
def _process(command: str, kubeconfig: str, folder: Path) -> Iterator[int]:
    (folder / "policy.yaml").write_text(_POLICY, encoding="utf-8")
    program = str(Path(sys.executable).with_name("gangwarden"))
    policies = ["-p", str(bundled_policies()), "-p", str(folder / "policy.yaml")]
    place = ["--host", "127.0.0.1", "--port", "0", "--cert-dir", str(folder / "certs")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, command, "--kubeconfig", kubeconfig, *policies, *place], stdout=log, stderr=log)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(START_SECONDS):
        while not holds():  # noqa: ASYNC110 - the state of another process
            await asyncio.sleep(0.1)


async def _quiet_cpu(pid: int) -> float:
    """Return the CPU seconds of a process once it has taken next to none for a moment."""
    before, now = -1.0, _cpu(pid)
    while now > before + _IDLE_CPU_SECONDS:
        await asyncio.sleep(_QUIET_SECONDS)
        before, now = now, _cpu(pid)
    return now


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> tuple[float, float]:
    """Return the most memory that a process ever held and what it holds now, in MB."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    most, now = (float(lines[name].split()[0]) * 1024 / 1e6 for name in ("VmHWM", "VmRSS"))
    return most, now
