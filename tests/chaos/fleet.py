"""Replicas of the webhook behind one address and controllers, kept as Kubernetes keeps them: replaced, started again, sampled."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from tests.chaos.memory import Memory
from tests.chaos.service import Service
from tests.controlplane.client import wait_for
from tests.controlplane.component import free_ports
from tests.e2e.installation import SYSTEM_NAMESPACE, Installation, Process

REPLICAS, CONTROLLERS = 3, 2
SECRET = "chaos-certs"
READY_SECONDS = 150.0
"""A process of ours is ready within seconds; a busy machine, and a policy that is broken just now, make it more."""
TAKEN_OUT_SECONDS = 2.0
"""Until endpoints have reached every kube-proxy; a replica that was told to end answers all the same until then."""
BROKEN_POLICIES, UNREACHABLE = 3, 5
"""Exit codes of a process that cannot start: it cannot take the policies, or a busy API server did not answer in time. Kubelet
starts it again; one that was ready already has no such excuse."""
PROFILE = """
apiVersion: gangwarden.dev/v1alpha1
kind: CertificateProfile
metadata: {name: chaos}
spec:
  caDays: 0.0058
  leafDays: 0.003
  renewAfterFraction: 0.1
  clockSkewSeconds: 1
  overlapSeconds: 15
  checkSeconds: 1
"""
"""An authority is replaced after 50 s and a certificate after 26, long before they end: only the changes are hurried.

The overlap counts from when an authority was made: what it takes to publish it, some seconds on a busy machine, is part of it.
"""


@dataclass
class Pod:
    """A place for a process, which is started again there when it ends by itself."""

    name: str
    process: Process
    port: int = 0
    leaving: bool = False


class Fleet:
    """Everything of ours that runs."""

    def __init__(self, installed: Installation, service: Service, random: Random) -> None:
        self._installed, self.service, self._random = installed, service, random
        self._profile = installed.directory / "profile.yaml"
        self._profile.write_text(PROFILE)
        self._pods: list[Pod] = []
        self._ended, self._names = threading.Event(), iter(range(1, 1_000))
        self._tender = threading.Thread(target=self._tend, name="kubelet")
        self.memory = Memory()
        self.problems: list[str] = []
        self.lapses: list[tuple[float, float]] = []
        """From when to when nobody led."""
        self.restarts = self.rolled = self.killed = 0

    def start(self) -> None:
        """Start everything and wait until the API server calls it."""
        self._tender.start()
        webhooks = [self._start_webhook() for _ in range(REPLICAS)]
        for _ in range(CONTROLLERS):
            self._start_controller()
        for pod in webhooks:
            self._wait_ready(pod)
        wait_for(self._installed.is_called, seconds=READY_SECONDS, what="the API server calls the webhook")
        self._installed.wait_for_leader()

    def close(self) -> None:
        """End everything; the configurations go first, so that nobody waits for a webhook that is gone."""
        self._ended.set()
        if self._tender.ident is not None:
            self._tender.join(60)
        for pod in self._pods:
            pod.process.tell_to_end()
        self._installed.close()
        for pod in self._pods:
            pod.process.stop()
        with suppress(Exception):  # what failed before is to be read, not this
            self._installed.close()

    def tracebacks(self) -> list[str]:
        """Return the logs in which an exception shows that nobody thought of."""
        logs = {path.name: path.read_text(errors="replace") for path in self._installed.directory.glob("*.log")}
        return [f"{name}: {text[text.index('Traceback') :][:3000]}" for name, text in logs.items() if "Traceback" in text]

    def roll(self) -> None:
        """Replace every replica as a Deployment does that may lack none: the new one is ready first."""
        for old in [pod for pod in self._pods if pod.port and not pod.leaving]:
            self._wait_ready(self._start_webhook())
            old.leaving = True
            old.process.tell_to_end()
            self._ended.wait(self._random.uniform(0, TAKEN_OUT_SECONDS))
            self.service.take_out(old.port)
            code = old.process.wait()
            if code:
                self.problems.append(f"{old.name} ended with {code} when it was told to end")
            self._pods.remove(old)
            self.rolled += 1

    def kill_leader(self) -> None:
        """Let the leader die, and another controller begin in its place; wait until one leads again."""
        leader = self._installed.wait_for_leader()
        pod = next(pod for pod in self._pods if pod.process is leader)
        pod.leaving = True
        died = time.monotonic()
        leader.kill()
        self._pods.remove(pod)
        self.killed += 1
        self._start_controller()
        next_leader = self._installed.wait_for_leader()
        self.lapses.append((died, time.monotonic()))
        self.memory.begin(next(pod.name for pod in self._pods if pod.process is next_leader))  # it works only now

    def _start_webhook(self) -> Pod:
        port = free_ports(1)[0]
        pod = Pod(f"webhook-{next(self._names)}", self._run_webhook(port), port)
        self._pods.append(pod)
        self.service.add(port)
        return pod

    def _run_webhook(self, port: int) -> Process:
        secret = f"{SYSTEM_NAMESPACE}/{SECRET}"
        shared = ("--url", self._installed.url, "--cert-secret", secret, "--cert-profile", str(self._profile))
        return self._installed.begin_replica(port, *shared)

    def _start_controller(self) -> None:
        self._pods.append(Pod(f"controller-{next(self._names)}", self._installed.start_controller()))

    def _wait_ready(self, pod: Pod) -> None:
        wait_for(lambda: self.problems or self.service.is_ready(pod.port), seconds=READY_SECONDS, what=f"{pod.name} is ready")
        assert not self.problems, self.problems
        self.memory.begin(pod.name)

    def _tend(self) -> None:
        """Take samples, and start again what ended by itself."""
        while not self._ended.wait(0.5):
            for pod in list(self._pods):
                if pod.leaving:
                    continue
                with suppress(OSError, StopIteration):  # it has just ended
                    self.memory.take(pod.name, time.monotonic(), pod.process.resident_mib)
                self._start_again(pod)

    def _start_again(self, pod: Pod) -> None:
        code = pod.process.exit_code
        if code is None or pod.leaving:
            return
        if code != BROKEN_POLICIES and (code != UNREACHABLE or self.service.is_ready(pod.port)):
            self.problems.append(f"{pod.name} ended by itself with {code}: {pod.process.text()[-2000:]}")
            pod.leaving = True
            return
        self.restarts += 1
        self.memory.begin(pod.name)
        pod.process = self._run_webhook(pod.port) if pod.port else self._installed.start_controller()
