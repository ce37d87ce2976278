"""The scene: what happens when, and what is said of it."""

from __future__ import annotations

import base64
import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.edits import Edits
from tests.chaos.fleet import SECRET, Fleet
from tests.chaos.gangs import Gangs
from tests.chaos.load import ASKS, Load
from tests.chaos.service import Service
from tests.controlplane.client import Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import Nodes
from tests.controlplane.plan import MANAGED, Gates
from tests.e2e.installation import SYSTEM_NAMESPACE, Installation

BUSY = Gates(MANAGED.features, MANAGED.runtime, calls_per_second=200)
"""Two gangs a second are more than Job controller and garbage collector do with 20 calls a second."""
ROOMY = Nodes(cpu="64", pods="500")
CALLS_PER_SECOND, GANGS_PER_SECOND, EDIT_SECONDS = 40.0, 2.0, 4.0
AUTHORITIES, LEAVES = 2, 3
"""So many must have been in use by the end, which is waited for."""
ROTATED_SECONDS = 180.0
FLAT = 0.05
"""By which share the memory of a process may differ between the second fifth of its time and the last one."""
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_FAILED_OPEN = re.compile(r"^apiserver_admission_webhook_fail_open_count\{.*\} ([\d.e+]+)$", re.MULTILINE)
_REJECTED = re.compile(
    r'^apiserver_admission_webhook_rejection_count\{.*error_type="(?:calling_webhook|apiserver_internal)_error".*\} ([\d.e+]+)$',
    re.MULTILINE,
)
_ANSWERED = re.compile(r"^apiserver_admission_webhook_request_total\{.*\} ([\d.e+]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long, and after how many seconds replicas are replaced and leaders die."""

    seconds: float
    rolls: tuple[float, ...]
    kills: tuple[float, ...]


@dataclass
class Result:
    """What came of it."""

    seconds: float
    calls: Counter[str]
    gangs: int
    failed: list[str]
    unenforced: list[str]
    lost: list[str]
    problems: list[str]
    asked: int
    """Reviews that the API server sent."""
    not_answered: int
    """Reviews that the API server got no answer to, by its own count."""
    happened: dict[str, int] = field(default_factory=dict)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def grown(self) -> dict[str, str]:
        """Say which processes grew beyond what is flat."""
        return {name: self._drift(name) for name, (before, after) in self.memory.items() if after > before * (1 + FLAT)}

    def _drift(self, name: str) -> str:
        before, after = self.memory[name]
        return f"{before:.1f} to {after:.1f} MiB ({(after / before - 1) * 100:+.1f} %)"

    @property
    def load(self) -> str:
        """Say what was asked, and how fast."""
        calls, events = self.calls.total(), ", ".join(f"{count} {what}" for what, count in self.happened.items())
        rates = f"{calls / self.seconds:.1f} and {self.gangs / self.seconds:.2f} a second"
        return (
            f"{calls:,} dry-run creates, {self.gangs} gangs ({rates}) over {self.seconds:.0f} s, {self.asked:,} reviews; {events}"
        )

    @property
    def outcome(self) -> str:
        """Say what came of it."""
        memory = ", ".join(f"{name} {self._drift(name)}" for name in self.memory)
        counts = f"{len(self.failed) + self.not_answered} failed, {len(self.unenforced)} unenforced, {len(self.lost)} lost"
        return f"{counts}; memory: {memory}"

    def check(self) -> None:
        """See that nobody noticed anything."""
        wrong = {
            "problems": self.problems,
            "failed calls": self.failed,
            "reviews that the API server got no answer to": self.not_answered,
            "unenforced requests": self.unenforced,
            "lost attachments": self.lost,
            "memory that grew": self.grown,
            "kinds of Jobs that were not asked for": [kind for kind in ASKS if not self.calls[kind]],
            "processes that lived long enough": "" if self.memory else "none",
        }
        assert not any(wrong.values()), "\n".join(f"{what}: {found}" for what, found in wrong.items() if found)


def play(plan: Plan, directory: Path, random: Random) -> Result:
    """Play the scene on a control plane of its own."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(gates=BUSY, nodes=ROOMY))
        namespace = stack.enter_context(cluster.namespace())
        edits = Edits(directory, random)
        installed = Installation(cluster, edits.policies, directory)
        service = stack.enter_context(Service(installed.port))
        fleet = Fleet(installed, service, random)
        stack.callback(lambda: print(installed.logs()))
        stack.callback(fleet.close)
        fleet.start()
        load = Load(cluster.client, namespace, edits, random, per_second=CALLS_PER_SECOND)
        gangs = Gangs(cluster, namespace, per_second=GANGS_PER_SECOND)
        stack.enter_context(gangs.seen())
        stack.callback(gangs.close)
        stack.callback(load.stop)
        return _Play(plan, cluster.client, fleet, load, gangs, edits).run()


class _Play:
    def __init__(self, plan: Plan, client: Client, fleet: Fleet, load: Load, gangs: Gangs, edits: Edits) -> None:  # noqa: PLR0917
        self._plan, self._client = plan, client
        self._fleet, self._load, self._gangs, self._edits = fleet, load, gangs, edits
        self._ended = threading.Event()
        self._authorities: set[bytes] = set()
        self._leaves: set[bytes] = set()
        self._wrong: list[str] = []

    def run(self) -> Result:
        before, began = self._counts(), time.monotonic()
        self._load.start()
        self._gangs.start()
        with self._meanwhile(began):
            self._until(began + self._plan.seconds)
            wait_for(self._is_rotated, seconds=ROTATED_SECONDS, what="certificates and authorities were replaced")
        self._load.stop()
        self._gangs.stop()
        seconds = time.monotonic() - began
        memory = self._fleet.memory.judged()
        self._gangs.settle()
        answered, unanswered = (after - earlier for after, earlier in zip(self._counts(), before, strict=True))
        fleet, edits = self._fleet, self._edits
        return Result(
            seconds=seconds,
            calls=self._load.calls,
            gangs=len(self._gangs.made),
            failed=self._load.failed + self._gangs.failed,
            unenforced=self._load.unenforced + self._gangs.unenforced,
            lost=self._gangs.lost(fleet.lapses),
            problems=fleet.problems + self._wrong + fleet.tracebacks(),
            asked=answered,
            not_answered=unanswered,
            happened={
                "replicas replaced": fleet.rolled,
                "leaders killed": fleet.killed,
                "authorities": len(self._authorities),
                "certificates": len(self._leaves),
                "good": edits.good,
                "broken edits": edits.broken,
                "starts refused meanwhile": fleet.restarts,
            },
            memory=memory,
        )

    @contextlib.contextmanager
    def _meanwhile(self, began: float) -> Iterator[None]:
        """Let everything else happen; what was begun is finished."""
        threads = [
            threading.Thread(target=self._each, args=(began, self._plan.rolls, self._fleet.roll), name="rolls"),
            threading.Thread(target=self._each, args=(began, self._plan.kills, self._fleet.kill_leader), name="kills"),
        ]
        always = [
            threading.Thread(target=self._again, args=(EDIT_SECONDS, self._edits.edit), name="edits"),
            threading.Thread(target=self._again, args=(1.0, self._look_at_certificates), name="certificates"),
        ]
        for thread in (*threads, *always):
            thread.start()
        try:
            yield
            for thread in threads:
                thread.join()
        finally:
            self._ended.set()
            for thread in (*threads, *always):
                thread.join()
        self._edits.edit(good=True)

    def _each(self, began: float, moments: tuple[float, ...], action: Callable[[], None]) -> None:
        for moment in moments:
            if self._ended.wait(max(0.0, began + moment - time.monotonic())):
                return
            self._do(action)

    def _again(self, seconds: float, action: Callable[[], None]) -> None:
        while not self._ended.wait(seconds):
            self._do(action)

    def _do(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - told by the scene
            self._wrong.append(f"{threading.current_thread().name}: {error!r}")

    def _until(self, moment: float) -> None:
        self._ended.wait(max(0.0, moment - time.monotonic()))

    def _look_at_certificates(self) -> None:
        data = self._client.get("v1/secrets", SYSTEM_NAMESPACE, SECRET)["data"]
        self._authorities.update(_CERTIFICATE.findall(base64.b64decode(data["ca.crt"])))
        self._leaves.add(base64.b64decode(data["tls.crt"]))

    def _is_rotated(self) -> bool:
        return bool(self._wrong) or (len(self._authorities) >= AUTHORITIES and len(self._leaves) >= LEAVES)

    def _counts(self) -> tuple[int, int]:
        """Return how many reviews the API server sent, and to how many it got no answer, failurePolicy Ignore or Fail."""
        page = self._client.request("GET", "/metrics")
        return _sum(_ANSWERED, page), _sum(_FAILED_OPEN, page) + _sum(_REJECTED, page)


def _sum(pattern: re.Pattern[str], page: str) -> int:
    return round(sum(map(float, pattern.findall(page))))
